"""``promptse plan``: which losses gates find with a number of tasks and samples."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from pytest_promptse.config._settings import PRESETS, resolve
from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    import argparse

    from pytest_promptse.cli._arguments import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add the ``plan`` command, which sets ``func``. ``func`` returns the exit code."""
    plan = subparsers.add_parser(
        "plan",
        help="show which losses a gate can detect with a given number of tasks and samples",
        description="Show which loss a max_drop gate can detect, how often the gate passes a "
        "model that loses nothing, and how many tasks or samples a lower threshold requires. "
        "Nothing is requested.",
    )
    plan.add_argument(
        "--tasks", type=int, default=1, metavar="N", help="number of tasks (default: 1)"
    )
    plan.add_argument(
        "--max-drop",
        type=float,
        default=0.1,
        metavar="X",
        help="threshold of the gate (default: 0.1)",
    )
    plan.add_argument(
        "--preset",
        choices=PRESETS,
        default="ci",
        help="preset for the numbers of variants and samples (default: ci)",
    )
    plan.add_argument("--variants", metavar="N", help="variants per distance")
    plan.add_argument("--samples", metavar="N", help="samples per variant")
    plan.add_argument("--original-samples", metavar="N", help="samples per original prompt")
    plan.add_argument(
        "--interval",
        choices=("tasks", "reruns"),
        default="tasks",
        help="what the gate's interval allows for: other tasks (tasks, default), or only reruns of "
        "these tasks (reruns)",
    )
    plan.add_argument(
        "--pass-rate",
        type=float,
        default=0.95,
        metavar="P",
        help="true pass rate of the originals (default: 0.95)",
    )
    plan.add_argument(
        "--spread",
        type=float,
        default=0.0,
        metavar="SD",
        help="standard deviation of the true drop between tasks (default: 0)",
    )
    plan.add_argument(
        "--figures",
        action="store_true",
        help="show the range of every figure in simulated runs",
    )
    plan.set_defaults(func=_plan)


def _plan(chosen: argparse.Namespace) -> int:
    from pytest_promptse.run._outlook import figures_table, outlook  # noqa: PLC0415 - `--help` is quick
    from pytest_promptse.scoring._planning import DropPlan  # noqa: PLC0415

    if chosen.tasks < 1 or not 0 < chosen.pass_rate <= 1 or chosen.spread < 0:
        raise SettingsError(
            f"plan: {chosen.tasks} tasks, pass rate {chosen.pass_rate:g} and spread "
            f"{chosen.spread:g}: give at least 1 task, a rate above 0 up to 1, a spread from 0"
        )
    if not 0 < chosen.max_drop < 1:
        raise SettingsError(f"plan: --max-drop is {chosen.max_drop:g}; give a value in (0, 1)")
    names = ("preset", "variants", "samples", "original_samples")
    given = {name: value for name in names if (value := getattr(chosen, name)) is not None}
    settings = resolve([(given, lambda name: f"plan: --{name.replace('_', '-')}")])
    plan = DropPlan(
        tasks=chosen.tasks,
        variants=settings.variants * len(settings.distances),
        samples=settings.samples,
        original_samples=settings.original_samples,
        reruns=chosen.interval == "reruns",
        pass_rate=chosen.pass_rate,
        spread=chosen.spread,
    )
    sys.stdout.write(
        f"{plan.tasks} task{'s' if plan.tasks > 1 else ''}, each with {plan.original_samples} "
        f"samples of the original and {plan.samples} of each of {plan.variants} variants: "
        f"{plan.completions} completions\n{outlook(plan, chosen.max_drop)}\n"
    )
    if chosen.figures:
        from pytest_promptse.cli._extensions import hooks  # noqa: PLC0415
        from pytest_promptse.reports.terminal._sections import render_blocks  # noqa: PLC0415

        hooks()  # adds the metrics of plugins
        table = figures_table(plan, chosen.max_drop, settings.distances)
        width = shutil.get_terminal_size().columns
        text = render_blocks((table,), title="", width=width, colours=sys.stdout.isatty())
        sys.stdout.write(f"{text}\n")
    return 0
