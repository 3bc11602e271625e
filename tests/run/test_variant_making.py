"""Where wordings come from: rules, frozen files, a model whose work is kept."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from pytest_promptse.config.options import OPTIONS
from pytest_promptse.config.settings import resolve
from pytest_promptse.errors import VariantError
from pytest_promptse.models.base import Capabilities, Completion, Response, Usage
from pytest_promptse.run import variant_making
from pytest_promptse.run.variant_making import VariantMaker
from pytest_promptse.tasks.task import Task
from pytest_promptse.tasks.template import load_templates
from pytest_promptse.variants.files import folder_of, write
from pytest_promptse.variants.generate import generate, rewriter_named
from pytest_promptse.variants.templated import View

TASK = Task(
    id="add",
    prompt="Write `add(a, b)`: return the sum of both numbers. Keep the code short and plain.",
)


def settings(**values):
    return resolve([(values, lambda name: OPTIONS[name].flag)])


def reworded(tmp_path, backend=None, **values):
    """Word the task as a run of its own would, and give back what the run held."""
    chosen = settings(variants=2, **values)
    made = VariantMaker(
        tmp_path,
        chosen,
        lambda name, library: rewriter_named(name, backend=backend, library=library),
    )
    with closing(made):
        variants = made.variants_of(TASK, chosen)
        made.keep()
        return variants


def test_rules_make_them_by_default(tmp_path):
    assert reworded(tmp_path) == generate(TASK, per_distance=2).variants


def test_variants_by_rules_are_made_once(tmp_path, monkeypatch):
    first = reworded(tmp_path)
    monkeypatch.setattr(variant_making, "generate", None)
    assert reworded(tmp_path) == first
    with pytest.raises(TypeError):
        reworded(tmp_path, seed=1)


def test_variants_by_rules_are_made_again_after_the_library_changed(tmp_path, monkeypatch):
    library = tmp_path / "library"
    library.mkdir()
    first = reworded(tmp_path, library_dir="library")
    (library / "notes.txt").write_text("changed")
    made = []
    monkeypatch.setattr(
        variant_making, "generate", lambda *a, **k: made.append(1) or generate(*a, **k)
    )
    assert reworded(tmp_path, library_dir="library") == first
    assert made == [1]


def test_an_aa_run_asks_the_original_again(tmp_path):
    wordings = reworded(tmp_path, aa=True, variants_dir="none")
    assert {wording.text for wording in wordings} == {TASK.prompt}
    assert len({wording.seed for wording in wordings}) == len(wordings) == 6


def test_frozen_ones_are_taken_as_they_are(tmp_path):
    frozen = generate(TASK, per_distance=3, seed=7).variants
    write(tmp_path / "frozen", TASK, frozen)
    taken = reworded(tmp_path, variants_dir="frozen")
    assert taken == tuple(variant for variant in frozen if variant.index < 2)


def test_too_few_frozen_ones_are_refused_by_name(tmp_path):
    write(tmp_path / "frozen", TASK, generate(TASK, per_distance=1).variants)
    with pytest.raises(VariantError, match=r"'add'.* holds 1 variants at distance 0\.1 and 2 are"):
        reworded(tmp_path, variants_dir="frozen")


def test_a_frozen_one_that_became_another_task_is_refused(tmp_path):
    write(tmp_path / "frozen", TASK, generate(TASK, per_distance=2).variants)
    path = folder_of(tmp_path / "frozen", "add") / "d0.2.jsonl"
    first, *rest = path.read_text().splitlines()
    line = json.loads(first)
    line["text"] = line["text"].replace("add(a, b)", "add(b, a)")
    path.write_text("\n".join([json.dumps(line), *rest]) + "\n")
    with pytest.raises(VariantError, match="is not the same task"):
        reworded(tmp_path, variants_dir="frozen")


TALK = (
    "I am tired and it was another day for all of us over here and my eyes hurt and I really want "
    "to go home now and sleep"
)


def talked(prompt):
    """Put talk before `prompt`: eight words for each tenth of distance, two texts for each."""
    return [
        f"{mood}! {' '.join(TALK.split()[: 8 * level])}.\n\n{prompt}"
        for level in (1, 2, 3)
        for mood in ("Ugh", "Phew")
    ]


class Paid:
    """A model that puts talk before a prompt, and counts what it is asked."""

    spec = "paid:model"
    identity = {"backend": "paid"}  # noqa: RUF012 - a property of the protocol
    concurrency = 1

    def __init__(self) -> None:
        self.asked = 0
        self.texts = iter(talked(TASK.prompt))

    async def start(self) -> Capabilities:
        return Capabilities(form="chat")

    async def complete(self, ask) -> Response:
        self.asked += ask.n
        text = next(self.texts)
        return Response(completions=(Completion(index=0, text=text),), usage=Usage(requests=1))

    async def close(self) -> None:
        pass


def test_what_a_model_worded_is_bought_once(tmp_path):
    model = Paid()
    first = reworded(tmp_path, backend=lambda _: model, rewriter="llm:paid:model")
    assert model.asked == len(first) == 6
    again = reworded(tmp_path, backend=lambda _: model, rewriter="llm:paid:model")
    assert again == first
    assert model.asked == 6


def test_wordings_of_a_template_are_bought_once_for_each_task(tmp_path):
    (tmp_path / "team.j2").write_text(
        "Please be so kind and help a colleague with the task below today.\n\n{{ task.prompt }}\n"
    )
    [template] = load_templates(["team.j2"], tmp_path)
    view = View.of(template)
    model = Paid()
    model.texts = iter(talked(view.text))
    chosen = settings(variants=2, rewriter="llm:paid:model", template="team.j2", perturb="template")

    def asked():
        own = VariantMaker(
            tmp_path,
            chosen,
            lambda name, library: rewriter_named(name, backend=lambda _: model, library=library),
        )
        with closing(own):
            return own.prompts_of(TASK, chosen, [], template)

    first = asked()
    assert model.asked == 6
    assert len({each.prompt.user for each in first}) == 7
    assert all(each.task_text == TASK.prompt in each.prompt.user for each in first)
    assert asked() == first
    assert model.asked == 6
