"""What gates can decide with the planned numbers, said before anything is paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.config._metrics import METRICS
from pytest_promptse.record._sections import col, table_of
from pytest_promptse.scoring._planning import POWER, DropPlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.record._sections import Table
    from pytest_promptse.run._plan import Suite


def outlooks(suites: Sequence[Suite]) -> Iterator[str]:
    """Yield one line for the suites whose gates on the drop have the same outlook.

    Suites that are measured in rounds, and point gates, have none.
    """
    alike: dict[tuple[DropPlan, float], list[str]] = {}
    for suite in suites:
        chosen = suite.settings
        max_drop = chosen.threshold(METRICS["drop"])
        if max_drop is None or chosen.gate != "confident" or suite.in_rounds:
            continue
        plan = DropPlan(
            tasks=len(suite.tasks),
            variants=chosen.variants * len(chosen.distances),
            samples=chosen.samples,
            original_samples=chosen.original_samples,
            reruns=chosen.interval == "reruns",
        )
        ids = alike.setdefault((plan, max_drop), [])
        if suite.id not in ids:  # another model or template
            ids.append(suite.id)
    for (plan, threshold), ids in alike.items():
        more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
        yield f"{ids[0]}{more}, {outlook(plan, threshold)}"


def outlook(plan: DropPlan, threshold: float) -> str:
    """Return what the gate decides, and which plans decide more if it can hardly pass."""
    detected = plan.detects(threshold)
    drop = "no drop" if detected is None else f"a drop of {detected:.2f} or more"
    passes = plan.passes(threshold)
    text = (
        f"max_drop {threshold:g} fails {drop} in {100 * POWER:.0f} % of the runs, and passes a "
        f"model that loses nothing in {100 * passes:.0f} %"
    )
    if passes >= POWER:
        return text
    remedies = []
    for kind, larger in plan.larger(threshold):
        size = f"{larger.tasks} tasks"
        if kind == "samples":
            size = f"{larger.samples} samples a variant and {larger.original_samples} an original"
        remedies.append(f"{size} ({larger.completions} completions)")
    least = plan.least_threshold()
    if least is not None:
        remedies.append(f"max_drop {least:g}")
    if not plan.over_reruns:
        remedies.append("interval reruns if no other tasks matter")
    return f"{text}. To pass it in {100 * POWER:.0f} %: {', or '.join(remedies)}"


def figures_table(plan: DropPlan, threshold: float, distances: Sequence[float]) -> Table:
    """Return what runs measure, without a drop and with the one that `threshold` can fail.

    The table has every metric. The ranges are those of eight of ten simulated runs.
    """
    from pytest_promptse.scoring._simulated_runs import (  # noqa: PLC0415 - a dry run has no table
        simulated_figures,
    )

    drops = {"no drop": 0.0}
    detected = plan.detects(threshold)
    if detected is not None:
        drops[f"a drop of {detected:.2f}"] = detected
    ranges = {
        name: simulated_figures(plan, drop=drop, distances=distances)
        for name, drop in drops.items()
    }
    return table_of(
        "figures",
        "Figures in 8 of 10 runs",
        ranges["no drop"],
        col("8 of 10 runs measure", "figure", str, "text"),
        *(col(name, name, by_label.get, "interval") for name, by_label in ranges.items()),
    )
