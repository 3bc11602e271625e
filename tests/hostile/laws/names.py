"""Laws 1 and 6: what a program names, and what it raises, decides nothing in the check."""

import asyncio
import contextlib
import os

import pytest
from scripted_answers import attack

# The program's way to the channel: it sends messages that its own side would never send.
FORGE = """
import sys
def forge(*parts):
    frame = sys._getframe()
    while not hasattr(frame.f_locals.get("self"), "channel"):
        frame = frame.f_back
    guest = frame.f_locals["self"]
    names = type(guest).reply.__globals__
    names["send"](guest.channel, names["encode"](parts, guest.objects.send_value))
"""


@attack(
    1,
    FORGE
    + """
class exec(UserWarning): pass
exec.__module__ = "builtins"
def f(x):
    forge("effects", {"warnings": [(exec, "x", 1)]})
    return "open('/HARM/1', 'w')"
""",
    FORGE
    + """
class W(UserWarning, SystemExit): pass
W.__name__ = "exec"
def f(x):
    forge("effects", {"warnings": [(W, "x", 1)]})
    return "open('/HARM/2', 'w')"
""",
    honest="def f(x): return x * x",
)
def test_a_warning_class_with_the_name_of_a_builtin_function(candidate):
    assert candidate(3) == 9


@attack(
    1,
    """
import warnings
class exec(UserWarning): pass
exec.__module__ = "builtins"
def f(x):
    warnings.warn("open('/HARM/3', 'w')", exec)
    return "open('/HARM/4', 'w')"
""",
    honest="""
import warnings
def f(x):
    warnings.warn("old", UserWarning)
    return x * x
""",
)
def test_such_a_warning_in_a_check_that_expects_one(candidate):
    with pytest.warns(UserWarning):
        answer = candidate(3)
    assert answer == 9


@attack(
    1,
    honest="""
import warnings
def f(x):
    warnings.warn_explicit("old", UserWarning, "/HARM/secret.txt", 1)
    return x * x
""",
)
def test_a_warning_names_no_file_of_the_host(candidate, recwarn):
    assert candidate(3) == 9
    assert not os.path.exists(recwarn[0].filename)


ASYNC = "async def f(x):\n    return x + 1"
RAISING = "import asyncio\nasync def f(x):\n    raise "


@attack(6, RAISING + "asyncio.CancelledError", wrong="async def f(x): return 0", honest=ASYNC)
def test_a_cancelled_task_of_a_group(candidate):
    async def check(i):
        assert await candidate(i) == i + 1

    async def main():
        async with asyncio.TaskGroup() as group:
            for i in range(3):
                group.create_task(check(i))

    asyncio.run(main())


@attack(
    6,
    RAISING + "GeneratorExit",
    RAISING + "asyncio.CancelledError",
    RAISING + "KeyboardInterrupt",
    honest=ASYNC,
)
def test_interrupts_of_a_task(candidate):
    async def check(i):
        assert await candidate(i) == i + 1

    async def main():
        await asyncio.create_task(check(1))

    asyncio.run(main())


@attack(
    1,
    "def f(x):\n    raise ValueError('x') from PermissionError(13, 'no', '/etc/x')",
    wrong="def f(x): return 0",
    honest="def f(x): return x + 1",
)
def test_a_refusal_as_the_cause_of_an_exception(candidate):
    try:
        answer = candidate(3)
    except ValueError as error:
        raise RuntimeError("cannot compute") from error
    assert answer == 4


@attack(
    1,
    "def f(x):\n    return KeyboardInterrupt('stop')",
    "class KeyboardInterrupt(NameError): pass\ndef f(x):\n    return KeyboardInterrupt('stop')",
    "def f(x):\n    return NameError('x is not defined')",
    honest="def f(x): return x + 1",
)
def test_an_exception_that_the_program_returns(candidate):
    answer = candidate(3)
    if isinstance(answer, BaseException):
        raise answer
    assert answer == 4


@attack(
    6,
    """
class App:
    status = 1
    def __repr__(self): raise SystemExit(0)
def f(x): return App()
""",
    honest="""
class App:
    status = 0
    def close(self): raise SystemExit(0)
def f(x): return App()
""",
)
def test_a_text_that_replaces_a_failed_assertion(candidate):
    with pytest.raises(SystemExit):
        app = candidate(3)
        assert app.status == 0
        app.close()


@attack(
    1,
    """
def f(x):
    for _ in range(597):
        x = [x]
    return x
""",
    FORGE + """
def f(x):
    return "a" * (32 * 2**20 - 60) if x == "abc" else x
""",
    honest="def f(x): return x[::-1]",
)
def test_an_answer_that_is_too_large_to_be_sent_back(candidate):
    assert candidate([candidate("abc")])[0] == "cba"


CLOSES = """
class C:
    x = 3
    def close(self): raise ValueError("x")
def f(s): return C()
"""
WRITES = """
class C:
    x = 1
    def close(self): pass
    def write(self, s): raise ValueError(s)
def f(s): return C()
"""


@attack(6, CLOSES, honest=WRITES)
def test_a_close_that_replaces_a_failed_assertion(candidate):
    with pytest.raises(ValueError), contextlib.closing(candidate("x")) as stream:
        assert stream.x == 1
        stream.write("bad")


@attack(6, CLOSES, honest=WRITES)
def test_an_exception_in_a_finally_that_replaces_a_failed_assertion(candidate):
    with pytest.raises(ValueError):
        stream = candidate("x")
        try:
            assert stream.x == 1
            stream.write("bad")
        finally:
            stream.close()


@attack(
    1,
    """
def f(keep, x):
    for i in range(6 * (x == "good")):
        keep(["y" * 400 for _ in range(60_000)])
    return list("z" * 900_000) if x == "bad" else 1
""",
    honest="def f(keep, x):\n    if x == 'bad': raise ValueError\n    return 1",
)
def test_an_answer_for_which_the_check_has_no_memory(candidate):
    kept = []
    assert candidate(kept.append, "good") == 1
    with pytest.raises((ValueError, MemoryError)):
        candidate(kept.append, "bad")


@attack(
    1,
    "def f(x):\n    raise BaseExceptionGroup('x', [SystemExit(0), KeyboardInterrupt()])",
    "class X(BaseException): pass\n"
    "def f(x):\n    raise BaseExceptionGroup('x', [X(), ValueError()])",
    honest="def f(x): return x + 1",
)
def test_a_group_of_which_the_check_catches_a_part(candidate):
    try:
        assert candidate(1) == 2
    except* ValueError:
        pass


@attack(
    1,
    FORGE + "def f(xs):\n    forge('result', 6, [([1, 2, 3, 4],), {}])",
    FORGE + "def f(xs):\n    forge('result', 6, [(), {}])",
    honest="def f(xs): return sum(xs)",
)
def test_a_forged_answer(candidate):
    xs = [1, 2, 3]
    assert candidate(xs) == 6
    assert xs == [1, 2, 3]


@attack(
    6,
    """
def f(forbidden):
    try:
        forbidden(1)
    except BaseException:
        pass
    return 2
""",
    """
import threading
def f(forbidden):
    thread = threading.Thread(target=forbidden, args=(1,))
    thread.start()
    thread.join()
    return 2
""",
    honest="def f(forbidden): return 2",
)
def test_a_callback_that_must_not_be_called(candidate):
    assert candidate(lambda _: pytest.fail("called")) == 2
