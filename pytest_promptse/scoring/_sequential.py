"""Stopping early: variants are drawn in rounds until the gates are decided.

A suite is scored after each round; this is a *look*. The number J of looks is planned. Each look
takes intervals at level 1 - 0.05 / J, so by the union bound all J hold together with 95 %. So a
rule that stops at any look, for any reason, is wrong no more often than one that takes all the
samples.

Doubling the variants needs few looks, so this costs little more width than special boundaries. For
two looks, Pocock (Biometrika 64, 1977) has 2.18 standard errors and this method 2.24. It needs no
assumption about the dependence between looks. Confidence sequences that allow any number of looks
(Howard, Ramdas, McAuliffe and Sekhon, Annals of Statistics 49, 2021) are made for streams of new
observations. Here every look measures the same tasks more closely. For few tasks, such a sequence
over their prompts is added (see `_finite_population`).

Rounds add variants, not samples per variant. A mean over fewer variants estimates the same
elasticity. Fewer samples per variant would lower the elasticity by the noise floor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.config._metrics import metric_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_promptse.scoring._samples import Mode
    from pytest_promptse.scoring._scores import Gate


def planned_looks(variants: int) -> tuple[int, ...]:
    """Return the number of variants per distance at each look, doubling up to `variants`.

    The result is (1, 2, 4) for 4 variants and (1, 2, 4, 8, 16, 30) for 30. The first k variants of
    a task must be a random choice among all of them. If their order has a meaning, shuffle it
    first.

    Raises
    ------
    ValueError
        If `variants` is less than 1.
    """
    if variants < 1:
        raise ValueError(f"variants is {variants}: a look needs at least one per distance")
    looks = []
    count = 1
    while count < variants:
        looks.append(count)
        count *= 2
    return (*looks, variants)


def may_stop(gates: Iterable[Gate], *, mode: Mode) -> bool:
    """Return whether all gates of a suite, judged at a look, are decided without more variants.

    Return False if there are no gates. A gate without a verdict is undecided, and so is one on a
    figure that depends on the number of variants. In mode ``light``
    only a gate that passes is decided, and a gate on excess never is. PromptSELight averages the
    variants before it takes the difference, so its elasticity is lower on average with fewer
    variants. A failure may therefore vanish when variants are added. Its excess may move in either
    direction.

    Parameters
    ----------
    gates
        The gates of the suite, judged with ``confident`` at this look.
    mode
        The metric of the suite: PromptSE's elasticity or PromptSELight's.
    """
    any_gate = False
    for gate in gates:
        any_gate = True
        metric = metric_of(gate.name)
        if metric is None or not metric.may_stop_early:
            return False
        if gate.verdict not in ("pass", "fail"):
            return False
        if mode == "light" and (gate.verdict == "fail" or gate.name == "excess"):
            return False
    return any_gate
