"""A reworded template has other words with the same meaning, and the code of the original."""

from __future__ import annotations

from random import Random

import pytest

from pytest_promptse.errors import TaskError
from pytest_promptse.tasks._task import Task
from pytest_promptse.tasks._template import load_templates, render
from pytest_promptse.variants._generate import Selection, generate, rewriter_named
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants._templated import View

TASK = Task(id="double", prompt="Write `double(x)`: return {{ twice }} the number {% x %}.")
STUB = Task(id="half", prompt='def half(x):\n    """Half of x."""\n')
BRANCHES = """\
{% if task.is_stub %}Please finish the file below for me today.{% endif %}
Please write the function that is asked for, and {{ manner }} explain nothing else.
{# A remark of the team's own that nobody is to read. #}
{{ task.prompt }}

Answer with the code in one block, please.

Answer:
"""


@pytest.fixture
def load(tmp_path):
    def load(source):
        (tmp_path / "team.j2").write_text(f"---\nvariables: {{manner: briefly}}\n---\n{source}")
        [template] = load_templates(["team.j2"], tmp_path)
        return template

    return load


def reworded(template, *, seed, within="some task", rewriter="rules"):
    view = View.of(template)
    assert view is not None
    library = load_library()
    made = generate(
        view.task,
        Selection(per_distance=2, seed=seed, library=library, within=within),
        rewriter=rewriter_named(rewriter, library=library),
        also=view.findings,
    )
    return [(variant, view.reworded(variant.text)) for variant in made.variants]


@pytest.mark.parametrize("name", ["code_only", "house_rules", "plan_first", "worked_example"])
@pytest.mark.parametrize("rewriter", ["rules", "typos", "neutral"])
def test_the_shipped_templates_can_be_reworded_and_still_ask_for_the_task(tmp_path, name, rewriter):
    [template] = load_templates([f"shipped:{name}"], tmp_path)
    rng = Random(0)
    for task in (TASK, STUB):
        made = reworded(template, seed=rng.randrange(1000), within=task.prompt, rewriter=rewriter)
        prompts = {render(own, task, task.prompt) for _, own in made}
        assert len(prompts) == len(made) == 6
        assert all(task.prompt in user for _, user in prompts)


def test_code_stays_in_its_place_and_a_cue_at_the_end(load):
    template = load(BRANCHES)
    for _, own in reworded(template, seed=1):
        lines = own.body.splitlines()
        assert lines[0] != ""
        for kept in (
            "{% if task.is_stub %}Please finish the file below for me today.{% endif %}",
            "{# A remark of the team's own that nobody is to read. #}",
            "{{ task.prompt }}",
        ):
            assert kept in lines
        assert lines[-1] == "Answer:"
        assert "{{ manner }}" in own.body


def test_every_task_meets_variants_of_its_own_in_its_own_voices(load):
    template = load(BRANCHES)
    task = Task(id="double", prompt=TASK.prompt)
    same_ids = [variant.id for variant in generate(task, Selection(per_distance=2)).variants]
    first = reworded(template, seed=0, within=task.prompt)
    other = reworded(template, seed=0, within="another task")
    assert [variant.id for variant, _ in first] == same_ids
    assert {own.body for _, own in first}.isdisjoint(own.body for _, own in other)


@pytest.mark.parametrize(
    "source",
    ["{{ task.prompt }}\n", "Request:\n{{ task.prompt }}\n\nAnswer:\n", "{{ task.prompt }} ok\n"],
)
def test_a_template_without_sentences_has_nothing_to_reword(load, source):
    assert View.of(load(source)) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{{ manner }} ", ""),
        ("{{ manner }}", "{{ manner|upper }}"),
        ("{{ task.prompt }}", "{{ task.prompt }}{{ task.id }}"),
        ("{% if task.is_stub %}", "{% if not task.is_stub %}"),
    ],
)
def test_a_body_with_other_code_is_refused(load, old, new):
    template = load(BRANCHES)
    with pytest.raises(TaskError, match=r"team\.j2:\d+: the template's own code differs"):
        template.with_body(template.body.replace(old, new))
