"""Planned suites with invented variants, for tests of functions that use a plan."""

from __future__ import annotations

from collections import Counter
from functools import partial

import msgspec
from msgspec.structs import replace

from pytest_promptse.config._options import OPTIONS
from pytest_promptse.config._settings import resolve
from pytest_promptse.models._base import Prompt
from pytest_promptse.run._plan import plan_suite
from pytest_promptse.run._variant_prompts import PlannedPrompt, VariantPrompt
from pytest_promptse.store._measured_variant import DrawRecord, SampleRecord, VariantRecord
from pytest_promptse.store._run_log import VariantRow
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._variant import Variant, original

MODEL = "fake:model"
IDENTITY = {"model": MODEL}


def settings(**values):
    return resolve([(values, lambda name: OPTIONS[name].flag)])


def make_task(name="inc", **changed):
    return Task(**{"id": name, "prompt": f"Write `{name}(x)`, which returns x + 1."} | changed)


def prompts_of(task, chosen, make=None):
    """Return the original and `chosen.variants` variants at each distance, as if reworded."""
    variants = [original(task.id, task.prompt)]
    variants += [
        Variant(
            task_id=task.id,
            text=f"{task.prompt} Really, {distance:g} {index}.",
            distance=distance,
            index=index,
            emotion="tired",
            personality="expert.senior.plan",
            measured_distance=distance,
            rewriter="rules/1",
            original=task.id,
        )
        for distance in chosen.distances
        for index in range(chosen.variants)
    ]
    controls = variants[1:] if chosen.control != "none" else []
    controls = [
        replace(
            each, emotion=None, personality=None, rewriter="neutral/1", text=f"Next. {each.text}"
        )
        for each in controls
    ]
    return [
        PlannedPrompt(
            distance=each.distance,
            index=each.index,
            draw=partial(replace, each, text=""),
            make=make or partial(_prompt_of, each),
            control=each in controls,
        )
        for each in (*variants, *controls)
    ]


def _prompt_of(variant):
    return VariantPrompt(variant=variant, prompt=Prompt(user=variant.text), task_text=variant.text)


def plan(tasks=("inc",), *, suite_id="test_a.py::test_a", identity=None, **values):
    """Return the plan of a suite; a task is given by its name or as a `Task`.

    `make` replaces the function that makes the text of every variant.
    """
    template = values.pop("planned_template", None)
    model = values.pop("planned_model", MODEL)
    make = values.pop("make", None)
    chosen = settings(**values)
    tasks = [make_task(task) if isinstance(task, str) else task for task in tasks]
    return plan_suite(
        suite_id,
        tasks,
        chosen,
        model=model,
        identity=identity or IDENTITY,
        prompts={task.id: prompts_of(task, chosen, make) for task in tasks},
        template=template,
    )


def draws(causes, *, logprob=-2.0, answers=()):
    """Return the outcomes of samples with these causes of failure, `""` for a passed one."""
    return [
        DrawRecord(cause=cause or None, logprob=logprob, n_tokens=4, answer=answer)
        for cause, answer in zip(causes, answers or range(len(causes)), strict=True)
    ]


def row_of(suite, planned, causes, *, logprob=-2.0, answers=()):
    """Return the run log's row of a planned variant whose samples end with `causes`."""
    variant = planned.variant
    n_failed = sum(map(bool, causes))
    measured = VariantRecord(
        **msgspec.structs.asdict(variant),
        id=variant.id,
        node=f"{suite.id}[{variant.id}]",
        n=len(causes),
        pass_rate=(len(causes) - n_failed) / len(causes),
        causes=dict(Counter(filter(None, causes))),
        details={cause: f"first {cause}" for cause in causes if cause},
        samples=[
            SampleRecord(n=causes.count(cause), cause=cause or None, detail="", text=f"key {cause}")
            for cause in dict.fromkeys(causes)
        ],
        draws=draws(causes, logprob=logprob, answers=answers),
    )
    return VariantRow(
        suite=suite.id,
        model=suite.model,
        template=suite.key.template,
        variant=measured,
        texts={f"key {cause}": f"program {cause}" for cause in causes},
    )


def measure(run_log, suite, *, original=("",) * 4, variant=("",) * 4, shuffled=None, **changed):
    """Log a suite and all of its variants. All originals end alike, and so do all variants."""
    run_log.add(suite.row)
    order = list(suite.variants)
    if shuffled is not None:
        shuffled.shuffle(order)
    for planned in order:
        causes = variant if planned.variant.distance else original
        run_log.add(row_of(suite, planned, causes, **changed))
