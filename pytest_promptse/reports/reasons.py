"""Why elasticity is lost: its split by cause of failure, over the suites of one model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pytest_promptse.reports.formatting import MINUS, columns, signed, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.record.schema import SuiteRecord

_SHOWN = 4
_BAR = 12
_LEAST_SHOWN = 0.005


def reasons(suites: Sequence[SuiteRecord]) -> Iterator[Text]:
    """Show each cause's part of 1 - E by distance, and how much more often samples fail for it.

    Suites count with their number of tasks.
    """
    split = [suite for suite in suites if suite.losses]
    distances = sorted({d for suite in split for d in suite.losses}, key=float)
    causes = {cause for suite in split for own in suite.losses.values() for cause in own}
    losses = {c: [_mean(split, d, c, "loss") for d in distances] for c in causes}
    drops = {c: sum(_mean(split, d, c, "drop") for d in distances) / len(distances) for c in causes}
    ranked = sorted(causes, key=lambda cause: (-sum(losses[cause]), cause))
    shown = [c for c in ranked if max(map(abs, (*losses[c], drops[c]))) >= _LEAST_SHOWN][:_SHOWN]
    if not shown:
        return
    most = max(sum(losses[cause]) for cause in shown)
    widths = [8] * len(distances) + [10]
    head = [*((f"d{d}", "dim") for d in distances), ("failures", "dim")]
    yield _named("why", f"part of 1 {MINUS} E", "bold", "dim").append_text(columns(head, widths))
    for cause in shown:
        length = round(_BAR * max(0.0, sum(losses[cause])) / most) if most > 0 else 0
        cells = [*((signed(loss), "") for loss in losses[cause]), (signed(drops[cause]), "")]
        line = _named(f"  {spoken(cause)}", "█" * length, "", "red")
        yield line.append_text(columns(cells, widths))


def _named(name: str, beside: str, style: str, beside_style: str) -> Text:
    return Text(f"{name:<17}", style).append(f"{beside:<{_BAR + 1}}", f"not bold {beside_style}")


def _mean(suites: Sequence[SuiteRecord], distance: str, cause: str, name: str) -> float:
    having = [suite for suite in suites if distance in suite.losses]
    total = sum(
        suite.n_tasks * getattr(suite.losses[distance][cause], name)
        for suite in having
        if cause in suite.losses[distance]
    )
    tasks = sum(suite.n_tasks for suite in having)
    return float(total / tasks)
