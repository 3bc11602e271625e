"""``promptse emotionbench``: import a clone, and score responses that were made elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from pytest_promptse.errors import SettingsError
from pytest_promptse.psychometrics._commands import Score, add_commands, add_score_parser
from pytest_promptse.record._sections import Prose

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from pytest_promptse.instruments._measurement import Commands
    from pytest_promptse.psychometrics.emotionbench._scoring import Method
    from pytest_promptse.psychometrics.emotionbench._tables import ScaleResult
    from pytest_promptse.record._sections import Block

_Scored: TypeAlias = "tuple[dict[str, Any], ScaleResult]"


def add_parser(subparsers: Commands) -> None:
    """Add the ``emotionbench`` commands, which each set ``func`` to return the exit code."""
    commands = add_commands(
        subparsers,
        "emotionbench",
        about="import EmotionBench from a clone of its repository, and score responses",
    )
    load = commands.add_parser(
        "import",
        help="import situations and scales from a clone of the authors' repository",
        description=(
            "Copy the situations and scales from a clone of github.com/CUHK-ARISE/EmotionBench to "
            "a folder, for the 'situations' and 'scales' settings of suite files. Do not publish "
            "these files: the rights belong to their authors and publishers."
        ),
    )
    load.add_argument("folder", type=Path, metavar="DIR", help="folder of the clone")
    load.add_argument(
        "--into",
        type=Path,
        default=Path("emotionbench-imported"),
        metavar="DIR",
        help="folder to which the files are written (default: %(default)s)",
    )
    load.set_defaults(func=_import)
    score = add_score_parser(
        commands,
        description=(
            "Print how each factor changes, for each emotion and overall, next to the change in "
            "human subjects. FILES are response CSV files in the authors' format, or the workbook "
            "of the authors' crowd study."
        ),
        score=_scores,
    )
    score.add_argument(
        "--method",
        choices=["paper", "cluster"],
        default="paper",
        help="unit of observation: each run (paper, default) or each situation (cluster)",
    )


def _import(chosen: argparse.Namespace) -> int:
    from pytest_promptse.psychometrics.emotionbench._importer import (  # noqa: PLC0415
        import_clone,
    )

    situations, scales, n_situations, n_scales = import_clone(chosen.folder, chosen.into)
    sys.stdout.write(
        f"wrote {n_situations} situations to {situations}\n"
        f"wrote {n_scales} scales to {scales}\n"
        "Do not publish these files: the rights belong to their authors and publishers.\n"
    )
    return 0


def _scores(chosen: argparse.Namespace) -> Iterator[Score]:
    from pytest_promptse.psychometrics.emotionbench._tables import scale_blocks  # noqa: PLC0415

    for path in chosen.files:
        about, scale = _read(path, chosen.method)
        blocks: list[Block] = []
        if malformed := about["malformed"]:
            blocks.append(
                Prose(text=f"left out, since items are missing or off the scale: {malformed}")
            )
        yield Score(
            title=f"{about['model']}, {scale.scale}, method {about['method']}",
            blocks=[*blocks, *scale_blocks(scale, plots=False)],
            row={**about, **msgspec.to_builtins(scale)},
        )


def _read(path: Path, method: Method) -> _Scored:
    """Return a description of a response file, and its results.

    `method` is that of scoring. SettingsError is raised for other files than ``.csv`` and
    ``.xlsx``.
    """
    if path.suffix == ".xlsx":
        return _crowd(path)
    if path.suffix != ".csv":
        raise SettingsError(f"{path}: give a response .csv or the crowd study's .xlsx")
    from pytest_promptse.psychometrics.emotionbench._published import (  # noqa: PLC0415
        read_responses,
    )
    from pytest_promptse.psychometrics.emotionbench._scoring import score_table  # noqa: PLC0415
    from pytest_promptse.psychometrics.emotionbench._tables import (  # noqa: PLC0415
        ScaleResult,
        rows_with_norms,
    )

    responses = read_responses(path)
    about = _about(path, responses.model, method, responses.malformed)
    factors = {situation.factor for evoked in responses.evoked.values() for situation in evoked}
    return about, ScaleResult.of(
        responses.scale,
        default=responses.default,
        changes={
            category: score_table(responses.default.get(category, ()), evoked, method=method)
            for category, evoked in responses.evoked.items()
        },
        norms=rows_with_norms(responses.scale, factors),
    )


def _crowd(path: Path) -> _Scored:
    from pytest_promptse.psychometrics.emotionbench._factors import PANAS  # noqa: PLC0415
    from pytest_promptse.psychometrics.emotionbench._published import read_crowd  # noqa: PLC0415
    from pytest_promptse.psychometrics.emotionbench._scoring import score_crowd  # noqa: PLC0415
    from pytest_promptse.psychometrics.emotionbench._tables import ScaleResult  # noqa: PLC0415

    answers = read_crowd(path)
    return _about(path, "crowd", "paired", answers.malformed), ScaleResult.of(
        PANAS.name,
        default={
            category: [total for totals in factors.values() for total in totals]
            for category, factors in answers.before.items()
        },
        changes={
            category: score_crowd(answers.before[category], answers.after[category])
            for category in answers.before
        },
    )


def _about(path: Path, model: str, method: str, malformed: int) -> dict[str, Any]:
    return {"source": str(path), "model": model, "method": method, "malformed": malformed}
