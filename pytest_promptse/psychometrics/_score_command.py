"""The ``score`` commands: score responses that were made elsewhere."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence

    from pytest_promptse.instruments._measurement import Commands
    from pytest_promptse.record._sections import Block

__all__ = ["add_score_parser", "write_scores"]


def add_score_parser(
    commands: Commands,
    *,
    description: str,
    func: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    """Add a ``score`` command that takes ``FILES`` and ``--json``, and sets ``func``.

    `func` gets the parsed arguments and returns the exit code.
    """
    score = commands.add_parser(
        "score", help="score responses made elsewhere", description=description
    )
    score.add_argument("files", nargs="+", type=Path, metavar="FILES")
    score.add_argument("--json", action="store_true", help="print JSON instead of a table")
    score.set_defaults(func=func)
    return score


def write_scores(
    rows: Sequence[dict[str, Any]],
    texts: Iterable[tuple[str, Sequence[Block]]],
    *,
    as_json: bool,
) -> None:
    """Write `rows` as JSON to standard output, or else `texts`, which show the same results.

    Each text has a title and blocks.
    """
    from pytest_promptse.reports.terminal._sections import render_blocks  # noqa: PLC0415 - rich

    if as_json:
        sys.stdout.write(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
        return
    width = shutil.get_terminal_size().columns
    for title, blocks in texts:
        text = render_blocks(blocks, title=title, width=width, colours=sys.stdout.isatty())
        sys.stdout.write(f"{text}\n")
