"""Law 2: no library function runs beside pytest for a program, and no path reaches the host."""

import functools
import shutil

import numpy
from frames import frames
from scripted_answers import attack


@attack(
    2,
    *frames(
        'return built(W.STANDARD, "pathlib.PosixPath", "/HARM/secret.txt")',
        'return [built(W.STANDARD, "pathlib.PosixPath", "/HARM/secret.txt")][0]',
    ),
    "import pathlib\ndef f(x): return pathlib.Path('/HARM') / 'secret.txt'",
    honest="import pathlib\ndef f(x): p = pathlib.Path('/tmp/a'); p.write_text('SECRET'); return p",
)
def test_a_path_of_the_host(candidate):
    assert "SECRET" in candidate("x").read_text()


@attack(
    2,
    "import pathlib\ndef f(x): return pathlib.Path('/HARM')",
    honest="import pathlib\ndef f(x): p = pathlib.Path('/tmp'); (p / x).write_text('SECRET'); return p",
)
def test_a_path_of_the_host_by_an_operator(candidate):
    from pathlib import PurePosixPath

    assert "SECRET" in (candidate("secret.txt") / PurePosixPath("secret.txt")).read_text()


@attack(2, "def f(c):\n    c('/HARM'); return 7.5", may_break=True)
def test_a_cached_function_of_the_library(candidate):
    assert candidate(functools.lru_cache(shutil.rmtree)) == 7


@attack(2, "def f(c):\n    c('/HARM/made', [1]); return 7.5", may_break=True)
def test_a_decorated_function_of_a_package(candidate):
    assert candidate(numpy.savetxt) == 7


class Step(functools.partial):
    pass


@attack(2, "def f(c): return 7 if 'SECRET' in c('/HARM/secret.txt').read() else 6", may_break=True)
def test_a_partial_of_the_library(candidate):
    assert candidate(Step(open)) == 7


def counted(function):
    @functools.wraps(function)
    def inner(*args):
        inner.calls += 1
        return function(*args)

    inner.calls = 0
    return inner


@attack(2, "def f(c):\n    c.__wrapped__('/HARM'); return 7.5", honest="def f(c): return c('a', 'b') and 7")
def test_a_function_of_the_test_that_is_named_like_another(candidate):
    assert candidate(counted(max)) == 7
