"""Where variants come from: rules, frozen files, a model whose work is kept."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec import structs

from pytest_promptse.config._options import OPTIONS
from pytest_promptse.config._settings import resolve
from pytest_promptse.errors import VariantError
from pytest_promptse.run import _variant_making
from pytest_promptse.run._variant_making import VariantMaker
from pytest_promptse.store._store import Store
from pytest_promptse.tasks._task import Task
from pytest_promptse.tasks._template import load_templates
from pytest_promptse.variants._distance import words
from pytest_promptse.variants._files import folder_of, write
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._registry import REWRITERS, create_rewriter, rewriter_named
from pytest_promptse.variants._rewriter import Rewriter

TASK = Task(
    id="add",
    prompt="Write `add(a, b)`: return the sum of both numbers. Keep the code short and plain.",
)


def settings(**values):
    return resolve([(values, lambda name: OPTIONS[name].flag)])


def maker_of(tmp_path, chosen, store=None):
    return VariantMaker(
        tmp_path,
        chosen,
        create_rewriter=lambda name, library: create_rewriter(
            name, backend=lambda _: Model(), library=library
        ),
        create_backend=lambda _: Model(),
        store=lambda: store,
    )


def planned_variants(tmp_path, store=None, **values):
    """Plan the variants of the task as a run of its own would."""
    chosen = settings(variants=2, **values)
    return maker_of(tmp_path, chosen, store).variants_of(TASK, chosen)


def team_template(tmp_path):
    """Return a template of a team, ``team.j2``."""
    (tmp_path / "team.j2").write_text(
        "Please be so kind and help a colleague with the task below today.\n\n{{ task.prompt }}\n"
    )
    [template] = load_templates(["team.j2"], tmp_path)
    return template


def reworded(tmp_path, **values):
    """Return the variants that a run of its own makes, whose ids are those that it planned."""
    with closing(Store(tmp_path / ".promptse")) as store:
        planned = planned_variants(tmp_path, store, **values)
        made = planned.made
    assert [each.id for each in planned.outlines] == [each.id for each in made]
    return made


def test_rules_make_them_by_default(tmp_path):
    assert reworded(tmp_path) == generate(TASK, Selection(per_distance=2)).variants


def test_variants_by_rules_are_made_once(tmp_path, monkeypatch):
    first = reworded(tmp_path)
    monkeypatch.setattr(_variant_making, "generate", None)
    assert reworded(tmp_path) == first
    with pytest.raises(TypeError):
        reworded(tmp_path, seed=1)


@pytest.mark.parametrize("rewriter", [*REWRITERS, "llm:paid:model"])
def test_a_plan_has_the_ids_and_makes_no_text(tmp_path, monkeypatch, rewriter):
    monkeypatch.setattr(_variant_making, "generate", None)
    planned = planned_variants(tmp_path, rewriter=rewriter)
    assert len({each.id for each in planned.outlines}) == 6
    assert {each.text for each in planned.outlines} == {""}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rewriter", REWRITERS)
def test_every_rewriter_makes_the_variants_that_were_planned(tmp_path, rewriter):
    made = reworded(tmp_path, rewriter=rewriter)
    assert (
        made
        == generate(TASK, Selection(per_distance=2), rewriter=rewriter_named(rewriter)).variants
    )
    assert reworded(tmp_path, rewriter=rewriter) == made


OTHERS = tuple(
    Task(
        id=name,
        prompt=f"Write a function `{name}(a, b)` that takes two numbers and returns the {name}.",
    )
    for name in ("product", "difference", "quotient")
)


@given(tasks=st.permutations([TASK, *OTHERS]))
@hypothesis_settings(max_examples=5, deadline=None)
def test_the_variants_of_a_task_do_not_depend_on_the_other_tasks(tmp_path_factory, tasks):
    folder = tmp_path_factory.mktemp("project")
    chosen = settings(variants=1)

    def made(tasks, store):
        maker = maker_of(folder, chosen, store)
        planned = {task.id: maker.variants_of(task, chosen) for task in tasks}
        return {name: (of_task.outlines, of_task.made) for name, of_task in planned.items()}

    with closing(Store(folder / "together")) as store:
        together = made(tasks, store)
    for task in tasks:
        with closing(Store(folder / task.id)) as store:
            assert made([task], store)[task.id] == together[task.id]


def test_variants_by_rules_are_made_again_after_the_library_changed(tmp_path, monkeypatch):
    library = tmp_path / "library"
    library.mkdir()
    first = reworded(tmp_path, library_dir="library")
    (library / "notes.txt").write_text("changed")
    made = []
    monkeypatch.setattr(
        _variant_making, "generate", lambda *a, **k: made.append(1) or generate(*a, **k)
    )
    assert reworded(tmp_path, library_dir="library") == first
    assert made == [1]


def test_an_aa_run_asks_the_original_again(tmp_path):
    variants = reworded(tmp_path, aa=True, variants_dir="none")
    assert {variant.text for variant in variants} == {TASK.prompt}
    assert len({variant.seed for variant in variants}) == len(variants) == 6


def test_frozen_ones_are_taken_as_they_are(tmp_path):
    frozen = generate(TASK, Selection(per_distance=3, seed=7)).variants
    write(tmp_path / "frozen", TASK, frozen)
    taken = reworded(tmp_path, variants_dir="frozen")
    assert taken == tuple(variant for variant in frozen if variant.index < 2)


def test_too_few_frozen_ones_are_refused_by_name(tmp_path):
    write(tmp_path / "frozen", TASK, generate(TASK, Selection(per_distance=1)).variants)
    with pytest.raises(VariantError, match=r"'add'.* holds 1 variants at distance 0\.1 and 2 are"):
        reworded(tmp_path, variants_dir="frozen")


def test_a_frozen_one_that_became_another_task_is_refused(tmp_path):
    write(tmp_path / "frozen", TASK, generate(TASK, Selection(per_distance=2)).variants)
    path = folder_of(tmp_path / "frozen", "add") / "d0.2.jsonl"
    first, *rest = path.read_text().splitlines()
    line = json.loads(first)
    line["text"] = line["text"].replace("add(a, b)", "add(b, a)")
    path.write_text("\n".join([json.dumps(line), *rest]) + "\n")
    with pytest.raises(VariantError, match="is not the same task"):
        reworded(tmp_path, variants_dir="frozen")


class Model:
    """A model that only has a name; nothing is requested while variants are planned."""

    spec = "paid:model"
    identity = {"backend": "paid"}  # noqa: RUF012 - a property of the protocol


def test_what_a_model_is_to_write_has_an_id_and_no_text(tmp_path):
    def rewrites():
        return planned_variants(tmp_path, rewriter="llm:paid:model").made

    planned = rewrites()
    assert len(planned) == 6
    assert {each.variant.text for each in planned} == {""}
    assert len({each.variant.id for each in planned}) == 6
    assert [each.variant for each in rewrites()] == [each.variant for each in planned]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("perturb", "texts"), [("task", 1), ("template", 1), ("both", 2)])
def test_a_prompt_waits_for_the_texts_of_task_and_template(tmp_path, perturb, texts):
    template = team_template(tmp_path)
    chosen = settings(variants=1, rewriter="llm:paid:model", template="team.j2", perturb=perturb)
    maker = maker_of(tmp_path, chosen)
    planned = maker.prompts_of(TASK, chosen, maker.variants_of(TASK, chosen), template)
    original, *prompts = [each.make() for each in planned]
    assert [each.draw().id for each in planned] == [
        each.variant.id for each in (original, *prompts)
    ]
    assert original.pending is None
    assert maker.models == ("paid:model",)
    for each in prompts:
        pending = each.pending
        assert len(pending.needed) == texts
        written = [
            structs.replace(rewrite.variant, text=f"Phew! {rewrite.request.task.prompt}")
            for rewrite in pending.needed
        ]
        made = pending.finish(written)
        assert made.pending is None
        assert made.prompt.user.count("Phew!") == texts
        assert made.variant.id == each.variant.id


@pytest.mark.parametrize(("perturb", "texts"), [("task", 1), ("template", 1), ("both", 2)])
def test_a_control_waits_for_the_texts_that_it_is_to_match(tmp_path, perturb, texts):
    template = team_template(tmp_path)
    chosen = settings(
        variants=1,
        rewriter="llm:paid:model",
        template="team.j2",
        perturb=perturb,
        control="neutral",
    )
    maker = maker_of(tmp_path, chosen)
    planned = maker.prompts_of(TASK, chosen, maker.variants_of(TASK, chosen), template)
    variants = [each.make() for each in planned if not each.control][1:]
    controls = [each.make() for each in planned if each.control]
    assert [each.draw().id for each in planned if each.control] == [
        each.variant.id for each in controls
    ]
    assert [each.variant.id for each in controls] == [
        f"d{distance:g}-neutral-0" for distance in chosen.distances
    ]
    for variant, control in zip(variants, controls, strict=True):
        # It waits for the same texts as the variant beside it, so they are requested once.
        assert control.pending.needed == variant.pending.needed
        assert len(control.pending.needed) == texts
        written = [
            structs.replace(
                rewrite.variant, text=f"What a long day it was! {rewrite.request.task.prompt}"
            )
            for rewrite in control.pending.needed
        ]
        made = control.pending.finish(written)
        assert made.pending is None
        assert "What a long day" not in made.prompt.user
        beside = variant.pending.finish(written)
        lengths = [len(one.prompt.user.split()) for one in (made, beside)]
        assert lengths[0] == pytest.approx(lengths[1], abs=texts)


@pytest.mark.parametrize("perturb", ["task", "template", "both"])
def test_controls_by_rules_have_the_length_of_the_variants_beside_them(tmp_path, perturb):
    template = team_template(tmp_path)
    chosen = settings(variants=2, template="team.j2", perturb=perturb, control="neutral")

    def made(store):
        maker = maker_of(tmp_path, chosen, store)
        planned = maker.prompts_of(TASK, chosen, maker.variants_of(TASK, chosen), template)
        assert [each.draw().id for each in planned] == [each.make().variant.id for each in planned]
        return [(each.control, each.make()) for each in planned]

    with closing(Store(tmp_path / ".promptse")) as store:
        prompts = made(store)
        assert made(store) == prompts
    variants = [made for control, made in prompts if not control][1:]
    controls = [made for control, made in prompts if control]
    assert len(variants) == len(controls) == 6
    for variant, control in zip(variants, controls, strict=True):
        lengths = [len(words(one.prompt.user)) for one in (variant, control)]
        assert lengths[0] == pytest.approx(lengths[1], abs=3)


@pytest.mark.parametrize("rewriter", ["typos", "neutral", "original"])
def test_a_control_needs_variants_with_emotion_and_persona(tmp_path, rewriter):
    with pytest.raises(VariantError, match=f"variants by '{rewriter}' have no emotion"):
        reworded(tmp_path, rewriter=rewriter, control="neutral")


class Broken(Rewriter):
    name, version, has_persona = "broken", "1", False

    def candidates(self, request):
        raise KeyError(request.distance)


def test_an_error_of_another_packages_rewriter_is_named_and_keeps_its_traceback(tmp_path):
    chosen = settings(variants=2)
    maker = VariantMaker(
        tmp_path,
        chosen,
        create_rewriter=lambda _name, _library: Broken(),
        create_backend=lambda _: Model(),
        store=lambda: None,
    )
    planned = maker.variants_of(TASK, chosen)
    with pytest.raises(
        VariantError, match=r"the rewriter broken/1 raised KeyError\(0\.1\)"
    ) as error:
        planned.make()
    assert isinstance(error.value.__cause__, KeyError)
