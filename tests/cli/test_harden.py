from __future__ import annotations

import re
from contextlib import closing

import pytest

from pytest_promptse.cli._extensions import hooks
from pytest_promptse.cli._main import main
from pytest_promptse.store._maintenance import contents
from pytest_promptse.store._store import Store

FRAGILE = '''import pytest

@pytest.mark.promptse(
    """Write `title_case(text: str) -> str`: capitalise the first letter of each word,
and put all other letters in lower case.
Join words by single spaces.""",
    min_auc_e=0.9,
)
def test_title_case(candidate):
    assert candidate("hello wORLD") == "Hello World"
    assert candidate("  two   spaces ") == "Two Spaces"
'''
# Solves a prompt only if nothing stands before its request.
BREAKS_UNDER_A_PREAMBLE = """
from pytest_promptse.models import Capabilities, Completion, Response, Usage

RIGHT = "def title_case(text):\\n    return ' '.join(map(str.capitalize, text.split()))\\n"
WRONG = "def title_case(text):\\n    return text\\n"

class Fragile:
    spec, identity, concurrency = "fragile:m", {"backend": "fragile"}, 4

    async def start(self):
        return Capabilities(form="chat")

    async def complete(self, request):
        text = RIGHT if request.prompt.user.startswith("Write `title_case(") else WRONG
        drawn = range(request.first, request.first + request.n)
        completions = tuple(Completion(index=index, text=text) for index in drawn)
        return Response(completions=completions, usage=Usage(requests=1))

    async def close(self):
        pass

def pytest_promptse_backend(name):
    return Fragile() if name == "fragile" else None
"""
STABLE = """import pytest

@pytest.mark.promptse(
    "Write `clamp(value: float, low: float, high: float) -> float`: limit the value to the range "
    "from low to high, both included. If low is greater than high, raise ValueError.",
)
def test_clamp(candidate):
    assert candidate(5, 1, 3) == 3
"""


@pytest.fixture
def project(forking_project, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    (forking_project / "test_fragile.py").write_text(FRAGILE)
    (forking_project / "test_stable.py").write_text(STABLE)
    return forking_project


def requests_paid(project):
    """Return the number of requests whose answers are in the project's store."""
    with closing(Store(project / ".promptse")) as store:
        return sum(held.requests for held in contents(store))


def requests_in(out):
    return int(re.search(r"^(\d+) requests", out, re.MULTILINE)[1])


def test_a_fragile_prompt_is_mended_within_the_budget_and_after_a_stop(project, capsys):
    (project / "fragile.py").write_text(BREAKS_UNDER_A_PREAMBLE)
    (project / "pytest.ini").write_text("[pytest]\naddopts = -p fragile\n")
    call = ["harden", "test_fragile.py", "--model", "fragile:m", "--variants", "2"]
    call += ["--html", "page.html"]
    assert main([*call, "--max-requests", "20"]) == 2
    assert "max_requests" in capsys.readouterr().err
    assert 0 < requests_paid(project) <= 20
    assert main(call) == 0
    out = capsys.readouterr().out
    assert out.startswith("without_preamble is confirmed: ")
    assert requests_in(out) > 0
    assert "+++ hardened/without_preamble.j2" in out
    assert "--promptse-template hardened/without_preamble.j2 test_fragile.py" in out
    assert "task.prompt" in (project / "hardened" / "without_preamble.j2").read_text()
    page = (project / "page.html").read_text()
    assert "<svg" in page
    assert "<pre" in page
    # A repeated command pays for nothing again, and keeps a file that it has not written.
    paid = requests_paid(project)
    (project / "hardened" / "without_preamble.j2").write_text("mine")
    assert main(call) == 2
    assert "give another folder" in capsys.readouterr().err
    assert (project / "hardened" / "without_preamble.j2").read_text() == "mine"
    assert requests_paid(project) == paid > 0


def test_a_stable_prompt_has_nothing_to_mend(project, capsys):
    settings = "promptse_original_samples = 8\npromptse_samples = 4\n"
    (project / "pytest.ini").write_text(f"[pytest]\n{settings}")
    assert main(["harden", "test_stable.py", "--model", "tiny"]) == 0
    assert capsys.readouterr().out.startswith("nothing to mend")
    assert not (project / "hardened").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.py"], "pytest ended with 4"),
        (["test_stable.py", "--variants", "1"], "give at least 2"),
        (["test_stable.py", "--max-cost", "1"], "needs prices"),
        (["test_stable.py", "--candidate", "gone/*.j2"], "matches no file"),
    ],
)
def test_mistakes_are_one_line(project, capsys, arguments, message):
    assert main(["harden", "--model", "tiny", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_another_package_adds_candidates(project, capsys):
    (project / "conftest.py").write_text(
        "def pytest_promptse_candidates():\n    return ['theirs/*.j2']\n"
    )
    hooks.cache_clear()
    assert main(["harden", "test_stable.py", "--model", "tiny"]) == 2
    assert "'theirs/*.j2' matches no file" in capsys.readouterr().err
    hooks.cache_clear()


def test_options_of_pytest_stand_after_two_dashes(project, capsys):
    options = ["--promptse-original-samples", "3", "--promptse-variants", "1"]
    assert main(["harden", "--model", "tiny", "--", "test_stable.py", *options]) == 0
    assert "4 requests" in capsys.readouterr().out


def test_an_interrupt_is_one_line(project, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("subprocess.run", interrupted)
    assert main(["harden", "test_stable.py", "--model", "tiny"]) == 130
    assert capsys.readouterr().err.endswith("run the same command again to continue\n")


@pytest.mark.parametrize(
    ("keyword", "options", "message"),
    [
        ('template="own.j2"', (), "test_title_case has a template of its own; take template= out"),
        ("samples=", (), "pytest ended with 2: ERROR test_fragile.py"),
        ("seed=3", (), "test_title_case has a seed of its own; take seed= out of its mark"),
        ("samples=8", ("-k", "original"), "variants are not selected; take out -k"),
        (
            "samples=8",
            ("--promptse-report", "csv:pytest.ini"),
            "pytest.ini is a file; give another path",
        ),
    ],
)
def test_what_the_search_cannot_measure_costs_no_request(
    project, capsys, keyword, options, message
):
    (project / "test_fragile.py").write_text(FRAGILE.replace("min_auc_e=0.9", keyword))
    (project / "own.j2").write_text("{{ task.prompt }}")
    assert main(["harden", "--model", "tiny", "--", "test_fragile.py", *options]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (project / ".promptse").exists() or requests_paid(project) == 0


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--out", "test_stable.py"), "harden --out test_stable.py: test_stable.py is a file; "),
        (("--html", "hardened"), "harden --html hardened: hardened is a folder; "),
    ],
)
def test_a_result_that_cannot_be_written_costs_no_request(project, capsys, option, message):
    (project / "hardened").mkdir()
    assert main(["harden", "test_fragile.py", "--model", "tiny", *option]) == 2
    assert message in capsys.readouterr().err
    assert not (project / ".promptse").exists()
