"""``promptse harden``: find a prompt template that keeps the model stable."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse._destinations import why_unwritable
from pytest_promptse.config._options import OPTIONS
from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from pytest_promptse.cli._arguments import Subparsers
    from pytest_promptse.compare._figures import Plot
    from pytest_promptse.harden._candidates import TemplateCandidate
    from pytest_promptse.record._schema import Record

_FEWEST_VARIANTS = 2
# 128 plus the number of SIGINT, as a shell reports it.
_INTERRUPTED = 130


def add_parser(subparsers: Subparsers) -> None:
    """Add the ``harden`` command, which sets ``func``. ``func`` returns the exit code."""
    harden = subparsers.add_parser(
        "harden",
        help="find a prompt template that keeps the model stable",
        description=(
            "Measure how far the pass rate of the tests falls when their prompts are reworded. "
            "Search for prompt templates that reduce this loss, and confirm the best template on "
            "variants that the search did not use. The exit code is 0 if a template is confirmed "
            "or there is no loss to reduce, and 1 if no template helps. Completions are kept in "
            "the store, so repeating the command costs nothing."
        ),
    )
    harden.add_argument(
        "tests",
        nargs="+",
        metavar="TEST",
        help="a test file, folder or node id; pytest options can follow after --",
    )
    harden.add_argument("--model", required=True, metavar="BACKEND:NAME", help="model to test")
    harden.add_argument(
        "--candidate",
        action="append",
        default=[],
        metavar="FILE|GLOB",
        help="file of your own template that the search includes; repeatable",
    )
    harden.add_argument(
        "--variants",
        type=int,
        default=4,
        metavar="K",
        help="maximum number of variants per distance in the search (default: 4); the "
        "confirmation uses twice as many",
    )
    harden.add_argument(
        "--max-cost", metavar="X", help="maximum cost of all runs; needs promptse_price"
    )
    harden.add_argument("--max-requests", metavar="N", help="maximum number of requests")
    harden.add_argument("--price", metavar="INPUT,OUTPUT", help=OPTIONS["price"].help)
    harden.add_argument(
        "--out",
        type=Path,
        default=Path("hardened"),
        metavar="FOLDER",
        help="folder for the best template (default: hardened)",
    )
    harden.add_argument("--html", type=Path, metavar="PATH", help="write the result as a page")
    harden.set_defaults(func=_harden)


def _harden(chosen: argparse.Namespace) -> int:
    from pytest_promptse.cli._extensions import hooks  # noqa: PLC0415 - `--help` is quick
    from pytest_promptse.compare import _page  # noqa: PLC0415
    from pytest_promptse.harden._candidates import is_for, load_candidates  # noqa: PLC0415
    from pytest_promptse.harden._pytest_runs import PytestRuns  # noqa: PLC0415
    from pytest_promptse.harden._report import in_words, paste_lines, sections_of  # noqa: PLC0415
    from pytest_promptse.harden._search import UNTOUCHED, harden  # noqa: PLC0415
    from pytest_promptse.reports.terminal._sections import render_sections  # noqa: PLC0415

    if chosen.html is not None:
        _page.check_installed()
    if chosen.variants < _FEWEST_VARIANTS:
        raise SettingsError(
            f"harden --variants {chosen.variants}: give at least {_FEWEST_VARIANTS}"
        )
    given = [pattern for patterns in hooks().pytest_promptse_candidates() for pattern in patterns]
    candidates = load_candidates([*given, *chosen.candidate], Path.cwd())
    price = [] if chosen.price is None else [f"--promptse-price={chosen.price}"]
    _check_written(chosen, candidates)
    runs = PytestRuns(
        [*price, *chosen.tests],
        model=chosen.model,
        candidates=candidates,
        max_cost=_number(chosen.max_cost, "max_cost"),
        max_requests=_number(chosen.max_requests, "max_requests"),
        say=lambda line: sys.stderr.write(f"promptse: {line}\n"),
    )

    def useful() -> list[str]:
        return [
            name
            for name, candidate in candidates.items()
            if name != UNTOUCHED and is_for(candidate, runs.records[0])
        ]

    try:
        runs.plan()
        hardening = harden(runs.measure, useful, variants=chosen.variants)
    except KeyboardInterrupt:
        sys.stderr.write("promptse: stopped; run the same command again to continue\n")
        return _INTERRUPTED
    lines: list[str] = []
    if hardening.result == "mended" and hardening.winner is not None:
        path = _write_template(
            candidates[hardening.winner].template.source, chosen, hardening.winner
        )
        lines = list(paste_lines(hardening, path, model=chosen.model, tests=chosen.tests))
    sections = sections_of(hardening, runs.records, candidates, lines=lines)
    title = in_words(hardening)
    cost = f", cost {runs.cost:.4g}" if runs.cost is not None else ""
    text = render_sections(
        sections,
        title=title,
        notes=[f"{runs.requests} requests{cost}, besides what was in the store"],
        width=shutil.get_terminal_size().columns,
        colours=sys.stdout.isatty(),
    )
    sys.stdout.write(text + "\n")
    if chosen.html is not None:
        figures = _figures(runs.records[1]) if hardening.rounds else {}
        _page.write_sections(sections, chosen.html, title=title, figures=figures)
    return 0 if hardening.result in ("mended", "nothing to mend") else 1


def _number(given: str | None, option: str) -> float | None:
    flag = "--" + option.replace("_", "-")
    return None if given is None else OPTIONS[option].read(given, f"harden {flag}")


def _check_written(chosen: argparse.Namespace, candidates: Mapping[str, TemplateCandidate]) -> None:
    """Raise SettingsError if a result could not be written. No file is overwritten."""
    if reason := why_unwritable(chosen.out, folder=True):
        raise SettingsError(f"harden --out {chosen.out}: {reason}; give another folder")
    if chosen.html is not None and (reason := why_unwritable(chosen.html)):
        raise SettingsError(f"harden --html {chosen.html}: {reason}; give another path")
    for name, candidate in candidates.items():
        path = chosen.out / f"{name}.j2"
        if path.exists() and path.read_text(encoding="utf-8") != candidate.template.source:
            raise SettingsError(
                f"harden --out {path}: this file is another template; give another folder"
            )


def _write_template(source: str, chosen: argparse.Namespace, name: str) -> str:
    """Write the template to the chosen folder and return its path."""
    folder: Path = chosen.out
    path = folder / f"{name}.j2"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"harden --out {path}: {error.strerror or error}") from None
    return str(path)


def _figures(record: Record) -> dict[str, list[Plot]]:
    from pytest_promptse.compare import _plots  # noqa: PLC0415 - needs the extra
    from pytest_promptse.compare._figures import Plot  # noqa: PLC0415
    from pytest_promptse.harden._report import front  # noqa: PLC0415

    shown = [
        (entry.name, rate, drop)
        for entry in front(record)
        if (rate := entry.figures["pass_at_1"]) is not None
        and (drop := entry.figures["drop"]) is not None
    ]
    if not shown:
        return {}
    svg = _plots.scatter(
        [_plots.Point(number, rate, drop) for number, (_, rate, drop) in enumerate(shown, start=1)],
        name="front",
        title="Pass rate and stability of the candidates",
        labels=("pass@1", "drop"),
    )
    return {"front": [Plot("pass rate and stability", svg, tuple(name for name, *_ in shown))]}
