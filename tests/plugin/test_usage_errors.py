"""Wrong input ends in one line that names the value and the remedy."""

from __future__ import annotations

import pytest
from collected_errors import errors_of_files

MODEL = ("--promptse-model", "reference")
OPENAI = ("--promptse-model", "openai:m")
MARKED = """
import pytest

@pytest.mark.promptse({arguments})
{definition}
"""
PLAIN = "def test_double(candidate):\n    assert candidate(2) == 4"
PROMPT = '"Write `double(x: int) -> int`: return twice the number."'


def error_of(result: pytest.RunResult, message: str) -> None:
    """Check that `message` stands in one line and that there is no traceback."""
    lines = result.outlines + result.errlines
    assert any(message in line for line in lines), "\n".join(lines)
    assert not any("Traceback" in line for line in lines)
    assert result.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)


@pytest.fixture
def marked(pytester):
    def write(arguments: str, definition: str = PLAIN) -> None:
        pytester.makepyfile(test_double=MARKED.format(arguments=arguments, definition=definition))

    return write


def test_a_path_that_pytest_takes_for_a_test_does_not_hide_the_ini_file(
    marked, run, pytester, monkeypatch
):
    elsewhere = pytester.path.with_name(f"{pytester.path.name}-elsewhere")
    elsewhere.mkdir()
    authority = elsewhere / "ca.pem"
    authority.write_text("")
    marked(PROMPT)
    pytester.makeini("[pytest]\npromptse_model = nowhere")
    error_of(
        run("--promptse-ca-bundle", str(authority)),
        f"--promptse-ca-bundle: pytest takes {authority} for the path of a test and does not read "
        f"the ini file of this folder; write --promptse-ca-bundle={authority}",
    )
    # Then the ini file is read.
    error_of(run(f"--promptse-ca-bundle={authority}"), "there is no backend 'nowhere'")
    # A path in the project does not move pytest's root.
    pytester.path.joinpath("ca.pem").write_text("")
    error_of(run("--promptse-ca-bundle", "ca.pem"), "there is no backend 'nowhere'")
    monkeypatch.chdir(pytester.mkdir("inner"))
    error_of(run("--promptse-ca-bundle", "../ca.pem"), "there is no backend 'nowhere'")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--promptse-model", "tini"), "'tini'"),
        (("--promptse-model", "opnai:gpt"), "did you mean 'openai'"),
        (("--promptse-min-auc-e", "85"), "--promptse-min-auc-e: '85' is not in [0, 1]"),
        (("--promptse-distances", "0.3,0.1"), "'0.3,0.1' is not sorted; give 0.1,0.3"),
        (("--promptse-distances", "0.1,0.1"), "the same distance twice; give each once"),
        (("--promptse-samples", "0"), "'0' is not a whole number of at least 1"),
        (("--promptse-emotions", "hapy"), "--promptse-emotions: unknown emotion 'hapy'"),
        (("--promptse-emotions", "!tierd"), "--promptse-emotions: unknown emotion 'tierd'"),
        (("--promptse-exclude-emotions", "tierd"), "--promptse-exclude-emotions: unknown emotion"),
        (("--promptse-personalities", "senior"), "--promptse-personalities: personality 'senior'"),
        (("--promptse-distances", "0.1,0.12"), "--promptse-distances: distances 0.1 and 0.12 mean"),
        (("--promptse-rewriter", "typo"), "--promptse-rewriter: unknown rewriter 'typo' (did you"),
        (("--promptse-rewriter", "llm:opnai:m"), "did you mean 'openai'"),
        (("--promptse-library-dir", "nope"), "--promptse-library-dir: "),
        (("--promptse-report", "pdf:x"), "pdf"),
        (("--promptse-report", "github"), "--promptse-report github: GITHUB_STEP_SUMMARY is not"),
    ],
)
def test_a_wrong_option_ends_the_session_before_it_collects(marked, run, arguments, message):
    marked(PROMPT)
    result = run(*MODEL, *arguments)
    error_of(result, message)
    assert result.ret is pytest.ExitCode.USAGE_ERROR


def test_an_unknown_ini_key(marked, run, pytester):
    marked(PROMPT)
    pytester.makeini("[pytest]\npromptse_sample = 3\n")
    error_of(run(*MODEL), "'promptse_sample' is not a setting (did you mean 'promptse_samples'?)")


def test_an_ini_value_is_named_with_its_file(marked, run, pytester):
    marked(PROMPT)
    pytester.makeini("[pytest]\npromptse_samples = many\n")
    error_of(run(*MODEL), "promptse_samples in tox.ini: 'many' is not a number")


