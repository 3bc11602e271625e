"""Law 1: what a check patches changes its program, not the code that judges the program."""

import builtins
import contextlib
import datetime
import io
import json
import logging
import os
import select
import shutil
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from unittest import mock

import pytest
from scripted_answers import answers, attack

PATCHED = (
    *((json, name) for name in ("dumps", "loads")),
    (select, "poll"),
    (shutil, "rmtree"),
    (tempfile, "mkdtemp"),
    (time, "time"),
)
# Libraries of pytest's process need these.
PATCHED_IN_THE_BODY = (
    *PATCHED,
    *((os, name) for name in ("read", "write", "close", "getpid", "waitpid", "scandir", "chmod")),
    *((os.path, name) for name in ("exists", "isdir", "join", "realpath")),
    *((time, name) for name in ("monotonic", "thread_time")),
    (logging, "getLogger"),
    (select, "select"),
    (threading, "get_ident"),
)


@pytest.fixture
def spies(monkeypatch):
    spies = {name: mock.Mock(return_value=0) for _, name in PATCHED}
    for module, name in PATCHED:
        monkeypatch.setattr(module, name, spies[name])
    return spies


@attack(
    1,
    "import json\ndef f(x): return json.loads(x)",
    "def f(x): return [0]",
    honest="import json\ndef f(x): return json.dumps(x)",
)
def test_functions_patched_by_a_fixture(candidate, spies):
    assert candidate([1]) == 0
    spies["dumps"].assert_called_once_with([1])


@attack(1, "def f(x): return [0]", honest="import os\ndef f(x): return os.getpid() + x")
def test_two_dozen_functions_patched_by_the_body(candidate, monkeypatch):
    with monkeypatch.context() as patches:
        for module, name in PATCHED_IN_THE_BODY:
            patches.setattr(module, name, lambda *args, **options: 5)
        monkeypatch.setattr(os, "getpid", lambda: 5)
        answer = candidate(1)
    assert answer == 6


@answers(
    "save",
    right="import os\n"
    "def save(p, t):\n"
    "    if os.path.exists(p): raise FileExistsError(p)\n"
    "    with open(p, 'w') as f: f.write(t)\n"
    "    os.chmod(p, 0o600)",
    wrong="def save(p, t):\n    with open(p, 'w') as f: f.write(t)",
)
def test_functions_of_files_are_called_by_the_program_alone(candidate, tmp_path, monkeypatch):
    exists = mock.Mock(return_value=False)
    modes = []
    monkeypatch.setattr(os.path, "exists", exists)
    monkeypatch.setattr(os, "makedirs", mock.Mock(side_effect=OSError))
    monkeypatch.setattr(os, "chmod", lambda p, mode: modes.append((p, mode)))
    target = str(tmp_path / "a.txt")
    candidate(target, "x")
    exists.assert_called_once_with(target)
    assert modes == [(target, 0o600)]
    assert (tmp_path / "a.txt").read_text() == "x"


@answers(
    "log",
    right="import logging\ndef log(x):\n    logging.getLogger('app').info('got %d', x)\n    return x",
    wrong="def log(x): return x",
)
def test_a_logger_of_the_check(candidate, monkeypatch):
    lines = []

    class Logger:
        def info(self, *parts):
            lines.append(parts)

    monkeypatch.setattr(logging, "getLogger", lambda name=None: Logger())
    assert candidate(3) == 3
    assert lines == [("got %d", 3)]


@attack(
    1,
    "def f(x, **k): return 1",
    "def f(x, **k): raise SystemExit",
    "import json\n"
    "E = json.JSONEncoder().encode\n"
    "def f(x, **k):\n"
    "    if isinstance(x, dict) and x.get('do') == 'start':\n"
    "        x = dict(x, limits={}, network=False, file_size=10**12)\n"
    "    return E(x)[::-1] if not isinstance(x, dict) else E(x)",
    honest="import json\ndef f(x, **k): return json.JSONEncoder(sort_keys=True).encode(x)",
)
def test_the_program_takes_the_place_of_a_function(candidate, monkeypatch):
    monkeypatch.setattr(json, "dumps", candidate)
    assert json.dumps({"b": 1, "a": [2]}) == '{"a": [2], "b": 1}'


# Its name comes after those of the others, so it is judged in the jails that they have used.
@attack(1, "def f(x): return x + x", honest="def f(x): return x * x")
def test_the_jail_lives_on(candidate):
    assert candidate(3) == 9


@answers(
    "today",
    right="import datetime\ndef today(): return datetime.date.today().year",
    wrong="import time\ndef today(): return time.localtime().tm_year",
)
def test_a_class_of_the_check_in_the_place_of_one_with_values(candidate, monkeypatch):
    real = datetime.date(2000, 3, 2)

    class FakeDate:
        @staticmethod
        def today():
            return real

    monkeypatch.setattr(datetime, "date", FakeDate)
    assert candidate() == 2000


