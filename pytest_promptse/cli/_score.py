"""Common parts of the ``score`` commands of psychometric suites."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence

    from pytest_promptse.cli._arguments import Subparsers

__all__ = ["add_score_parser", "write_scores"]


def add_score_parser(
    commands: Subparsers,
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


def write_scores(rows: Sequence[dict[str, Any]], texts: Iterable[str], *, as_json: bool) -> None:
    """Write `rows` as JSON, or else `texts`, which show the same results.

    `as_json` selects JSON. Standard output is used.
    """
    if as_json:
        sys.stdout.write(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    else:
        sys.stdout.writelines(texts)
