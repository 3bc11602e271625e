"""Error rates of the judge of variants, also beside a second judge that always says yes.

Usage: ``python benchmarks/variant_judge.py [--failures]``. Prints Markdown tables for the texts in
``variant_judge.yaml``, which lies beside this file. Its result is in ``docs/explanation/judge.md``.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from pytest_promptse.variants._library import Library
from pytest_promptse.variants.invariance._judge import Judge

if TYPE_CHECKING:
    from pytest_promptse.variants.invariance._finding import Finding

LIBRARY = Library.load()
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
    n: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for entry in texts["prompts"]:
        prompt = entry["text"]
        edits = [(kind, edit) for change in entry["changes"] for kind, edit in change.items()]
        edits += [("exchanged word", edit) for edit in entry["exchanges"]]
        for kind, edit in edits:
            found = findings(prompt, edited(prompt, edit))
            n[kind] += 1
            refused[kind] += bool(found)
            kept[kind] += not is_cleared(found)
            if show and (
                not found or (is_cleared(found) and kind not in ("word", "exchanged word"))
            ):
                print(f"{kind}: {edit}: {'cleared' if found else 'missed'}")
    print("| change | of | found | still found beside a second judge that always says yes |")
    print("|---|---|---|---|")
    for kind in sorted(n):
        print(f"| {kind} | {n[kind]} | {refused[kind]} | {kept[kind]} |")
    print(f"| **all** | {n.total()} | {refused.total()} | {kept.total()} |")
    english = [entry["text"] for entry in texts["prompts"] if entry["text"].isascii()]
    print("\n| sentence beside a prompt | of | refused |\n|---|---|---|")
    for name, title, wrong in (
        ("hidden", "asks for something more", False),
        ("talk", "asks for nothing", True),
        ("hidden_second", "asks for something more, second set", False),
        ("talk_second", "asks for nothing, second set", True),
    ):
        sentences = [
            (english[number % len(english)], sentence)
            for number, sentence in enumerate(texts[name])
        ]
        results = [findings(prompt, beside(prompt, sentence)) for prompt, sentence in sentences]
        print(f"| {title} | {len(results)} | {sum(map(bool, results))} |")
        for (_, sentence), found in zip(sentences, results, strict=True):
            if show and bool(found) is wrong:
                print(f"{name}: {sentence}: {'; '.join(map(str, found))}")


if __name__ == "__main__":
    main()
