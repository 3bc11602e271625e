"""What the record says of templates against each other."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

Figure = Literal["pass_at_1", "auc_e", "excess"]
FIGURES: tuple[Figure, ...] = ("pass_at_1", "auc_e", "excess")
# Under this share of the best's pass@1 a template is steady because it seldom solves anything.
_SELDOM = 0.5


class RankedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One template of a ranking, over the tasks and wordings that all its templates have.

    Tokens, in and out, and their cost are those of a solved task: of an attempt at an original
    divided by pass@1; None where the model counts none, no price is known or nothing is solved.
    ``pareto`` says that no other is at least as good in every figure and better in one.
    """

    template: str
    pass_at_1: float | None
    auc_e: float | None
    excess: float | None
    tokens_per_solved: float | None
    cost_per_solved: float | None
    pareto: bool


class DifferenceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What ``template``'s figure is above that of ``other``, with its paired 95 % interval.

    ``p_value`` is of a sign-flip test over tasks, ``p_adjusted`` that by Holm over all differences
    of the ranking. ``real`` is a ``p_adjusted`` under 0.05, ``better`` the one of the two with the
    better figure.
    """

    metric: Figure
    template: str
    other: str
    difference: float
    ci95: tuple[float, float] | None
    p_value: float | None
    p_adjusted: float | None
    real: bool
    better: str


class RankingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The templates that one model was asked some suites through, the best pass@1 first.

    ``mode`` is how scores were compared, ``uneven`` says that not all wordings were sampled as
    often through each template, as runs that stop when they know enough do. With fewer than
    ``fewest_tasks`` tasks no difference can be called real.
    """

    model: str
    suites: list[str]
    mode: Literal["promptse", "light"]
    n_tasks: int
    fewest_tasks: int
    uneven: bool = False
    templates: list[RankedRecord]
    differences: list[DifferenceRecord]


class Gap(NamedTuple):
    """How far a template's figure is from the best one's; both None for the best itself."""

    template: str
    metric: Figure
    difference: float | None
    ci95: tuple[float, float] | None
    real: bool


def best_in(ranking: RankingRecord, metric: Figure) -> str | None:
    """Return the template with the best figure, the first of several, None where none has it.

    What `seldom` solves anything is no measure of steadiness.
    """
    idle = seldom(ranking)
    known = [
        (value, one.template)
        for one in ranking.templates
        if (value := getattr(one, metric)) is not None and one.template not in idle
    ]
    if not known:
        return None
    pick = min if metric == "excess" else max
    return pick(known, key=lambda pair: pair[0])[1]


def seldom(ranking: RankingRecord) -> list[str]:
    """Return the templates that solve less than half of what the best one does."""
    best = max((one.pass_at_1 or 0.0 for one in ranking.templates), default=0.0)
    return [
        one.template
        for one in ranking.templates
        if one.pass_at_1 is not None and one.pass_at_1 < _SELDOM * best
    ]


def gap(ranking: RankingRecord, template: str, metric: Figure) -> Gap:
    """Return the difference between a template and the best in a figure."""
    best = best_in(ranking, metric)
    for one in ranking.differences:
        if one.metric == metric and {one.template, one.other} == {template, best}:
            if one.template == template:
                return Gap(template, metric, one.difference, one.ci95, one.real)
            turned = None if one.ci95 is None else (-one.ci95[1], -one.ci95[0])
            return Gap(template, metric, -one.difference, turned, one.real)
    return Gap(template, metric, None, None, real=False)


def victories(ranking: RankingRecord, metric: Figure) -> list[tuple[list[str], list[str]]]:
    """Return who is really better than whom in a figure: those alike together, best first.

    Nobody is better for being steady at what it `seldom` solves.
    """
    order = [one.template for one in ranking.templates]
    idle = seldom(ranking) if metric != "pass_at_1" else []
    beaten = {
        name: tuple(
            other
            for other in order
            if any(
                one.real and one.better == name and other in (one.template, one.other)
                for one in ranking.differences
                if one.metric == metric
            )
            and other != name
        )
        for name in order
        if name not in idle
    }
    together: dict[tuple[str, ...], list[str]] = {}
    for name, others in beaten.items():
        if others:
            together.setdefault(others, []).append(name)
    return [(names, list(others)) for others, names in together.items()]


def remarks(ranking: RankingRecord) -> list[str]:
    """Return what a reader of the ranking must know to read it right."""
    said = []
    if not any(one.real for one in ranking.differences):
        said.append("No difference is real: chance alone could have made every one of them.")
    if ranking.n_tasks < ranking.fewest_tasks:
        said.append(
            f"With {_tasks(ranking.n_tasks)} no difference can be told from chance, whatever its "
            f"size: that takes at least {ranking.fewest_tasks}."
        )
    if ranking.uneven:
        said.append(
            "Not all wordings were sampled as often through each template: AUC-E is lower with "
            "fewer samples, excess is not."
        )
    if idle := seldom(ranking):
        said.append(
            f"{', '.join(idle)}: solves less than half as much as the best. What is seldom solved "
            "can lose little, so AUC-E, excess and the Pareto set speak for it wrongly."
        )
    return said


def _tasks(n: int) -> str:
    return "one task" if n == 1 else f"{n} tasks"
