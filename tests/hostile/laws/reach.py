"""Laws 1 and 2: no program reaches the host, a function of a library, or what the check expects."""

import functools
import io
import logging
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


def verify(expected, got):
    assert got == expected
    return "done"


@attack(
    1,
    "def f(n, report):\n    return report(report.args[0])",
    "def f(n, report):\n    return report.func(*report.args, *report.args)",
    "def f(n, report):\n    return report(report.__reduce__()[2][1][0])",
    honest="def f(n, report): return report(n * n)",
)
def test_a_partial_keeps_its_secrets(candidate):
    assert candidate(7, functools.partial(verify, 49)) == "done"


@attack(
    1,
    "import re\ndef f(logger, stream):\n    logger.error('x', stack_info=True)\n    return int(re.search(r'== (\\d+)', stream.getvalue())[1])",
    "import re\ndef f(logger, stream):\n    logger.error('x', exc_info=True)\n    return int(re.search(r'== (\\d+)', stream.getvalue())[1])",
    "import re\ndef f(logger, stream):\n    logger.error('x', stacklevel=9)\n    return int(re.search(r'== (\\d+)', stream.getvalue())[1])",
    honest="def f(logger, stream):\n    logger.error('x'); return 73",
)
def test_a_log_does_not_show_the_check(candidate):
    stream = io.StringIO()
    logger = logging.getLogger("lent")
    logger.addHandler(logging.StreamHandler(stream))
    assert candidate(logger, stream) == 73


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(self.format(record))


@attack(
    1,
    "import re\ndef f(logger, keeper):\n    logger.error('x', stack_info=True)\n    return int(re.search(r'== (\\d+)', '\\n'.join(keeper.lines))[1])",
    "import logging\ndef f(logger, keeper):\n    keeper.setFormatter(logging.Formatter('%(pathname)s'))\n    logger.error('x'); return 73 if 'reach' in keeper.lines[0] else 74",
    may_break=True,
)
def test_a_handler_does_not_show_the_check(candidate):
    keeper = Lines()
    logger = logging.getLogger("kept")
    logger.addHandler(keeper)
    assert candidate(logger, keeper) == 73
