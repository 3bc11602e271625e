"""Shares of real changes that the judge finds, and of faithful paraphrases that it accepts.

Usage: ``python benchmarks/judge.py [--failures] [SET ...]``. Prints a Markdown table for each test
set in ``tests/variants/invariance``, with one line for each kind of change and paraphrase.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "variants" / "invariance"
sys.path.insert(0, str(FOLDER.parents[1] / "helpers"))

from judged_texts import Case, cases  # type: ignore[import-not-found]  # noqa: E402 - lies beside the tests

from pytest_promptse.variants._library import Library  # noqa: E402
from pytest_promptse.variants.invariance._judge import Judge  # noqa: E402


def right(case: Case) -> bool:
    """Return whether the judge's decision on `case` is correct."""
    found = Judge(case.prompt, Library.load()).findings(case.text)
    return bool(found) is bool(case.change)


def table(found: list[tuple[Case, bool]]) -> str:
    """Return the rates of each kind as a Markdown table."""
    lines = []
    for change, title in ((True, "real changes found"), (False, "faithful paraphrases accepted")):
        kinds: dict[str, list[bool]] = defaultdict(list)
        for case, correct in found:
            if case.change == change:
                kinds[case.kind].append(correct)
        every = [correct for group in kinds.values() for correct in group]
        lines += ["", f"| {title} | of | share |", "|---|---|---|"]
        for kind, group in sorted(kinds.items(), key=lambda pair: (-len(pair[1]), pair[0])):
            lines.append(f"| {kind}: {sum(group)} | {len(group)} | {sum(group) / len(group):.0%} |")
        lines.append(f"| **all: {sum(every)}** | {len(every)} | {sum(every) / len(every):.1%} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help="names of sets; all of them by default")
    parser.add_argument("--failures", action="store_true", help="print what was decided wrongly")
    chosen = parser.parse_args()
    for name in chosen.sets or sorted(path.stem for path in FOLDER.glob("*_set.yaml")):
        found = [(case, right(case)) for case in cases(FOLDER / f"{name}.yaml")]
        prompts = len({case.prompt for case, _ in found})
        print(f"\n## {name}: {prompts} prompts\n{table(found)}")
        for case, correct in found if chosen.failures else ():
            if not correct:
                findings = "; ".join(
                    map(str, Judge(case.prompt, Library.load()).findings(case.text))
                )
                what = "missed" if case.change else "rejected"
                print(f"{what} [{case.topic}/{case.kind}] {case.edit!r}: {findings}")


if __name__ == "__main__":
    main()
