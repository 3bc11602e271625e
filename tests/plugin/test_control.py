"""A length-matched control is sampled and judged beside the variants, but is not one of them."""

from __future__ import annotations

import json

import pytest
from record_schema import check_record

from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._generate import Selection, generate

CONTROLS = [f"d{distance}-neutral-0" for distance in ("0.1", "0.2", "0.3")]
CONTROL = ("--promptse-control", "neutral")


@pytest.fixture
def model(pytester, programs, slug):
    """Variants are solved at 0.1 alone and controls always."""
    prompt = (pytester.path / "test_slug.py").read_text().split('"""')[1]
    made = generate(Task(id="test_slugify", prompt=prompt), Selection(per_distance=1)).variants
    chosen = {one.id: programs.right if one.distance == 0.1 else programs.wrong for one in made}
    chosen |= dict.fromkeys(["original", *CONTROLS], programs.right)
    lines = [
        {"task_id": "test_slugify", "variant_id": name, "index": index, "text": program}
        for name, program in chosen.items()
        for index in range(2)
    ]
    path = pytester.path / "answers.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return f"replay:{path}"


def test_a_control_stands_beside_the_variants_and_enters_no_other_figure(model, run, pytester):
    common = ("--promptse-model", model, "--promptse-mode", "light", "-p", "no:cacheprovider")
    floor = ("--promptse-min-pass-rate", "0.0")
    dry = run(*common, *CONTROL, "--promptse-dry-run")
    dry.stdout.fnmatch_lines(["*7 variants, 14 completions*"])
    found = run(*common, *floor, *CONTROL, "--promptse-report", "json:with.json", "-rA", "-v")
    for name in CONTROLS:
        found.stdout.fnmatch_lines([f"test_slug.py::test_slugify[[]{name}[]] MEASURED (2/2)*"])
    text = " ".join(found.stdout.str().split())
    assert "Of the loss of 0.83, 0.83" in text
    assert "is left once length is taken away: it is not due to the added text alone." in text
    run(*common, *floor, "--promptse-report", "json:without.json")
    ours, plain = (
        json.loads((pytester.path / name).read_text()) for name in ("with.json", "without.json")
    )
    check_record(ours)
    [suite], [other] = ours["suites"], plain["suites"]
    assert suite.pop("settings").pop("control") == "neutral"
    assert other.pop("settings").pop("control") == "none"
    control = suite.pop("control")
    assert other.pop("control") is None
    assert suite == other
    assert (control["n_planned"], control["n_measured"]) == (3, 3)
    assert control["excess_loss"]["value"] == pytest.approx(5 / 6)
    assert control["control_loss"] == 0
    level = control["levels"]["0.3"]
    assert level["words_added"] == pytest.approx(level["control_words_added"], abs=1)
    [task] = ours["tasks"]
    assert [one["id"] for one in task.pop("controls")] == CONTROLS
    [without] = plain["tasks"]
    assert without.pop("controls") == []
    assert task == without
    assert ours["subgroups"] == plain["subgroups"]


def test_a_control_needs_variants_with_a_voice(run, slug):
    reference = ("--promptse-model", "reference", *CONTROL)
    found = run(*reference, "--promptse-rewriter", "typos")
    found.stdout.fnmatch_lines(["*variants by 'typos' have no emotion or persona*"])
    found = run(*reference, "--promptse-aa")
    found.stderr.fnmatch_lines(
        ["*--promptse-control: in an A/A run every variant is the original*"]
    )
