"""``promptse csi``: build word lists and score responses that were made elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_promptse.errors import SettingsError
from pytest_promptse.psychometrics._commands import Score, add_commands, add_score_parser
from pytest_promptse.psychometrics.csi._scoring import FIGURES
from pytest_promptse.record._sections import Listing, col, table_of
from pytest_promptse.reports._formatting import NOT_MEASURED, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from pytest_promptse.instruments._measurement import Commands
    from pytest_promptse.psychometrics.csi._published import Administration
    from pytest_promptse.psychometrics.csi._scoring import CsiEstimate, CsiScores
    from pytest_promptse.record._sections import Block

_DEFAULT_SIZE = 5000
_HUMANEVAL = "humaneval"


def add_parser(subparsers: Commands) -> None:
    """Add the ``csi`` commands, each of which sets ``func``. ``func`` returns the exit code."""
    commands = add_commands(
        subparsers,
        "csi",
        about="build word lists of the Core Sentiment Inventory, and score responses",
    )
    build = commands.add_parser(
        "build",
        help="build a word list of frequent nouns and verbs",
        description=(
            "Write the most frequent nouns and verbs of a language as JSON Lines. Frequencies "
            "come from wordfreq, or from the files of --corpus. With the same versions of the "
            "tools, the list is always the same."
        ),
    )
    build.add_argument("--language", choices=["en", "zh"], required=True)
    build.add_argument(
        "--size",
        type=int,
        default=_DEFAULT_SIZE,
        metavar="N",
        help="number of words (default: %(default)s)",
    )
    build.add_argument(
        "--corpus",
        action="append",
        default=[],
        metavar="FILE",
        help=f"text file in which to count words, or '{_HUMANEVAL}' for the prompts of that data "
        "set; repeatable",
    )
    build.add_argument(
        "--max-valence",
        type=float,
        metavar="V",
        help="exclude words whose valence is above V or below -V; V is in [0, 1]",
    )
    build.add_argument(
        "--valence",
        type=Path,
        metavar="FILE",
        help=(
            "file with a word, a tab and its valence on each line (default: the file of VADER for "
            "English, and the file of this project for Chinese)"
        ),
    )
    build.add_argument(
        "--out", type=Path, metavar="FILE", help="output file (default: standard output)"
    )
    build.set_defaults(func=_build)
    score = add_score_parser(
        commands,
        description=(
            "Print optimism, pessimism, neutrality, consistency, reluctancy and kappa with 95 %% "
            "intervals. FILES are CSV files or experiment folders in the format that the "
            "inventory's authors published, or JSON Lines with 'run', 'words' and 'response'."
        ),
        score=_scores,
    )
    score.add_argument(
        "--words", metavar="LIST", help="word list to which the numbers in a CSV file refer"
    )
    score.add_argument(
        "--words-per-prompt",
        type=int,
        metavar="N",
        help="number of words in each prompt (default: 30)",
    )
    score.add_argument(
        "--top",
        type=int,
        default=0,
        metavar="N",
        help="show the first N words of each class: positive, negative and neutral",
    )


def _build(chosen: argparse.Namespace) -> int:
    from pytest_promptse.psychometrics.csi import _build as build  # noqa: PLC0415 - `--help` is quick

    if chosen.size < 1:
        raise SettingsError(f"csi build: --size {chosen.size} is not positive")
    if chosen.max_valence is not None and not 0 <= chosen.max_valence <= 1:
        raise SettingsError(f"csi build: --max-valence {chosen.max_valence:g} is not in [0, 1]")
    if chosen.valence is not None and chosen.max_valence is None:
        raise SettingsError(
            "csi build: --valence needs --max-valence, above which words are left out"
        )
    corpus = [_corpus(name) for name in chosen.corpus]
    words, about = build.build_words(
        chosen.language,
        size=chosen.size,
        corpus=corpus,
        max_valence=chosen.max_valence,
        lexicon=build.read_lexicon(chosen.valence) if chosen.valence else None,
    )
    if not words:
        raise SettingsError("csi build: the corpus has no nouns or verbs of this language")
    text = build.render_words(words, about)
    if chosen.out is None:
        sys.stdout.write(text)
        return 0
    try:
        chosen.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{chosen.out}: cannot be written ({error})") from None
    sys.stdout.write(f"wrote {len(words)} words to {chosen.out}\n")
    return 0


def _corpus(name: str) -> tuple[str, str]:
    """Return the name and the text of a corpus."""
    if name == _HUMANEVAL:
        from pytest_promptse.tasks import humaneval  # noqa: PLC0415

        return name, "\n".join(task.prompt for task in humaneval.tasks())
    try:
        return name, Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{name}: cannot be read ({error}); check the path") from None


def _scores(chosen: argparse.Namespace) -> Iterator[Score]:
    from pytest_promptse.psychometrics.csi._published import (  # noqa: PLC0415 - `--help` is quick
        read_administrations,
    )
    from pytest_promptse.psychometrics.csi._scoring import score, top_words  # noqa: PLC0415
    from pytest_promptse.psychometrics.csi._words import load_words  # noqa: PLC0415

    if chosen.words_per_prompt is not None and chosen.words_per_prompt < 1:
        raise SettingsError("csi score: --words-per-prompt is not positive")
    listed = load_words(chosen.words) if chosen.words else None
    for path in chosen.files:
        for data in read_administrations(
            path, words_per_prompt=chosen.words_per_prompt, words=listed
        ):
            top = top_words(data.codes, data.words, chosen.top) if chosen.top else {}
            scores = score(data.codes, data.batches)
            yield Score(
                title=f"{data.model}, {data.language}: {scores.n_words} words x {scores.n_runs} "
                "runs",
                blocks=_blocks(data, scores, top),
                row=_json_row(data, scores, top),
            )


def _blocks(
    data: Administration, scores: CsiScores, top: dict[str, tuple[str, ...]]
) -> list[Block]:
    table = table_of(
        "scores",
        "Scores",
        FIGURES,
        col("figure", "figure", str, "text"),
        col("value", "value", lambda name: _digits(getattr(scores, name).value), "text"),
        col(
            "95 %",
            "ci95",
            lambda name: ", ".join(map(_digits, getattr(scores, name).ci95 or ())),
            "text",
        ),
    )
    lines = []
    if data.reread is not None:
        same = float((data.reread == data.codes).mean())
        lines.append(f"the raw responses, read by number and word, give {same:.2%} same labels")
    lines += [f"{kind}: {count}" for kind, count in sorted(data.problems.items())]
    if data.validity is not None:
        stories = data.validity
        lines.append(
            f"stories: r = {short(stories.per_story)} per story, {short(stories.per_group)} per "
            f"group ({stories.n_stories} stories, {stories.n_unrated} unrated)"
        )
    lines += [f"{name}: {', '.join(words)}" for name, words in top.items()]
    return [table, Listing(title="", text="\n".join(lines))] if lines else [table]


def _digits(value: float | None) -> str:
    """Return a figure with the digits that the authors publish."""
    return NOT_MEASURED if value is None else f"{value:.4f}"


def _json_row(
    data: Administration, scores: CsiScores, top: dict[str, tuple[str, ...]]
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "source": data.source,
        "model": data.model,
        "language": data.language,
        "n_words": scores.n_words,
        "n_runs": scores.n_runs,
    }
    for name in FIGURES:
        estimate: CsiEstimate = getattr(scores, name)
        row[name] = estimate.value
        row[f"{name}_ci95"] = estimate.ci95
    row["problems"] = dict(data.problems)
    if data.reread is not None:
        row["reread_agreement"] = float((data.reread == data.codes).mean())
    if data.validity is not None:
        row["stories"] = msgspec.to_builtins(data.validity)
        del row["stories"]["group_means"]
    if top:
        row["top"] = top
    return row
