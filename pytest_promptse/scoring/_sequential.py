"""Stopping early: variants are drawn in rounds until the gates are decided.

A suite is scored after each round, a *look*. The looks are planned, J of them, and each takes
intervals at level 1 - 0.05 / J, so that by the union bound all J hold together with 95 %. A rule
that stops at whichever look it likes, for whatever reason, is then wrong no more often than one
that takes all the samples. With the handful of looks that doubling needs, this costs little more
width than boundaries made for the purpose (Pocock, Biometrika 64, 1977, has 2.18 standard errors
for two looks where this has 2.24), and it asks nothing of how looks depend on each other.
Confidence sequences that allow any number of looks (Howard, Ramdas, McAuliffe and Sekhon, Annals
of Statistics 49, 2021) are made for streams of new observations; here every look measures the
same tasks more closely. Where tasks are few, such a sequence over their prompts is added (see
`finite_population`).

Rounds add variants, not samples per variant: a mean over fewer variants estimates the same
elasticity, whereas fewer samples per variant would lower it, by the noise floor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_promptse.scoring._gate import Gate
    from pytest_promptse.scoring._samples import Mode


def planned_looks(variants: int) -> tuple[int, ...]:
    """Return how many variants per distance there are at each look, doubling up to `variants`.

    (1, 2, 4) for 4 variants, (1, 2, 4, 8, 16, 30) for 30. The first k variants of a task are to
    be a random choice among all of them; if their order means something, shuffle it first.

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
    """Return whether a suite's gates, judged confidently at a look, need no more variants.

    All gates must be decided. A gate without a verdict is undecided, and the first undecided gate
    ends the loop. In mode ``light`` only a gate that passes is decided, and a gate on excess never
    is. That metric averages the variants before it takes the difference. With fewer variants its
    elasticity is lower on average, so a failure may vanish when variants are added. Excess may
    move in either direction.
    """
    any_gate = False
    for gate in gates:
        any_gate = True
        if gate.verdict not in ("pass", "fail"):
            return False
        if mode == "light" and (gate.verdict == "fail" or gate.name == "excess"):
            return False
    return any_gate
