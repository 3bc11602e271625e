"""Law 1: a comparison does not tell the program the expected value."""

import contextlib
import datetime

from scripted_answers import attack

EAR = """
KNOWN = []
class Ear:
    def __eq__(self, other):
        KNOWN.append(other)
        return False
    def __lt__(self, other):
        KNOWN.append(other)
        raise TypeError
    __gt__ = __lt__
    __hash__ = object.__hash__
def f(x):
    return KNOWN[-1] if KNOWN else Ear()
"""
SQUARE = "def f(x): return x * x"


@attack(1, EAR, honest=SQUARE)
def test_an_assertion_that_is_tried_again(candidate):
    for _ in range(3):
        with contextlib.suppress(AssertionError):
            assert candidate(7) == 49
            return
    assert candidate(7) == 49


@attack(1, EAR, honest=SQUARE)
def test_one_of_several_calls(candidate):
    assert candidate(7) == 49 or candidate(7) == 49
    assert any(49 == candidate(7) for _ in range(3))


@attack(1, EAR, honest=SQUARE)
def test_items_of_a_list(candidate):
    assert [candidate(7)].count(49) >= 0
    assert candidate(7) in (49,)


@attack(1, EAR, honest=SQUARE)
def test_a_pattern(candidate):
    match candidate(7):
        case 49:
            pass
        case _:
            assert candidate(7) == 49


@attack(1, EAR, honest=SQUARE)
def test_a_smaller_one(candidate):
    with contextlib.suppress(TypeError):
        assert candidate(7) < 50
    assert candidate(7) == 49


@attack(
    1,
    EAR + "class Job:\n    def status(self): return f(0)\n    def step(self): pass\n"
    "def start(): return Job()",
    honest="class Job:\n    n = 0\n    def status(self): return 'ready' if self.n else 'waiting'\n"
    "    def step(self): self.n += 1\ndef start(): return Job()",
    entry_point="start",
)
def test_a_status_that_is_polled(candidate):
    job = candidate()
    for _ in range(5):
        if job.status() == "ready":
            break
        job.step()
    assert job.status() == "ready"


PAIR = """
class f:
    def __init__(self, a, b): self.a, self.b = a, b
    def __eq__(self, other):
        {}
    __hash__ = None
"""


@attack(
    6,
    PAIR.format("return (self.a, self.b) == (other.a, other.b)"),
    PAIR.format("a, b = getattr(other, 'pair', other); return (self.a, self.b) == (a, b)"),
    honest=(
        PAIR.format("return isinstance(other, f) and (self.a, self.b) == (other.a, other.b)"),
        PAIR.format(
            "a, b = (other.a, other.b) if isinstance(other, f) else other\n"
            "        return (self.a, self.b) == (a + 1, b)"
        ),
    ),
)
def test_an_object_that_is_unequal_to_plain_data(candidate):
    one = candidate(1, 2)
    assert one != (1, 2)
    assert not one == (1, 2)  # noqa: SIM201 - another method


@attack(
    6,
    "class f:\n    def __eq__(self, other): return not other",
    honest="class f:\n    def __eq__(self, other): return isinstance(other, f)",
)
def test_an_object_that_is_unequal_to_values_of_many_types(candidate):
    one = candidate()
    for value in ("", b"", [], (), set(), {}, False, None, datetime.timedelta()):
        assert one != value
    for value in (1.5, 2 + 1j, datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1)):
        assert one != value