def marked_module(arguments: str, definition: str = PLAIN) -> str:
    return MARKED.format(arguments=arguments, definition=definition)


# For each module: its text, and the text of its error.
WRONG_MODULES = [
    (marked_module(""), "::test_double: the promptse mark has no prompt"),
    (marked_module(f"{PROMPT}, emotions='hapy'"), "::test_double: unknown emotion 'hapy'; there"),
    (
        marked_module(f"{PROMPT}, min_auce=0.5"),
        "'min_auce' is not a setting (did you mean 'min_auc_e'?)",
    ),
    (marked_module(f"{PROMPT}, min_auc_e=2"), "promptse mark, min_auc_e: 2 is not in [0, 1]"),
    (marked_module(f"{PROMPT}, store='x'"), "'store' concerns the whole run"),
    (marked_module(f"{PROMPT}, {PROMPT}"), "takes one prompt, or one iterable of tasks, not 2"),
    (marked_module("3"), "got 3; give it a prompt, a Task or an iterable of Tasks"),
    (marked_module("[]"), "got no tasks"),
    (marked_module("['x']"), "'x' among the tasks is not a Task"),
    (marked_module("'Write something nice.'"), "cannot tell which name the prompt asks for"),
    (marked_module("'   '"), "the prompt is empty"),
    (marked_module(PROMPT, "async " + PLAIN), "is an async function; make it a plain one"),
    (
        marked_module(PROMPT, "def test_double():\n    pass"),
        "has a promptse mark but does not take 'candidate'",
    ),
    (PLAIN, "takes 'candidate' but has no promptse mark; add @pytest.mark.promptse("),
    (
        f"""
import pytest
from pytest_promptse.tasks._task import Task

@pytest.mark.promptse([Task(id="a", prompt={PROMPT}), Task(id="a", prompt={PROMPT})])
{PLAIN}
""",
        "two tasks have the id 'a'",
    ),
]


def test_each_module_that_cannot_be_used_has_an_error_of_its_own(run, pytester):
    for number, (text, _) in enumerate(WRONG_MODULES):
        (pytester.path / f"test_{number:02}.py").write_text(text)
    result = run(*MODEL)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in result.stdout.str()
    errors = errors_of_files(result)
    said = [errors[f"test_{number:02}.py"] for number in range(len(WRONG_MODULES))]
    assert [
        one for one, (_, message) in zip(said, WRONG_MODULES, strict=True) if message not in one
    ] == []


def test_a_candidate_fixture_of_the_users_own_is_left_alone(run, pytester):
    pytester.makepyfile(
        "import pytest\n@pytest.fixture\ndef candidate():\n    return lambda x: 2 * x\n" + PLAIN
    )
    run().assert_outcomes(passed=1)


def test_a_unittest_method(run, pytester):
    pytester.makepyfile(f"""
import pytest, unittest

class TestDouble(unittest.TestCase):
    @pytest.mark.promptse({PROMPT})
    def test_double(self):
        pass
""")
    error_of(run(*MODEL), "unittest.TestCase cannot take 'candidate'")


def test_all_bad_marks_of_a_module_are_reported_at_once(run, pytester):
    pytester.makepyfile(
        test_bad=f"""
import pytest

@pytest.mark.promptse({PROMPT}, min_auce=0.5)
{PLAIN}

class TestMore:
    @pytest.mark.promptse({PROMPT}, samples=0)
    def test_none(self, candidate):
        pass

@pytest.mark.promptse({PROMPT}, min_auc_e=2)
def test_other(candidate):
    pass

@pytest.mark.promptse({PROMPT})
def test_soft(candidate, check):
    pass
""",
        # As the plugin of that name has it: its failures do not end a test.
        pytest_check="import pytest\n@pytest.fixture\ndef check():\n    pass\n",
        conftest="from pytest_check import check\n",
    )
    result = run(*MODEL)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    out = result.stdout.str()
    for name in ("test_double", "test_other", "TestMore::test_none"):
        assert f"test_bad.py::{name}, promptse mark" in out
    assert "test_bad.py::test_soft: takes 'check', whose failures do not end the test" in out
    assert "Traceback" not in out


