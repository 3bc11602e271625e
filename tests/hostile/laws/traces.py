"""Laws 3 and 4: no program knows of an earlier one, and what is lent is as before."""

import pytest
from scripted_answers import attack

ORDER = """
import gc, sys
def numbers():
    frame = sys._getframe()
    while frame:
        for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
            if isinstance(value, dict) and "execution" in value:
                yield value["execution"]
            yield from getattr(value, "children", None) or ()
        frame = frame.f_back
def f(n):
    return 7 if any(type(number) is int and number > {least} for number in numbers()) else 0
"""


@attack(4, *(ORDER.format(least=least) for least in range(4)))
def test_the_number_of_the_execution(candidate):
    assert candidate(1) == 7


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    path = tmp_path_factory.mktemp("once") / "a.txt"
    path.write_text("one\ntwo\n")
    with open(path) as stream:
        yield stream


LINES = "def f(s): return len(s.readlines())"


@attack(3, LINES + " + 5", wrong="def f(s): s.read(); return 0", honest=(LINES, LINES + "#1"))
def test_an_open_file_of_the_module(candidate, opened):
    assert candidate(opened) == 2
