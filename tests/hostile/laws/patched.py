"""Law 1: what a check patches changes its program, not the code that judges the program."""

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
