"""Error rates of the judge of variants, also beside a second judge that always says yes.

Usage: ``python benchmarks/variant_judge.py [--failures]``. Prints Markdown tables for the texts in
``variant_judge.yaml``, which lies beside this file. Its result is in ``docs/explanation/judge.md``.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from pytest_promptse.variants._language import language_of
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants.invariance._judge import Judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_promptse.variants.invariance._finding import Finding

LIBRARY = load_library()
TEXTS = Path(__file__).with_suffix(".yaml")


def edited(prompt: str, edit: str) -> str:
    """Return `prompt` with the edit "old => new", whatever the line breaks in "old".

    Raises
    ------
    ValueError
        If the prompt does not have the old words.
    """
    old, _, new = edit.partition(" => ")
    pattern = r"\s+".join(map(re.escape, old.split()))
    text, number = re.subn(pattern, lambda _: new, prompt, count=1)
    if not number:
        raise ValueError(f"{old!r} is not in the prompt {prompt!r}")
    return text


def beside(prompt: str, sentence: str) -> str:
    """Return `prompt` with a sentence in front of it, or in a comment above a stub."""
    return f"# {sentence}\n{prompt}" if prompt.startswith("def ") else f"{sentence}\n\n{prompt}"


def findings(prompt: str, text: str) -> tuple[Finding, ...]:
    """Return the findings of the rules."""
    return Judge(prompt, LIBRARY).findings(text)


def is_cleared(found: tuple[Finding, ...]) -> bool:
    """Return whether a second judge that says yes to everything would accept the text."""
    return all(finding.questions for finding in found)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--failures", action="store_true", help="print what was decided wrongly")
    show = parser.parse_args().failures
    texts = yaml.safe_load(TEXTS.read_text(encoding="utf-8"))
    for name in ("prompts", "prompts_second"):
        print(f"\n{name}\n")
        print_changes(texts[name], show=show)
    english = [entry["text"] for entry in texts["prompts"] if entry["text"].isascii()]
    chinese = [
        entry["text"]
        for name in ("prompts", "prompts_second")
        for entry in texts[name]
        if language_of(entry["text"]) == "zh"
    ]
    print("\n| added sentences | number | rejected | of these, a second judge may accept |")
    print("|---|---|---|---|")
    for name, prompts, title, wrong in (
        ("hidden", english, "with an additional request", False),
        ("talk", english, "without a request", True),
        ("hidden_second", english, "with an additional request, second set", False),
        ("talk_second", english, "without a request, second set", True),
        ("hidden_third", english, "with an additional request, third set", False),
        ("talk_third", english, "without a request, third set", True),
        ("hidden_fourth", english, "with an additional request, fourth set", False),
        ("talk_fourth", english, "without a request, fourth set", True),
        ("hidden_chinese", chinese, "with an additional request, Chinese", False),
        ("talk_chinese", chinese, "without a request, Chinese", True),
    ):
        sentences = [
            (prompts[number % len(prompts)], sentence)
            for number, sentence in enumerate(texts[name])
        ]
        results = [findings(prompt, beside(prompt, sentence)) for prompt, sentence in sentences]
        doubted = sum(bool(found) and is_cleared(found) for found in results)
        print(f"| {title} | {len(results)} | {sum(map(bool, results))} | {doubted} |")
        for (_, sentence), found in zip(sentences, results, strict=True):
            if show and bool(found) is wrong:
                print(f"{name}: {sentence}: {'; '.join(map(str, found))}")


def print_changes(entries: Iterable[Mapping[str, Any]], *, show: bool) -> None:
    """Print the table of changes, and with `show` what was decided wrongly."""
    n: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for entry in entries:
        prompt = entry["text"]
        edits = [(kind, edit) for change in entry["changes"] for kind, edit in change.items()]
        edits += [("replaced word", edit) for edit in entry["exchanges"]]
        for kind, edit in edits:
            found = findings(prompt, edited(prompt, edit))
            n[kind] += 1
            refused[kind] += bool(found)
            kept[kind] += not is_cleared(found)
            if show and (
                not found or (is_cleared(found) and kind not in ("word", "replaced word"))
            ):
                print(f"{kind}: {edit}: {'left to a second judge' if found else 'missed'}")
    print("| change | number | rejected | final |")
    print("|---|---|---|---|")
    for kind in sorted(n):
        print(f"| {kind} | {n[kind]} | {refused[kind]} | {kept[kind]} |")
    print(f"| **all** | {n.total()} | {refused.total()} | {kept.total()} |")


if __name__ == "__main__":
    main()
