"""A suite with a team's prompt templates."""

from __future__ import annotations

import json
import re

import pytest
from slug_project import SLUG

from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._generate import Selection, generate

MODEL = ("--promptse-model", "reference")
PLAIN = "{{ task.prompt }}\n"
WORDY = """\
---
variables:
  style: short
---
{% block system %}
You write {{ style }} Python for a team that reads every line with care.
{% endblock %}
{% block user %}
A colleague asks you for help:

{{ task.prompt }}

Answer with the code of the function in one block, and think of empty input.
{% endblock %}
"""
BOTH = ("--promptse-template", "prompts/*.j2")


@pytest.fixture
def prompts(slug, pytester):
    folder = pytester.mkdir("prompts")
    (folder / "plain.j2").write_text(PLAIN)
    (folder / "wordy.j2").write_text(WORDY)
    return folder


def ids(result):
    return re.findall(r"test_slug\.py::test_slugify\[(.+)\]", result.stdout.str())


def record(pytester):
    return json.loads((pytester.path / "run.json").read_text())


REPORT = ("--promptse-report", "json:run.json")


@pytest.fixture(scope="module")
def apart(run_once):
    """A run of both templates, which rewords only the task."""
    files = {"test_slug.py": SLUG, "plain.j2": PLAIN, "wordy.j2": WORDY}
    return run_once(files, *MODEL, *REPORT, "--promptse-template", "*.j2")


def test_every_template_has_items_of_its_own(prompts, run):
    names = ids(run("--collect-only", "-q", *MODEL, *BOTH))
    assert len(names) == 16
    assert {"plain-original", "wordy-original", "plain-auc-e", "wordy-auc-e"} <= set(names)
    variants = [name for name in names if "-d0." in name and "elasticity" not in name]
    of = {
        template: {name.removeprefix(template) for name in variants if name.startswith(template)}
        for template in ("plain", "wordy")
    }
    assert of["plain"] == of["wordy"]


def test_one_template_is_not_named_in_ids(prompts, run):
    template = ("--promptse-template", "prompts/wordy.j2")
    assert "original" in ids(run("--collect-only", "-q", *MODEL, *template))


def test_models_and_templates_multiply(prompts, run):
    names = ids(run("--collect-only", "-q", *MODEL, "--promptse-model", "tiny", *BOTH))
    assert len(names) == 32
    assert {"reference-plain-original", "tiny-wordy-auc-e"} <= set(names)


def test_a_suite_file_is_run_with_templates_too(prompts, run, pytester):
    (pytester.path / "test_slug.py").unlink()
    (pytester.path / "strings.promptse.yaml").write_text(
        "promptse: 1\nsettings:\n  variants: 1\n  samples: 1\n  min_task_auc_e: 0.5\ntasks:\n"
        "  - id: plain\n"
        "    prompt: 'Write `double(x)`: return two times the number that is given to it.'\n"
        "    reference: 'def double(x): return 2 * x'\n"
        "    examples: [{call: double(2), expect: 4}]\n"
    )
    result = run("-v", *MODEL, *BOTH)
    result.stdout.fnmatch_lines(["*::plain[[]plain-original[]]*", "*::plain[[]wordy-auc-e[]]*"])
    result.assert_outcomes(passed=16, skipped=2)


def test_the_record_tells_templates_apart(apart):
    apart.result.assert_outcomes(passed=16)
    found = apart.record()
    assert [suite["template"] for suite in found["suites"]] == ["plain", "wordy"]
    assert [task["template"] for task in found["tasks"]] == ["plain", "wordy"]
    assert [each["place"] for each in found["templates"]] == ["plain.j2", "wordy.j2"]
    assert found["templates"][1]["source"] == WORDY
    plain, wordy = ([v["prompt"] for v in task["variants"]] for task in found["tasks"])
    assert plain == wordy
    assert found["tasks"][1]["original"]["node"] == "test_slug.py::test_slugify[wordy-original]"


def test_each_template_has_gates_of_its_own(prompts, run, pytester, programs):
    model = templated(pytester, {"plain": programs.right, "wordy": programs.wrong})
    result = run(
        "--promptse-model",
        model,
        *BOTH,
        "--promptse-min-pass-rate",
        "0.5",
        "--promptse-gate",
        "point",
    )
    result.assert_outcomes(passed=12, failed=4)
    failed = re.findall(r"FAILED .*\[(\w+)-", result.stdout.str())
    assert failed == ["wordy"] * 4