def test_each_suite_file_that_cannot_be_used_has_an_error_of_its_own(run, pytester):
    (pytester.path / "key.promptse.yaml").write_text(
        "promptse: 1\ntasks:\n  - id: a\n    promt: Write `f(x)`.\n"
    )
    for name, setting in (
        ("setting", "min_auc_e: high"),
        ("choice", "distances: [0.2], emotions: [angry]"),
        ("levels", "distances: [0.2, 0.25]"),
    ):
        (pytester.path / f"{name}.promptse.yaml").write_text(
            f"promptse: 1\nsettings: {{{setting}}}\ntasks:\n"
            "  - id: a\n    prompt: Write `f(x)`.\n    examples: [{call: f(1), expect: 1}]\n"
        )
    result = run(*MODEL)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    errors = errors_of_files(result)
    assert "key.promptse.yaml:4: " in errors["key.promptse.yaml"]
    assert "did you mean 'prompt'?" in errors["key.promptse.yaml"]
    wanted = "setting.promptse.yaml:2, min_auc_e: 'high' is not a number"
    assert wanted in errors["setting.promptse.yaml"]
    wanted = "choice.promptse.yaml:2, emotions: unknown emotion 'angry'"
    assert wanted in errors["choice.promptse.yaml"]
    wanted = "levels.promptse.yaml:2, distances: distances 0.2 and 0.25 mean the same level"
    assert wanted in errors["levels.promptse.yaml"]


def test_a_missing_extra(marked, run, pytester, new_interpreter, monkeypatch):
    marked(PROMPT)
    blocked = pytester.path / "blocked"
    (blocked / "ctranslate2").mkdir(parents=True)
    (blocked / "sitecustomize.py").write_text(
        "import sys\nsys.modules['ctranslate2'] = None\nsys.modules['tokenizers'] = None\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(blocked))
    error_of(run("--promptse-model", "tiny"), "pip install 'pytest-promptse[tiny]'")


@pytest.fixture(params=["alone", "shared"])
def workers(request, two_workers):
    return two_workers if request.param == "shared" else ("-p", "no:xdist")


def test_an_unwritable_store(marked, pytester, workers):
    marked(PROMPT)
    (pytester.path / "file").write_text("")
    refused(pytester, "file/store", *workers, *MODEL, "--promptse-store", "file/store")


def test_a_missing_key(marked, pytester, monkeypatch, workers):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    marked(PROMPT)
    refused(pytester, "openai:m: OPENAI_API_KEY is not set", *workers, *OPENAI)


def test_a_dry_run_needs_no_key(marked, run, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    marked(PROMPT)
    result = run(*OPENAI, "--promptse-dry-run")
    result.stdout.fnmatch_lines(["promptse: plan for openai:m: *"])
    assert result.ret == 0


@pytest.mark.parametrize("option", ["-v", "--collect-only"])
def test_completions_that_are_not_there(marked, pytester, option):
    marked(PROMPT)
    refused(pytester, "cannot read none.jsonl", option, "--promptse-model", "replay:none.jsonl")


def refused(pytester, message: str, *arguments: str) -> None:
    """Check that the run ends in one line, before any item, with pytest's code for misuse."""
    result = pytester.runpytest_subprocess(
        "-p", "no:hypothesispytest", "-p", "no:anyio", *arguments
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line]
    assert line.startswith("ERROR: ")
    assert message in line
    assert not any("Traceback" in line or "test_double[" in line for line in result.outlines)


def test_a_backend_in_a_conftest_that_pytest_reads_too_late_is_found(pytester):
    folder = pytester.mkdir("prompts")
    (folder / "conftest.py").write_text("def pytest_promptse_backend(name): ...\n")
    refused(
        pytester,
        "prompts/conftest.py defines a backend, and pytest has not read it yet",
        *("--promptse-model", "mine:m"),
    )


ENDINGS = {"a.promtse.yaml": "promptse", "a.cis.yaml": "csi", "a.yaml": ""}


@pytest.mark.parametrize(("name", "meant"), ENDINGS.items())
def test_a_file_whose_ending_is_almost_that_of_a_suite_or_instrument(pytester, run, name, meant):
    pytester.path.joinpath(name).write_text("promptse: 1\n")
    output = "\n".join(run(name, *MODEL).outlines)
    assert (f"(did you mean {meant!r}?); rename the file" in output) == bool(meant)
    assert "Traceback" not in output


def test_a_file_with_such_an_ending_that_nobody_named_is_another_tools_own(pytester, run):
    for name in ENDINGS:
        pytester.path.joinpath(name).write_text("promptse: 1\n")
    pytester.makepyfile(test_other="def test_other():\n    pass\n")
    run(*MODEL).assert_outcomes(passed=1)
