"""``promptse emotionbench``: import a clone, and score responses that were made elsewhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pytest_promptse.psychometrics.emotionbench.scoring import AffectChange, Method, Summary

_ARROWS = {"up": "↑", "down": "↓", "none": "—"}


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],  # argparse names no other
) -> None:
    """Add the ``emotionbench`` commands, each of which sets ``func``; it returns the exit code."""
    bench = subparsers.add_parser(
        "emotionbench", help="import EmotionBench from a clone, and score responses"
    )
    commands = bench.add_subparsers(title="commands", metavar="COMMAND", required=True)
    load = commands.add_parser(
        "import",
        help="import situations and scales from a clone of the authors' repository",
        description=(
            "Write the situations and scales of a clone of github.com/CUHK-ARISE/EmotionBench into "
            "a folder, for the 'situations' and 'scales' settings of suite files. They are not "
            "this project's to publish, and not yours."
        ),
    )
    load.add_argument("folder", type=Path, metavar="DIR", help="the clone")
    load.add_argument(
        "--into",
        type=Path,
        default=Path("emotionbench-imported"),
        metavar="DIR",
        help="emotionbench-imported by default",
    )
    load.set_defaults(func=_import)
    score = commands.add_parser(
        "score",
        help="score responses made elsewhere",
        description=(
            "Print the change of each factor, emotion and overall. FILES are response CSV files "
            "as the authors published them, or the workbook of their crowd study."
        ),
    )
    score.add_argument("files", nargs="+", type=Path, metavar="FILES")
    score.add_argument(
        "--method",
        choices=["paper", "cluster"],
        default="paper",
        help="paper: every run is one observation (default); cluster: every situation is",
    )
    score.add_argument("--json", action="store_true", help="print JSON instead of a table")
    score.set_defaults(func=_score)


def _import(chosen: argparse.Namespace) -> int:
    from pytest_promptse.psychometrics.emotionbench.importer import (  # noqa: PLC0415
        import_clone,
    )

    situations, scales, n_situations, n_scales = import_clone(chosen.folder, chosen.into)
    sys.stdout.write(
        f"wrote {n_situations} situations to {situations}\n"
        f"wrote {n_scales} scales to {scales}\n"
        "Keep these files to yourself: they are their authors' and publishers'.\n"
    )
    return 0


def _score(chosen: argparse.Namespace) -> int:
    tables = [_table(path, chosen.method) for path in chosen.files]
    if chosen.json:
        sys.stdout.write(json.dumps(tables, indent=1, ensure_ascii=False) + "\n")
        return 0
    sys.stdout.write("\n".join(_text(table) for table in tables))
    return 0


def _table(path: Path, method: Method) -> dict[str, Any]:
    """Return the results of one file as JSON values."""
    if path.suffix == ".xlsx":
        return _crowd_table(path)
    if path.suffix != ".csv":
        raise SettingsError(f"{path}: give a response .csv or the crowd study's .xlsx")
    from pytest_promptse.psychometrics.emotionbench.published import (  # noqa: PLC0415
        read_responses,
    )
    from pytest_promptse.psychometrics.emotionbench.scoring import (  # noqa: PLC0415
        score_table,
        summarise,
    )

    responses = read_responses(path)
    return {
        "source": str(path),
        "model": responses.model,
        "scale": responses.scale,
        "method": method,
        "malformed": responses.malformed,
        "default": {
            category: _summary(summarise(totals)) for category, totals in responses.default.items()
        },
        "changes": {
            category: [
                _change(each)
                for each in score_table(responses.default.get(category, ()), evoked, method=method)
            ]
            for category, evoked in responses.evoked.items()
        },
    }


def _crowd_table(path: Path) -> dict[str, Any]:
    from pytest_promptse.psychometrics.emotionbench.published import (  # noqa: PLC0415
        read_crowd,
    )
    from pytest_promptse.psychometrics.emotionbench.scoring import (  # noqa: PLC0415
        score_crowd,
        summarise,
    )

    answers = read_crowd(path)
    return {
        "source": str(path),
        "model": "crowd",
        "scale": "PANAS",
        "method": "paired",
        "malformed": answers.malformed,
        "default": {
            category: _summary(summarise([t for totals in factors.values() for t in totals]))
            for category, factors in answers.before.items()
        },
        "changes": {
            category: [
                _change(each)
                for each in score_crowd(answers.before[category], answers.after[category])
            ]
            for category in answers.before
        },
    }


def _summary(summary: Summary) -> dict[str, Any]:
    return {"n": summary.n, "mean": summary.mean, "sd": summary.sd}


def _change(change: AffectChange) -> dict[str, Any]:
    from pytest_promptse.psychometrics.emotionbench.factors import factor_name  # noqa: PLC0415

    label = change.name if change.name == "Overall" else factor_name(change.name)
    return {
        "name": change.name,
        "label": label,
        "n_situations": change.n_situations,
        "n_runs": change.n_runs,
        "delta": change.delta,
        "sd": change.sd,
        "ci95": change.ci95,
        "p_value": change.p_value,
        "test": change.test,
        "arrow": change.arrow,
        "icc": change.icc,
    }


def _text(table: dict[str, Any]) -> str:
    categories = list(table["default"])
    lines = [f"{table['model']}, {table['scale']}, method {table['method']}"]
    if table["malformed"]:
        lines.append(f"left out, since items are missing or off the scale: {table['malformed']}")
    width = max(
        (len(row["label"]) for rows in table["changes"].values() for row in rows), default=8
    )
    width = max(width, len("Default")) + 4
    lines.append(" " * width + "".join(f"{category:>18}" for category in categories))
    default = "".join(f"{_mean(table['default'][category]):>18}" for category in categories)
    lines.append(f"{'Default':{width}}{default}")
    by_name: dict[str, dict[str, dict[str, Any]]] = {}
    for category, rows in table["changes"].items():
        for row in rows:
            by_name.setdefault(row["name"], {})[category] = row
    for name, cells in by_name.items():
        label = next(iter(cells.values()))["label"]
        shown = f"  {label}" if "-" in name else f"{label}: average"
        lines.append(f"{shown:{width}}" + _cells(categories, cells))
    return "\n".join(lines) + "\n"


def _cells(categories: Sequence[str], cells: dict[str, dict[str, Any]]) -> str:
    return "".join(f"{_cell(cells.get(category)):>18}" for category in categories)


def _mean(summary: dict[str, Any]) -> str:
    if summary["mean"] is None:
        return "-"
    spread = "" if summary["sd"] is None else f" ± {summary['sd']:.1f}"
    return f"{summary['mean']:.1f}{spread}"


def _cell(row: dict[str, Any] | None) -> str:
    if row is None or row["delta"] is None:
        return "-"
    return f"{_ARROWS[row['arrow']]} ({row['delta']:+.1f})"
