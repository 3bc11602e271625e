"""Laws 3 and 5: what a check changes ends with its program, and a folder has limits."""

import decimal
import os
import sys

import keeper
import pytest
from scripted_answers import attack

WRONG = "def f(x): return 0"
RIGHT = ["def f(x): return x + 1", "def f(x): y = x; return y + 1"]
COUNT = 0


@attack(3, wrong=WRONG, honest=RIGHT)
def test_a_global(candidate):
    global COUNT
    COUNT += 1
    assert candidate(COUNT) == 2


def is_new(value, seen=[]):  # noqa: B006 - this is the state
    seen.append(value)
    return seen.count(value) == 1


@attack(3, wrong=WRONG, honest=RIGHT)
def test_a_default_argument(candidate):
    assert all(is_new(candidate(i)) for i in range(3))


class Ledger:
    entries = []

    @classmethod
    def add(cls, value):
        cls.entries.append(value)


@attack(3, wrong=WRONG, honest=RIGHT)
def test_an_attribute_of_a_class(candidate):
    Ledger.add(candidate(1))
    assert Ledger.entries == [2]


@attack(3, wrong=WRONG, honest=RIGHT)
def test_a_module_that_the_test_imports(candidate):
    assert keeper.keep(candidate(1)) == [2]


@attack(3, wrong=WRONG, honest=RIGHT)
def test_an_attribute_of_a_function(candidate):
    keeper.keep.calls = getattr(keeper.keep, "calls", 0) + 1
    assert candidate(keeper.keep.calls) == 2


@attack(3, wrong=WRONG, honest=RIGHT)
def test_the_decimal_context(candidate):
    assert decimal.getcontext().prec == 28
    decimal.getcontext().prec = 5
    assert candidate(1) == 2
    decimal.getcontext().prec = 28


@attack(3, wrong="def f(x): return 900", honest=RIGHT)
def test_the_recursion_limit(candidate):
    assert sys.getrecursionlimit() == 1000
    sys.setrecursionlimit(500 + candidate(1))
    assert sys.getrecursionlimit() == 502


@attack(3, wrong=WRONG, honest=RIGHT)
def test_the_environment(candidate):
    assert "PROMPTSE_TEST" not in os.environ
    os.environ["PROMPTSE_TEST"] = str(candidate(1))
    assert os.environ.pop("PROMPTSE_TEST") == "2"


WRITE = "def f(x, out):\n    open(f'{out}/{x}', 'w').write('1')"


@attack(
    5,
    """
import sys
def f(x, out):
    frame = sys._getframe()
    while not hasattr(frame.f_locals.get("self"), "channel"):
        frame = frame.f_back
    guest = frame.f_locals["self"]
    names = type(guest).reply.__globals__
    for i in range(50):
        effects = {"folders": {str(out): {f"{i}": b"x" * (25 * 2**20)}}}
        names["send"](guest.channel, names["encode"](("effects", effects), guest.objects.send_value))
""",
    """
import os
def f(x, out):
    path = str(out)
    for i in range(990):
        path += "/d"
        os.mkdir(path)
""",
    """
def f(x, out):
    for i in range(5):
        open(f"{out}/{i}", "wb").write(b"x" * 2**21)
""",
    honest=WRITE,
)
def test_a_folder_with_too_much(candidate, tmp_path):
    candidate("o", tmp_path)
    assert (tmp_path / "o").read_text() == "1"


@attack(
    1,
    "def f(x, out):\n    for i in range(995):\n        open(f'{out}/{i}', 'w').close()",
    "def f(x, out):\n    open(f'{out}/{x}', 'wb').write(b'x' * (2**23 - 100))",
    honest=WRITE,
)
def test_a_folder_that_the_program_has_filled(candidate, tmp_path):
    for i in range(9):
        (tmp_path / f"in{i}").write_text("x" * 100)
        candidate(f"out{i}", tmp_path)
    assert (tmp_path / "out8").read_text() == "1"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    (folder / "in.txt").write_text("1 2 3")
    (folder / "more").mkdir()
    return folder


@attack(
    3,
    """
import os, shutil
def f(path):
    open(path, "w").write("poison")
    open(path + ".x", "w").write("poison")
    folder = os.path.dirname(path)
    os.rmdir(folder + "/more")
    open(folder + "/more", "w").close()
    return 7
""",
    """
import os
def f(path):
    os.remove(path)
    os.makedirs(path + "/a/b")
    while True: pass
""",
    honest="def f(path): return sum(map(int, open(path).read().split()))",
)
def test_a_folder_of_the_module(candidate, data):
    assert sorted(path.name for path in data.iterdir()) == ["in.txt", "more"]
    assert candidate(str(data / "in.txt")) == 6
    assert (data / "more").is_dir()
