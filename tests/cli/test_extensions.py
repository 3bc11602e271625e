"""Hooks of plugins and tasks of a project's tests in the ``promptse`` command."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_promptse.cli import _extensions
from pytest_promptse.cli._main import main
from pytest_promptse.errors import SettingsError

HOOKS = '''
from pytest_promptse.variants import Rewriter


class Loud(Rewriter):
    """Shouts."""

    name = "loud"
    version = "1"
    has_persona = False

    def candidates(self, request):
        for number in range(9):
            yield f"{request.task.prompt} Thanks{'!' * (number + 1)}"


class Echo:
    spec = "echo:m"


def pytest_promptse_rewriter(spec):
    return Loud() if spec == "loud" else None


def pytest_promptse_backend(name, model):
    return Echo() if name == "echo" else None


def pytest_promptse_report(kind):
    return write_ids if kind == "ids" else None


def write_ids(record, path):
    path.write_text(" ".join(suite.id for suite in record.suites))


def pytest_promptse_names(kind):
    return {"backend": ["echo"], "rewriter": ["loud"], "report": ["ids"]}.get(kind)
'''
TESTS = """
import pytest


@pytest.mark.promptse("Write `double(x: int) -> int`: return twice the number. Keep it short.")
def test_double(candidate):
    assert candidate(2) == 4


@pytest.mark.promptse("Write `triple(x: int) -> int`: return the number times three, no more.")
class TestTriple:
    def test_it(self, candidate):
        assert candidate(2) == 6
"""


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conftest.py").write_text(HOOKS)
    (tmp_path / "test_numbers.py").write_text(TESTS)
    _extensions.hooks.cache_clear()
    yield
    _extensions.hooks.cache_clear()


def test_variants_of_the_marks_in_a_test_file_are_shown_also_by_a_rewriter_of_the_project(capsys):
    shown = ("variants", "show", "test_numbers.py", "--plain", "--per-distance", "1")
    assert main([*shown, "--rewriter", "loud", "--distances", "0.1"]) == 0
    out = capsys.readouterr().out
    assert "test_double original" in out
    assert "TestTriple original" in out
    assert out.count("Thanks!") == 2


def test_a_test_file_without_a_mark_is_named(tmp_path, capsys):
    (tmp_path / "test_none.py").write_text("def test_none():\n    pass\n")
    assert main(["variants", "show", "test_none.py"]) == 2
    assert "test_none.py: no promptse mark in this file" in capsys.readouterr().err


def test_a_saved_record_is_written_as_a_report_of_the_project(capsys, tmp_path):
    record = Path(__file__).parents[1] / "record" / "records" / "0.1.0.json"
    assert main(["report", str(record), "ids:new/ids.txt"]) == 0
    assert (tmp_path / "new" / "ids.txt").read_text()
    assert main(["report", str(record), "id:ids.txt"]) == 2
    assert "no report 'id' (did you mean 'ids'?)" in capsys.readouterr().err


def test_names_of_plugins_are_in_the_lists_of_errors(capsys):
    assert main(["variants", "show", "test_numbers.py", "--rewriter", "lout"]) == 2
    assert "did you mean 'loud'?" in capsys.readouterr().err
    with pytest.raises(SettingsError, match=r"one of tiny, .*, echo$"):
        _extensions.extensions().backend("nothing:m")
    assert _extensions.extensions().backend("echo:m").spec == "echo:m"


def test_an_error_in_conftest_is_named(tmp_path, capsys):
    (tmp_path / "conftest.py").write_text("import nothing_of_this_name\n")
    assert main(["variants", "show", "test_numbers.py"]) == 2
    assert "conftest.py: ModuleNotFoundError" in capsys.readouterr().err
