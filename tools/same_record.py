"""Compare two result records and print their differences.

Usage: ``python tools/same_record.py BEFORE.json AFTER.json``

Times, the environment, the state of the git repository, the invocation, and the paths of store and
reports are left out. They belong to a run and not to its results. The exit code is 1 if anything
else differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_A_RUN = ("started", "finished", "environment", "git", "invocation", "tool")
_PATHS = ("store", "report")
_MOST = 40


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Yield a line for each place at which two decoded records differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = before.keys() | after.keys()
        if path.endswith(".settings"):
            keys -= set(_PATHS)
        for key in sorted(keys):
            place = f"{path}.{key}"
            if key not in after:
                yield f"{place}: only before"
            elif key not in before:
                yield f"{place}: only after"
            else:
                yield from differences(before[key], after[key], place)
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{path}: {len(before)} entries before, {len(after)} after"
        for index, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from differences(one, other, f"{path}[{index}]")
    elif before != after:
        yield f"{path}: {json.dumps(before)[:80]} before, {json.dumps(after)[:80]} after"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    chosen = parser.parse_args()
    before, after = (
        {
            key: value
            for key, value in json.loads(path.read_text(encoding="utf-8")).items()
            if key not in _OF_A_RUN
        }
        for path in (chosen.before, chosen.after)
    )
    found = list(differences(before, after))
    for line in found[:_MOST]:
        print(line)
    if len(found) > _MOST:
        print(f"and {len(found) - _MOST} more")
    print("the same" if not found else f"{len(found)} differences")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
