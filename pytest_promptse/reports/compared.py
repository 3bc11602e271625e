"""What the record says of a comparison with an earlier run."""

from __future__ import annotations

import msgspec

SUFFIX = ".json"


def is_path(name_or_path: str) -> bool:
    """Whether a baseline was asked for by its file instead of its name."""
    return "/" in name_or_path or name_or_path.endswith(SUFFIX)


def command_making(name_or_path: str) -> str:
    """Return the command that makes a baseline, or makes it anew."""
    if is_path(name_or_path):
        return f"pytest … --promptse-report json:{name_or_path}"
    return f"pytest … --promptse-save {name_or_path}"


class ComparedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of this run and of the baseline, over what both have.

    ``difference`` is ``current`` - ``baseline`` with its paired 95 % interval. ``verdict`` is
    ``pass`` where that excludes a loss of ``margin`` or more, ``fail`` where it excludes any
    smaller one, else ``inconclusive``; None without a margin or without a figure on both sides.
    """

    metric: str
    distance: float | None
    current: float | None
    baseline: float | None
    difference: float | None
    ci95: tuple[float, float] | None
    margin: float | None
    verdict: str | None
    message: str
    n_tasks: int


class BaselineRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record that was compared with, by the name or path it was asked for."""

    name: str
    finished: str
    commit: str | None


class ComparisonRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One suite against its counterpart in a baseline.

    ``model`` is None for a suite that only the baseline has, ``baseline_model`` for one that only
    this run has; both come without figures. ``mode`` is how scores were compared.
    ``differences`` are settings and the like that are not the same on both sides, as (here,
    baseline); ``prompts_changed`` are tasks whose prompt was edited; ``notes`` say what follows
    for the comparison. What only one side has is listed: tasks by id, wordings as (task id,
    wording id).
    """

    baseline: BaselineRecord
    suite: str
    template: str | None
    model: str | None
    baseline_model: str | None
    mode: str | None = None
    figures: list[ComparedRecord] = []
    differences: dict[str, tuple[str, str]] = {}
    prompts_changed: list[str] = []
    notes: list[str] = []
    tasks_only_current: list[str] = []
    tasks_only_baseline: list[str] = []
    wordings_only_current: list[tuple[str, str]] = []
    wordings_only_baseline: list[tuple[str, str]] = []
