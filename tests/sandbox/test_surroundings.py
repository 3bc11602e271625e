"""What a check sets up reaches the program, and the program's effects reach the check."""

import io
import logging
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pytest

from pytest_promptse.errors import TaskError
from pytest_promptse.plugin._pytest_private import note_patches
from pytest_promptse.sandbox import _surroundings
from pytest_promptse.sandbox._causes import BrokenCheck
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.sandbox._surroundings import CheckSurroundings


@pytest.fixture
def surround(load, request):
    """Load a program with the surroundings that these fixtures of the test have."""
    note_patches(_surroundings.note_patch)

    def surround(program, *names):
        candidate = load(program)
        fixtures = {name: request.getfixturevalue(name) for name in names}
        temporary = request.config._tmp_path_factory.getbasetemp()
        candidate.use_surroundings(CheckSurroundings(fixtures, str(temporary)))
        return candidate

    return surround


def test_files_go_in_and_come_back(surround, tmp_path):
    candidate = surround(
        "def f(path):\n    text = open(path / 'in').read()\n"
        "    open(path / 'out', 'w').write(text * 2)",
        "tmp_path",
    )
    (tmp_path / "in").write_text("ab")
    candidate(tmp_path)
    assert (tmp_path / "out").read_text() == "abab"
    (tmp_path / "in").write_text("c")
    candidate(tmp_path)
    assert (tmp_path / "out").read_text() == "cc"


def test_a_temporary_folder_is_known_by_the_path_that_is_passed(surround, tmp_path_factory):
    candidate = surround("def f(path): return open(path).read()")
    path = tmp_path_factory.mktemp("data") / "x"
    path.write_text("text")
    assert candidate(str(path)) == "text"


WORKS_IN_FOLDER = """
import os
def f(path):
    os.chdir(path)
    with open("in") as file, open(os.path.realpath("out"), "w") as out:
        out.write(file.read() * 2)
    return os.getcwd(), os.path.exists("/var/tmp/not-shared"), os.access("/var", os.W_OK)
"""