def templated(pytester, programs):
    """Write a replay file in which each template's variants are answered by its program."""
    prompt = (pytester.path / "test_slug.py").read_text().split('"""')[1]
    made = generate(Task(id="test_slugify", prompt=prompt), Selection(per_distance=1)).variants
    lines = [
        {
            "task_id": "test_slugify",
            "variant_id": variant,
            "template": template,
            "index": index,
            "text": f"```python\n{program}```\n",
        }
        for template, program in programs.items()
        for variant in ("original", *(variant.id for variant in made))
        for index in range(2)
    ]
    path = pytester.path / "answers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"replay:{path}"


def test_a_mark_names_templates_beside_its_file_and_beats_the_command_line(run, pytester):
    folder = pytester.mkdir("sub")
    (folder / "own.j2").write_text(WORDY)
    (folder / "test_own.py").write_text(
        "import pytest\n"
        "@pytest.mark.promptse('Write `double(x)`: return two times the number it is given.',\n"
        "    reference='def double(x): return 2 * x', template='own.j2', variants=1, samples=1)\n"
        "def test_double(candidate):\n    assert candidate(2) == 4\n"
    )
    run(*MODEL, *REPORT, "--promptse-template", "shipped:code_only").assert_outcomes(passed=8)
    [suite] = record(pytester)["suites"]
    assert suite["template"] == "own"
    assert suite["settings"]["template"] == ["sub/own.j2"]
    assert [each["place"] for each in record(pytester)["templates"]] == ["sub/own.j2"]


def test_the_command_line_means_the_folder_it_is_typed_in(prompts, run, pytester, monkeypatch):
    pytester.makeini("[pytest]\n")
    monkeypatch.chdir(prompts)
    result = run(*MODEL, "..", "--collect-only", "-q", "--promptse-template", "*.j2")
    assert "plain-original" in result.stdout.str()


def test_an_ini_file_can_name_templates(prompts, run, pytester):
    pytester.makeini("[pytest]\npromptse_template =\n    prompts/plain.j2\n    prompts/wordy.j2\n")
    assert len(ids(run("--collect-only", "-q", *MODEL))) == 16


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("Hello\n{{ task.prompt }}\n{{ styl }}\n", "*bad.j2:3: 'styl' is not declared*"),
        ("{% if %}\n", "*bad.j2:1: *"),
    ],
)
def test_a_wrong_template_is_refused_with_its_line(slug, run, pytester, source, message):
    (pytester.path / "bad.j2").write_text(source)
    result = run(*MODEL, "--promptse-template", "bad.j2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_a_pattern_that_the_shell_took_apart_is_explained(prompts, run):
    result = run(*MODEL, "--promptse-template", "prompts/plain.j2", "prompts/wordy.j2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*prompts/wordy.j2 is a prompt template, not a test; quote*"])


def test_a_dry_run_tells_what_each_template_would_ask(prompts, run):
    result = run(*MODEL, *BOTH, "--promptse-dry-run")
    result.stdout.fnmatch_lines(
        ["*reference with template plain: 4 variants*", "*reference with template wordy: 4 var*"]
    )


def test_xdist_workers_agree_on_templates(prompts, pytester, two_workers):
    result = pytester.runpytest_subprocess(*two_workers, *MODEL, *BOTH, *REPORT)
    result.assert_outcomes(passed=16)
    assert [suite["auc_e"] for suite in record(pytester)["suites"]] == [1.0, 1.0]


def test_the_template_itself_can_be_reworded(prompts, run, pytester):
    wordy = ("--promptse-template", "prompts/wordy.j2")
    run(*MODEL, *wordy, *REPORT, "--promptse-perturb", "template").assert_outcomes(passed=8)
    [task] = record(pytester)["tasks"]
    request = "Write `slugify(title: str) -> str`: lower-case the title, keep letters and digits,"
    assert task["original"]["prompt"].startswith("You write short Python for a team")
    texts = [variant["prompt"] for variant in task["variants"]]
    assert all(request in text for text in texts)
    assert len({*texts, task["original"]["prompt"]}) == 4
    assert all(0 < v["measured_distance"] < 0.8 for v in task["variants"])


def test_template_and_task_can_be_reworded_together_in_one_voice(prompts, apart, run, pytester):
    run(*MODEL, *BOTH, *REPORT, "--promptse-perturb", "both").assert_outcomes(passed=16)
    plain, wordy = record(pytester)["tasks"]
    plain_apart, wordy_apart = apart.record()["tasks"]
    # A template without its own sentences leaves the variants of the task unchanged.
    texts, texts_apart = ([v["prompt"] for v in one["variants"]] for one in (plain, plain_apart))
    assert texts == texts_apart
    for alone, together in zip(wordy_apart["variants"], wordy["variants"], strict=True):
        assert together["id"] == alone["id"]
        assert alone["prompt"] in together["prompt"]