@attack(1, "def f(x): return 7", honest="def f(x): return x.year", may_break=True)
def test_a_subclass_in_the_place_of_a_class_with_values(candidate, monkeypatch):
    class FakeDate(datetime.date):
        pass

    monkeypatch.setattr(datetime, "date", FakeDate)
    candidate(datetime.date(2000, 3, 2))


@answers(
    "year",
    right="def year(x): return x.year",
    wrong="def year(x): return 0",
)
def test_a_value_of_a_class_that_is_patched(candidate, monkeypatch):
    real = datetime.date(2000, 3, 2)
    monkeypatch.setattr(datetime, "date", lambda *parts: None)
    assert candidate(real) == 2000


@answers(
    "get",
    right="import json\nimport urllib.request\ndef get(url):\n"
    "    with urllib.request.urlopen(url) as response: return json.loads(response.read())",
    wrong="def get(url): return {}",
)
def test_a_manager_of_a_function_of_the_check(candidate, monkeypatch):
    ended = []

    @contextlib.contextmanager
    def opened(url):
        yield io.BytesIO(b'{"a": 1}')
        ended.append(url)

    monkeypatch.setattr(urllib.request, "urlopen", opened)
    assert candidate("http://x/y") == {"a": 1}
    assert ended == ["http://x/y"]


@pytest.mark.parametrize("name", ["sorted", "max", "len", "sum", "any", "open", "print"])
@attack(
    1,
    "def f(x): return sorted(x) + [max(x), len(x), sum(x), any(x)] + [print(), open(0)]",
    honest="class C:\n"
    "    def __init__(self, x): self.x = x\n"
    "    def top(self):\n        top = self.x[0]\n"
    "        for item in self.x:\n            if item > top: top = item\n        return top\n"
    "def f(x): return C(x)",
)
def test_a_builtin_is_forbidden(candidate, monkeypatch, name):
    def forbidden(*_args, **_options):
        raise AssertionError(f"{name} is forbidden")

    with monkeypatch.context() as patches:
        patches.setattr(builtins, name, forbidden)
        top = candidate([3, 1]).top()
    assert top == 3


@answers(
    "greet",
    right="def greet(): print('hello ' + input('name? '))",
    wrong="def greet(): print('hello')",
)
def test_builtins_that_a_mock_patches(candidate):
    with mock.patch("builtins.input", return_value="Ann") as asked, mock.patch("builtins.print") as shown:
        candidate()
    asked.assert_called_once_with("name? ")
    shown.assert_called_once_with("hello Ann")


@mock.patch("time.time")
@answers(
    "stamp", right="import time\ndef stamp(): return time.time()", wrong="def stamp(): return 4"
)
def test_a_mock_that_is_a_decorator(clock, candidate):
    clock.side_effect = [4.5, 5.5]
    assert [candidate(), candidate()] == [4.5, 5.5]


@answers(
    "stamp",
    right="import time\ndef stamp(): return time.time()",
    wrong="T = 5\ndef stamp(): return T",
)
def test_a_patch_ends(candidate, monkeypatch):
    with mock.patch("time.time", lambda: 5):
        assert candidate() == 5
    assert candidate() > 1e9
    monkeypatch.setattr(time, "time", lambda: 6)
    assert candidate() == 6
    monkeypatch.undo()
    assert candidate() > 1e9


@answers(
    "size",
    right="from pathlib import Path\ndef size(name):\n    p = Path(name)\n"
    "    return len(p.read_text()) if p.exists() else 0",
    wrong="from pathlib import Path\ndef size(name): return len(Path(name).read_text())",
)
def test_methods_of_a_class_of_the_library(candidate, monkeypatch):
    assert candidate("/no/such") == 0
    monkeypatch.setattr(Path, "read_text", lambda self: "abc")
    with mock.patch.object(Path, "exists", return_value=True):
        assert candidate("/no/such") == 3
    assert candidate("/no/such") == 0


@answers(
    "load",
    right="import os\ndef load(name):\n    try: os.remove(name)\n    except AttributeError: return 'kept'",
    wrong="def load(name): return None",
)
def test_a_function_that_the_check_deletes(candidate, monkeypatch):
    monkeypatch.delattr(os, "remove")
    assert candidate("x") == "kept"


@attack(1, "def f(x): return eval(x)", honest="import ast\ndef f(x): return ast.literal_eval(x)")
def test_a_builtin_that_the_check_deletes(candidate, monkeypatch):
    with monkeypatch.context() as patches:
        patches.delattr("builtins.eval")
        got = candidate("[1]")
    assert got == [1]
