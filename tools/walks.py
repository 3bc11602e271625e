"""Count the modules that three values pass on their way through the package.

Usage: ``python tools/walks.py [--check]``

Three walks are traced while a real run takes place (one marked test, the ``replay`` backend, an
HTML, a Markdown and a JSON report):

- *prompt*: from the mark to the reports, modules in which a function receives or returns the
  prompt's text or an object that holds it;
- *completion*: from the backend to the record's file, modules in which a function receives or
  returns the completion's text or an object that contains it. The reports that are made from the
  record afterwards belong to the walk of the prompt;
- *flag*: from the command line to its use, modules in which a function receives or returns the
  option's value, and modules that read it from the resolved settings.

Each walk is printed as its modules, in the order in which they first receive the value. With
``--check`` the exit code is 1 if a walk is longer than its bound.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import io
import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "pytest_promptse"

# docs/architecture.md names these bounds and explains them.
BOUNDS = {"prompt": 60, "completion": 14, "flag": 8}

PROMPT = "quokkas"
COMPLETION = "xylophonist"
FLAG = "0.12345"
# The function whose return ends the walk of the completion.
RECORD_WRITTEN = ("record/_files", "write")
OPTION = "min_auc_e"
TEST = f"""
import pytest

@pytest.mark.promptse(
    "Write `step(n: int) -> int` that returns n plus one. It counts {PROMPT}.",
    samples=2, original_samples=2, variants=1,
)
def test_step(candidate):
    assert candidate(1) == 2
"""
PROGRAM = f"def step(n):\n    # {COMPLETION}\n    return n + 1\n"

# Depth and width of the search in a value. Plain objects (a store, a session) are not searched,
# since they contain everything of a run.
_DEPTH = 6
_WIDTH = 64


def holds(value: object, marker: str, depth: int = _DEPTH) -> bool:
    """Return whether a plain value, or a dataclass or struct around it, contains `marker`."""
    match value:
        case str():
            return marker in value
        case bytes():
            return marker.encode() in value
        case float():
            return repr(value) == marker
        case _ if depth == 0:
            return False
        case dict():
            parts: Iterable[object] = list(value.values())[:_WIDTH]
        case tuple() | list() | set() | frozenset():
            parts = list(value)[:_WIDTH]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value)]
            parts = [getattr(value, name, None) for name in names]
        case msgspec.Struct():
            parts = [getattr(value, name) for name in value.__struct_fields__]
        case _:
            return False
    return any(holds(part, marker, depth - 1) for part in parts)


class Tracer:
    """Record, in order, the modules whose functions receive or return a value with a marker."""

    def __init__(self, markers: dict[str, str]) -> None:
        self.markers = markers
        self.walks: dict[str, list[str]] = {name: [] for name in markers}
        self._prefix = str(PACKAGE) + os.sep
        self._ended: set[str] = set()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        file = frame.f_code.co_filename
        if not file.startswith(self._prefix) or event not in {"call", "return"}:
            return
        module = file[len(self._prefix) : -len(".py")]
        code = frame.f_code
        if event == "call":
            count = code.co_argcount + code.co_kwonlyargcount
            names = code.co_varnames[: count + bool(code.co_flags & 12)]
            values = [frame.f_locals.get(name) for name in names]
        else:
            values = [argument]
        for walk, marker in self.markers.items():
            found = self.walks[walk]
            if walk in self._ended or module in found:
                continue
            if any(holds(value, marker) for value in values):
                found.append(module)
        if event == "return" and (module, code.co_name) == RECORD_WRITTEN:
            self._ended.add("completion")


def trace() -> dict[str, list[str]]:
    """Run pytest on one marked test and return the modules of each walk."""
    tracer = Tracer({"prompt": PROMPT, "completion": COMPLETION, "flag": FLAG})
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("test_step.py").write_text(TEST, encoding="utf-8")
        command = ["-q", "-p", "no:cacheprovider", "--promptse-model", "replay:answers.jsonl"]
        _write_answers()
        output = io.StringIO()
        threading.setprofile(tracer)
        sys.setprofile(tracer)
        try:
            with contextlib.redirect_stdout(output):
                code = pytest.main(
                    [
                        *command,
                        f"--promptse-{OPTION.replace('_', '-')}",
                        FLAG,
                        *("--promptse-report", "json:run.json"),
                        *("--promptse-report", "html:run.html"),
                        *("--promptse-report", "md:run.md"),
                    ]
                )
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        if code != 0:
            raise SystemExit(f"the traced run ended with {code}:\n{output.getvalue()}")
    walks = tracer.walks
    walks["flag"] = _until_use(walks["flag"])
    return walks


def _write_answers() -> None:
    """Write a replay file with one program as the answer to the original and every variant."""
    with contextlib.redirect_stdout(io.StringIO()) as listed:
        # A separate store, since the traced run must make the variants itself.
        command = ["-q", "--collect-only", "-p", "no:cacheprovider", "--promptse-store", "listed"]
        pytest.main([*command, "--promptse-model", "tiny"])
    ids = [
        line.partition("[")[2].rstrip("]")
        for line in listed.getvalue().splitlines()
        if line.startswith("test_step.py::")
    ]
    text = f"```python\n{PROGRAM}```\n"
    lines = [
        json.dumps({"task_id": "test_step", "variant_id": name, "index": index, "text": text})
        for name in ids
        for index in range(2)
        if name == "original" or name.startswith("d0.")
    ]
    Path("answers.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _until_use(walk: list[str]) -> list[str]:
    """Keep the modules that handle the raw or parsed option, and add those that read it."""
    readers = [
        str(path.relative_to(PACKAGE))[: -len(".py")]
        for path in sorted(PACKAGE.rglob("*.py"))
        if any(
            isinstance(node, ast.Attribute)
            and node.attr == OPTION
            and isinstance(node.value, ast.Name | ast.Attribute)
            and getattr(node.value, "id", getattr(node.value, "attr", "")) == "settings"
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        )
    ]
    handlers = [module for module in walk if module.startswith(("plugin/", "config/"))]
    return handlers + [module for module in readers if module not in handlers]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 where a walk is too long")
    check = parser.parse_args().check
    too_long = False
    for name, walk in trace().items():
        print(f"{name}: {len(walk)} modules, at most {BOUNDS[name]}")
        for module in walk:
            print(f"  {module}")
        too_long |= len(walk) > BOUNDS[name]
    return int(check and too_long)


if __name__ == "__main__":
    sys.exit(main())