def test_a_template_without_a_sentence_cannot_be_reworded(prompts, run):
    template = ("--promptse-template", "prompts/plain.j2")
    result = run(*MODEL, *template, "--promptse-perturb", "template")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*plain.j2: there is no sentence in this template to reword*"])


def test_a_run_without_a_template_to_reword_is_refused(run):
    result = run(*MODEL, "--promptse-perturb", "template")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--promptse-perturb: there is no template to reword; add --promptse-template*"]
    )


def test_a_baseline_knows_that_a_template_was_edited(prompts, run):
    run(*MODEL, *BOTH, "--promptse-save", "main")
    (prompts / "wordy.j2").write_text(WORDY.replace("with care", "twice"))
    result = run("-v", *MODEL, *BOTH, "--promptse-compare", "main")
    assert result.ret == 0
    assert "template" in result.stdout.str().partition("compared with")[2]


def test_templates_are_ranked_with_what_a_solved_task_takes(prompts, run, pytester):
    result = run("--promptse-model", "tiny", *BOTH, *REPORT)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            *("tiny with 2 templates*", "template *", "plain *", "wordy *"),
            "Templates of tiny, over one task",
        ]
    )
    [ranking] = record(pytester)["rankings"]
    assert ranking["suites"] == ["test_slug.py::test_slugify"]
    entries = {entry["name"]: entry for entry in ranking["entries"]}
    assert entries.keys() == {"plain", "wordy"}
    [task] = [task for task in record(pytester)["tasks"] if task["template"] == "plain"]
    original = task["original"]
    spent = original["prompt_tokens"] + original["completion_tokens"]
    assert entries["plain"]["tokens_per_solved"] == pytest.approx(spent / original["pass_rate"])


TWO = "---\nfirst: |\n  Repeat: {{ task.prompt }}\n---\nSolve: {{ first }}"
ECHO = """
from pytest_promptse.models import Capabilities, Completion, Response, Usage

class Echo:
    spec, identity, concurrency = "echo:x", {"backend": "echo"}, 4

    async def start(self):
        return Capabilities(form="chat")

    async def complete(self, request):
        prompt = request.prompt.user
        with open("requests", "a") as file:
            file.write(f"{request.n} {request.decoding.temperature:g} {prompt.split(':')[0]}\\n")
        text = "```python\\ndef slugify(text):\\n    return text\\n```"
        if prompt.startswith("Repeat: "):
            text = "the request"
        elif prompt != "Solve: the request":
            text = "the answer to the first request is missing"
        return Response(
            completions=tuple(
                Completion(index=request.first + n, text=text) for n in range(request.n)
            ),
            usage=Usage(requests=1, prompt_tokens=10, completion_tokens=5 * request.n),
        )

    async def close(self):
        pass

def pytest_promptse_backend(name, model, options):
    return Echo() if name == "echo" else None
"""


def test_a_template_of_two_requests_puts_the_first_answer_into_the_second(slug, pytester, run):
    (pytester.path / "two.j2").write_text(TWO)
    pytester.makeconftest(ECHO)
    options = ("--promptse-model", "echo:x", "--promptse-template", "two.j2")
    dry = run(*options, "--promptse-dry-run").stdout.str()
    run(*options, *REPORT)
    requests = (pytester.path / "requests").read_text().splitlines()
    first = [line for line in requests if line.endswith("Repeat")]
    samples = [line for line in requests if line.endswith("Solve")]
    # One answer serves all samples of a prompt.
    assert set(first) == {"1 0 Repeat"}
    assert len(first) == len(samples) == len(requests) / 2
    completions = sum(int(line.split()[0]) for line in requests)
    assert f"{completions} completions" in dry
    [task] = record(pytester)["tasks"]
    assert "no_code" not in task["original"]["causes"]
    assert task["original"]["prompt_tokens"] == 20
    assert task["original"]["completion_tokens"] == 10
    # The store has both answers.
    run(*options)
    assert (pytester.path / "requests").read_text().splitlines() == requests


def test_a_template_of_two_requests_is_not_reworded(slug, pytester, run):
    sentence = "Write the function that the text below describes. Use no library.\n\n{{ first }}"
    (pytester.path / "two.j2").write_text(TWO.replace("Solve: {{ first }}", sentence))
    result = run(*MODEL, "--promptse-template", "two.j2", "--promptse-perturb", "template")
    assert "two.j2: a template of two requests cannot be reworded" in (
        result.stdout.str() + result.stderr.str()
    )
