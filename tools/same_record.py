"""Compare two result records and print their differences.

Usage: ``python tools/same_record.py BEFORE.json AFTER.json [--renamed OLD=NEW] [--new-fields]``

Times, the environment, the state of the git repository, the invocation, and the paths of store and
reports are left out. They belong to a run and not to its results. The exit code is 1 if anything
else differs. Differences at the same place of several entries are counted together.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_A_RUN = ("started", "finished", "environment", "git", "invocation", "tool")
_PATHS = ("store", "report")
ONLY_AFTER = "only after"


def renamed(value: Any, names: dict[str, str]) -> Any:
    """Return a decoded record with other names of fields."""
    if isinstance(value, dict):
        return {names.get(key, key): renamed(child, names) for key, child in value.items()}
    return [renamed(child, names) for child in value] if isinstance(value, list) else value


def differences(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each place at which two decoded records differ, and how they do."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = before.keys() | after.keys()
        if path.endswith(".settings"):
            keys -= set(_PATHS)
        for key in sorted(keys):
            place = f"{path}.{key}"
            if key not in after:
                yield place, "only before"
            elif key not in before:
                yield place, ONLY_AFTER
            else:
                yield from differences(before[key], after[key], place)
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield path, f"{len(before)} entries before, {len(after)} after"
        for ours, theirs in zip(before, after, strict=False):
            yield from differences(ours, theirs, f"{path}[]")
    elif before != after:
        yield path, f"{json.dumps(before)[:80]} before, {json.dumps(after)[:80]} after"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument(
        "--renamed", action="append", default=[], metavar="OLD=NEW", help="a field with a new name"
    )
    parser.add_argument("--new-fields", action="store_true", help="accept fields only after")
    chosen = parser.parse_args()
    names = dict(pair.split("=", 1) for pair in chosen.renamed)
    before, after = (
        {
            key: value
            for key, value in json.loads(path.read_text(encoding="utf-8")).items()
            if key not in _OF_A_RUN
        }
        for path in (chosen.before, chosen.after)
    )
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for place, difference in differences(renamed(before, names), after):
        if not (chosen.new_fields and difference == ONLY_AFTER):
            counts[place] += 1
            examples.setdefault(place, difference)
    for place, count in counts.items():
        print(f"{count} at {place}: {examples[place]}")
    print("the same" if not counts else f"{counts.total()} differences at {len(counts)} places")
    return int(bool(counts))


if __name__ == "__main__":
    sys.exit(main())
