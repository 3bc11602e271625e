"""Law 1: no program ends the session, makes an error of the item, or sets the cause of a failure."""

import threading
from pathlib import Path

from frames import frames
from scripted_answers import attack

THROW = "def f(items):\n    next(items)\n    items.throw({error})\n    return 6"


@attack(
    1,
    THROW.format(error="KeyboardInterrupt"),
    THROW.format(error="SystemExit"),
    THROW.format(error="GeneratorExit"),
    honest="def f(items): return sum(items)",
)
def test_an_exception_thrown_into_a_generator_of_the_check(candidate):
    assert candidate(x for x in (1, 2, 3)) == 6


RAISER = "def f(fail):\n    fail({error})\n    return 6"


@attack(
    1,
    RAISER.format(error="KeyboardInterrupt"),
    RAISER.format(error="SystemExit"),
    RAISER.format(error="MemoryError"),
    honest="def f(fail):\n    try: fail(ValueError)\n    except ValueError: return 6",
)
def test_a_callback_that_raises_what_it_gets(candidate):
    def fail(kind):
        raise kind("x")

    assert candidate(fail) == 6


@attack(
    1,
    *frames(
        "return [built(W.SHARED, 5, [1])]",
        "return built(W.SHARED, 5, built(W.SHARED, 6, [1]))",
        "return [built(W.ARGUMENT, 0)]",
    ),
    honest="def f(x): return x",
)
def test_an_answer_that_is_sent_back(candidate):
    assert candidate(candidate("x")) == "x"


@attack(
    1,
    *frames(
        'put("effects", {"folders": {str(x): {"": False}}})\n    return 9',
        'put("effects", {"folders": {str(x): {".": False}}})\n    return 9',
        'put("effects", {"folders": {str(x): {"a/.": False, "a": FILE}}})\n    return 9',
    ),
    honest="def f(p): (p / 'ok').write_text(''); return 9",
)
def test_the_folder_itself_by_hand(candidate, tmp_path, tmp_path_factory):
    assert candidate(tmp_path) == 9
    assert [path.name for path in tmp_path.iterdir()] == ["ok"]


@attack(
    1,
    "import shutil\ndef f(p):\n    shutil.rmtree(p); return 9",
    "def f(p):\n    p.rename('/tmp/other'); return 9",
    "def f(p):\n    p.rmdir(); p.write_text('x'); return 9",
    "import os\ndef f(p):\n    p.rmdir(); os.symlink('/etc', p); return 9",
)
def test_the_folder_is_replaced(candidate, tmp_path):
    assert candidate(tmp_path) == 9
    assert [path.name for path in tmp_path.iterdir()] == ["ok"]


# The check may not write there, and the path is the program's.
@attack(
    1,
    "def f(folder, name): return '/etc/promptse_was_here'",
    "def f(folder, name): return '/proc/1/mem'",
    wrong="def f(folder, name): return name",
    honest="def f(folder, name): return folder + '/' + name",
)
def test_a_path_to_write_to(candidate, tmp_path):
    path = Path(candidate(str(tmp_path), "x.txt"))
    path.write_text("x")
    assert path.parent == tmp_path


@attack(
    1,
    "def f(n): raise NameError('x')",
    "def f(n): raise ImportError('x')",
    "def f(n): raise ModuleNotFoundError('x')",
    honest="def f(n): return 2",
)
def test_an_error_that_the_check_raises_again(candidate):
    try:
        answer = candidate(1)
    except Exception as error:
        raise type(error)(f"with 1: {error}") from error
    assert answer == 2


@attack(1, "def f(n):\n    import types\n    class Skipped(BaseException): pass\n    Skipped.__module__ = '_pytest.outcomes'\n    raise ExceptionGroup('x', [ValueError(Skipped())])",
  "def f(n):\n    try: raise SystemExit(0)\n    finally: raise KeyboardInterrupt",
  "def f(n): raise BaseExceptionGroup('x', [KeyboardInterrupt(), SystemExit(0)])",
  "import threading, _thread\ndef f(n):\n    _thread.interrupt_main(); return n")
def test_groups_of_endings(candidate):
    assert candidate(1) == 2


@attack(
    1,
    "def f(folder): return '/etc'",
    "def f(folder): return folder[:4]",
    honest="def f(folder): return folder",
)
def test_a_folder_to_write_to(candidate, tmp_path):
    folder = Path(candidate(str(tmp_path)))
    (folder / "promptse_was_here").write_text("x")
    assert folder == tmp_path


@attack(
    1,
    "def f(x, get):\n    get('lock')",
    "def f(x, get):\n    try: get('lock')\n    except TypeError: return 0",
    wrong="def f(x, get): return 0",
    honest="def f(x, get):\n    try: get('lock')\n    except TypeError: return get('n') * x",
)
def test_a_result_that_cannot_cross_is_asked_for(candidate):
    things = {"n": 3, "lock": threading.Lock()}
    assert candidate(3, lambda name: things[name]) == 9


@attack(
    1,
    "def f(x, make): return make(object)",
    "import threading\ndef f(x, make):\n    make(type(threading.Lock()))",
    "def f(x, make): return make(kind=object) and 0",
    honest="def f(x, make): return make(list) + [x * x]",
)
def test_a_class_whose_objects_cannot_cross(candidate):
    assert candidate(3, lambda kind: kind()) == [9]
