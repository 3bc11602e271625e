"""The ``promptse`` command as a whole."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pytest_promptse.cli._main import main


def test_a_reader_that_leaves_early_is_no_error():
    program = 'from pytest_promptse.cli._main import main; raise SystemExit(main(["schema"]))'
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -c '{program}' | head -c 1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "{"
    assert done.stderr == ""
    assert done.returncode in (0, 141)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("compare gone.json", "no record 'gone.json' yet"),
        ("history gone", "save a run with pytest … --promptse-save gone"),
        ("report gone", "no baseline 'gone' yet"),
        ("view gone", "make it with: pytest … --promptse-save gone"),
        ("show x", "'kept' has no last run; name a record with --run"),
        ("merge gone.json", "gone.json: No such file or directory; give a file of"),
        ("merge gone.json --compare gone", "no baseline 'gone' yet"),
        ("merge gone.json --report md:folder", "folder is a folder; give another path"),
        ("store info", "no store in 'kept'; name its folder with --store"),
        ("store import gone.jsonl", "gone.jsonl: cannot be read"),
        ("variants show gone.md", "'gone.md' is neither 'humaneval' nor a file; check the path"),
        ("variants audit gone", "gone: no such folder; make it with: promptse variants make"),
        (
            "templates gone",
            "'gone' is no emotion, trait, level or control condition; 'promptse templates'",
        ),
        ("templates --library-dir gone", "'gone' is not a folder; give that of your emotions"),
        ("batch import gone.jsonl", "name the folder of promptse batch export"),
        ("batch run gone --ray local", "gone/manifest.jsonl: No such file or directory; name"),
        ("csi score gone", "gone: give a .csv or .jsonl file"),
        ("emotionbench score gone", "gone: give a response .csv"),
        ("init --model gone --yes", "there is no backend 'gone'; give BACKEND:NAME"),
    ],
)
def test_a_misspelt_name_is_one_line_with_the_remedy(
    tmp_path, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\npromptse_store = kept\n")
    assert main(arguments.split()) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("promptse: ")
    assert message in line.replace(f"{tmp_path}/", "")


@pytest.mark.parametrize("arguments", [["variants", "show", "--help"], ["templates", "tired"]])
def test_a_terminal_without_utf_8_shows_escapes_instead_of_a_traceback(arguments):
    program = f"from pytest_promptse.cli._main import main; raise SystemExit(main({arguments}))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u" in done.stdout
