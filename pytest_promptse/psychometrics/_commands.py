"""What the commands of the instruments share, such as ``score`` for responses made elsewhere."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence

    from pytest_promptse.instruments._measurement import Commands
    from pytest_promptse.record._sections import Block

__all__ = ["Score", "add_commands", "add_score_parser"]


@dataclass(frozen=True, kw_only=True)
class Score:
    """A scored administration: a title and blocks for the terminal, and the same as JSON."""

    title: str
    blocks: Sequence[Block]
    row: dict[str, Any]


def add_commands(subparsers: Commands, name: str, *, about: str) -> Commands:
    """Add the command of an instrument, and return the place of its own commands."""
    command = subparsers.add_parser(name, help=about)
    return command.add_subparsers(title="commands", metavar="COMMAND", required=True)


def add_score_parser(
    commands: Commands,
    *,
    description: str,
    score: Callable[[argparse.Namespace], Iterable[Score]],
) -> argparse.ArgumentParser:
    """Add a ``score`` command that takes ``FILES`` and ``--json``, and prints what `score` returns.

    `score` receives the parsed arguments.
    """
    parser = commands.add_parser(
        "score", help="score responses from files", description=description
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILES")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(func=lambda chosen: _print(score(chosen), as_json=chosen.json))
    return parser


def _print(scores: Iterable[Score], *, as_json: bool) -> int:
    from pytest_promptse.reports.terminal._sections import render_blocks  # noqa: PLC0415 - rich

    if as_json:
        rows = [score.row for score in scores]
        sys.stdout.write(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
        return 0
    width = shutil.get_terminal_size().columns
    for score in list(scores):
        shown = render_blocks(
            score.blocks, title=score.title, width=width, colours=sys.stdout.isatty()
        )
        sys.stdout.write(f"{shown}\n")
    return 0
