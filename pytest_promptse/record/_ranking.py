"""Compute the ranking of prompt templates from a record.

Suites with the same model and templates are pooled, because more tasks make smaller differences
significant.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pytest_promptse.models._base import token_cost
from pytest_promptse.record._comparison import recorded
from pytest_promptse.record._queries import Series, tasks_of
from pytest_promptse.record._schema import RankingRecord
from pytest_promptse.scoring._pairing import RecordedTask, shared
from pytest_promptse.scoring._ranking import Price, rank

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.record._schema import Record, SuiteRecord, TaskRecord


class _RankedTask(NamedTuple):
    """The part of a task that the ranking needs; ``tokens`` are those of one attempt.

    ``tokens`` has prompt and completion tokens, or is None if they are unknown. ``solved`` is the
    share of attempts that solve it.
    """

    outcome: RecordedTask
    tokens: tuple[float, float] | None
    solved: float

    @classmethod
    def of(cls, task: TaskRecord, *, light: bool) -> _RankedTask:
        prompt, tokens = task.original, None
        if prompt and prompt.prompt_tokens is not None and prompt.completion_tokens is not None:
            tokens = (prompt.prompt_tokens, prompt.completion_tokens)
        outcome = RecordedTask(
            task_id=f"{task.suite}::{task.id}",
            original=recorded(prompt, light=light) if prompt else None,
            variants={
                variant.id: outcome
                for variant in task.variants
                if (outcome := recorded(variant, light=light)) is not None
            },
        )
        return cls(outcome, tokens, prompt.pass_rate if prompt else 0.0)


def rank_templates(record: Record) -> list[RankingRecord]:
    """Rank the templates of each model that has at least two."""
    groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[SuiteRecord]] = defaultdict(
        list
    )
    by_place: dict[tuple[str, str], list[SuiteRecord]] = defaultdict(list)
    for suite in record.suites:
        if suite.template is not None:
            by_place[suite.model, suite.id].append(suite)
    for (model, _), suites in by_place.items():
        if len(suites) > 1:
            templates = tuple(suite.template or "" for suite in suites)
            groups[model, templates, tuple(suites[0].elasticity)] += suites
    rankings = (
        _ranking(record, model, templates, [float(d) for d in distances], suites)
        for (model, templates, distances), suites in groups.items()
    )
    return [ranking for ranking in rankings if ranking is not None]


def _ranking(
    record: Record,
    model: str,
    templates: Sequence[str],
    distances: Sequence[float],
    suites: Sequence[SuiteRecord],
) -> RankingRecord | None:
    ids = list(dict.fromkeys(suite.id for suite in suites))
    light = any(suite.mode != "promptse" for suite in suites)
    ranked_tasks = {
        name: [
            _RankedTask.of(task, light=light)
            for task in tasks_of(record, Series(model, name))
            if task.suite in ids
        ]
        for name in templates
    }
    kept = shared([[task.outcome for task in tasks] for tasks in ranked_tasks.values()])
    common = {task.task_id for task in kept[0]}
    if not common:
        return None
    price = record.settings.get("price")
    ranking = rank(
        dict(zip(templates, kept, strict=True)),
        mode="light" if light else "promptse",
        distances=distances,
        prices={
            name: _price([task for task in tasks if task.outcome.task_id in common], price)
            for name, tasks in ranked_tasks.items()
        },
        seed=int(record.settings.get("seed", 0)),
    )
    return RankingRecord(
        **msgspec.structs.asdict(ranking),
        model=model,
        suites=ids,
        mode="light" if light else "promptse",
        uneven=len({tuple(_sizes(tasks)) for tasks in kept}) > 1,
    )


def _sizes(tasks: Sequence[RecordedTask]) -> Iterator[int]:
    for task in tasks:
        if task.original is not None:
            yield task.original.n
        yield from (task.variants[name].n for name in sorted(task.variants))


def _price(tasks: Sequence[_RankedTask], price: Sequence[float] | None) -> Price:
    """Divide the tokens of one attempt at each original by the share of solved attempts.

    `price` is for a million prompt tokens and a million completion tokens, or None if unknown. Both
    results are None if the tokens of a task are unknown.
    """
    into = out = solved = 0.0
    for task in tasks:
        if task.tokens is None:
            return Price(None, None)
        into += task.tokens[0]
        out += task.tokens[1]
        solved += task.solved
    if not solved:
        return Price(math.inf, math.inf if price else None)
    cost = token_cost((price[0], price[1]), into, out) / solved if price else None
    return Price((into + out) / solved, cost)