@pytest.fixture
def elsewhere():
    """A temporary folder outside of ``/tmp``, as with TMPDIR or ``--basetemp``."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


def test_a_temporary_folder_outside_of_tmp_is_at_its_path_in_the_jail(bwrap, elsewhere):
    folder = elsewhere / "test_0"
    folder.mkdir()
    (folder / "in").write_text("ab")
    with (
        open_sandbox("bwrap", workers=1, temporary=(str(elsewhere),)) as sandbox,
        sandbox.load(WORKS_IN_FOLDER, entry_point="f") as candidate,
    ):
        candidate.use_surroundings(CheckSurroundings({"tmp_path": folder}, None))
        assert candidate(folder) == (str(folder), False, False)
    assert (folder / "out").read_text() == "abab"


def test_a_temporary_folder_that_the_jail_cannot_have_is_an_error_that_names_it(bwrap, elsewhere):
    def judge():
        with bwrap.load("def f(path): pass", entry_point="f") as candidate:
            candidate.use_surroundings(CheckSurroundings({"tmp_path": elsewhere}, None))
            with pytest.raises(BrokenCheck):
                candidate(elsewhere)

    with pytest.raises(TaskError, match=rf"folder {elsewhere} cannot .* below /tmp"):
        judge()


def test_a_folder_that_is_too_large_is_an_error_of_the_check(sandbox, tmp_path):
    def judge():
        with sandbox.load("def f(path): pass", entry_point="f") as candidate:
            candidate.use_surroundings(CheckSurroundings({"tmp_path": tmp_path}, None))
            with pytest.raises(BrokenCheck):
                candidate(tmp_path)

    with (tmp_path / "large").open("wb") as file:
        file.truncate(9 * 2**20)
    with pytest.raises(TaskError, match="temporary folder"):
        judge()


def test_the_environment_is_that_of_the_check_and_nothing_from_before(surround, monkeypatch):
    monkeypatch.setenv("PROMPTSE_BEFORE", "secret")
    _surroundings.note_environment()
    monkeypatch.setenv("PROMPTSE_SET", "1")
    candidate = surround("import os\ndef f(*names): return [os.environ.get(n) for n in names]")
    assert candidate("PROMPTSE_BEFORE", "PROMPTSE_SET") == [None, "1"]
    monkeypatch.delenv("PROMPTSE_SET")
    assert candidate("PROMPTSE_SET") == [None]


def test_the_working_directory_is_that_of_the_check(surround, tmp_path, monkeypatch):
    candidate = surround(
        "import os\ndef f(): open('x', 'w').write(os.getcwd())", "tmp_path", "monkeypatch"
    )
    monkeypatch.chdir(tmp_path)
    candidate()
    assert (tmp_path / "x").read_text() == str(tmp_path)


def test_a_seed_of_the_check_holds_for_the_program(surround):
    candidate = surround("import random\ndef f(): return random.random()")
    random.seed(3)
    first, second = candidate(), candidate()
    random.seed(3)
    assert candidate() == first != second
    random.seed(3)
    assert random.random() == first


def test_the_program_does_not_choose_the_numbers_of_the_check(surround):
    candidate = surround("import random\ndef f(): random.setstate((3, (0,) * 624 + (624,), None))")
    random.seed(3)
    candidate()
    assert random.random() != 0


def test_standard_input_and_patches_of_the_library_reach_the_program(surround, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\nb\n"))
    monkeypatch.setattr(time, "time", lambda: 12.5)
    candidate = surround(
        "import sys, time\ndef f(): return input(), sys.stdin.read(), time.time()", "monkeypatch"
    )
    assert candidate() == ("a", "b\n", 12.5)


def test_output_is_captured_as_that_of_the_check(surround, capsys):
    candidate = surround(
        "import os, sys\ndef f():\n    print('one')\n    print('two', file=sys.stderr)\n"
        "    os.write(1, b'three')",
        "capsys",
    )
    for _ in range(2):
        candidate()
        captured = capsys.readouterr()
        assert captured.out == "threeone\n"  # as with every buffered stream
        assert captured.err == "two\n"
    assert candidate.output.count("one") == 2


def test_records_reach_the_loggers_of_the_check(surround, caplog):
    candidate = surround(
        "import logging\nlog = logging.getLogger('program.log')\ndef f():\n"
        "    log.debug('hidden'); log.info('shown %d', 3)\n"
        "    try: 1 / 0\n    except ZeroDivisionError: log.exception('failed')",
        "caplog",
    )
    with caplog.at_level(logging.INFO):
        candidate()
    assert [record[1:] for record in caplog.record_tuples] == [
        (logging.INFO, "shown 3"),
        (logging.ERROR, "failed"),
    ]
    assert "ZeroDivisionError" in caplog.text


def test_warnings_reach_the_check(surround):
    candidate = surround(
        "import warnings\ndef f(x):\n    if x: warnings.warn('old', DeprecationWarning)"
    )
    with pytest.warns(DeprecationWarning, match="old"):
        candidate(1)
    with warnings.catch_warnings(record=True) as caught:
        candidate(0)
    assert caught == []


def test_effects_that_are_malformed_fail_the_program(surround, tmp_path):
    candidate = surround(
        "import sys\ndef f():\n"
        "    frame = sys._getframe(1)\n"
        "    while not hasattr(frame.f_locals.get('self'), 'surroundings'): frame = frame.f_back\n"
        "    forged = {'folders': {'/etc': {'x': b''}}}\n"
        "    frame.f_locals['self'].surroundings.effects = lambda: forged\n",
        "tmp_path",
    )
    with pytest.raises(BaseException, match="no plain data"):  # noqa: PT011, RUF100
        candidate()
    assert not Path("/etc/x").exists()
