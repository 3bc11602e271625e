"""Run pairs of a program and a check in one process and in the sandbox, and compare.

A file of ``pairs/`` has many pairs. ``=== name key=value`` begins a pair; the program follows, then
a line ``---`` and the statements of the check. ``entry`` names the entry point (default ``f``),
``limits`` changes limits, and ``expect`` is ``fail`` for a hostile program, or ``broken`` for a
check that the sandbox cannot carry out.
"""

from __future__ import annotations

import linecache
import sys
import traceback
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_promptse.errors import TaskError
from pytest_promptse.sandbox._causes import CheckEnded
from pytest_promptse.sandbox._limits import Limits

FOLDER = Path(__file__).parent / "pairs"


@dataclass(frozen=True, kw_only=True)
class Pair:
    name: str
    program: str
    check: str
    entry: str = "f"
    expect: str = "pass"
    limits: dict[str, float] = field(default_factory=dict)


def read_pairs(pattern: str) -> list[Pair]:
    pairs = []
    for path in sorted(FOLDER.glob(pattern)):
        for text in path.read_text().split("\n=== "):
            head, _, body = text.removeprefix("=== ").partition("\n")
            name, *words = head.split()
            settings: dict[str, Any] = dict(word.split("=", 1) for word in words)
            if "limits" in settings:
                parts = (part.split("=") for part in settings["limits"].split(","))
                settings["limits"] = {key: float(value) for key, value in parts}
            program, check = body.split("\n---\n")
            name = f"{path.stem}/{name}"
            pairs.append(Pair(name=name, program=program + "\n", check=check, **settings))
    return pairs


class Local:
    # The entry point of a program that runs here.

    @property
    def __doc__(self):  # type: ignore[override]
        return self._entry.__doc__

    def __init__(self, pair: Pair) -> None:
        self.module = types.ModuleType("program")
        sys.modules["program"] = self.module
        exec(compile(pair.program, "program.py", "exec"), self.module.__dict__)
        self._entry = self.module.__dict__[pair.entry]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._entry(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._entry, name)
        except AttributeError:
            return getattr(self.module, name)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._entry)

    def __iter__(self) -> Any:
        return iter(self._entry)

    def __len__(self) -> int:
        return len(self._entry)

    def __getitem__(self, key: Any) -> Any:
        return self._entry[key]

    def __contains__(self, item: Any) -> bool:
        return item in self._entry


def run_check(pair: Pair, candidate: Any) -> None:
    names = {"candidate": candidate, "pytest": pytest, "__name__": "check"}
    module = types.ModuleType("check")
    module.__dict__.update(names)
    sys.modules["check"] = module
    # As `Task` does it: the sandbox reads the source of a check.
    linecache.cache["check.py"] = (0, None, pair.check.splitlines(keepends=True), "check.py")
    exec(compile(pair.check, "check.py", "exec"), module.__dict__)


def judge(sandbox: Any, pair: Pair) -> tuple[str, str]:
    """Return pass, fail or broken (the check cannot be judged here), with the reason."""
    try:
        return _judge(sandbox, pair)
    except TaskError as error:
        return "broken", str(error)


def _judge(sandbox: Any, pair: Pair) -> tuple[str, str]:
    limits = Limits(**{"wall": 10.0, "cpu": 10.0, **pair.limits})
    with sandbox.load(pair.program, entry_point=pair.entry, limits=limits) as candidate:
        try:
            run_check(pair, candidate)
        except CheckEnded as ended:
            candidate.raised(ended)
            verdict = "fail", str(ended)
        except (Exception, pytest.fail.Exception) as error:
            candidate.raised(error)
            line = [
                f.lineno
                for f in traceback.extract_tb(error.__traceback__)
                if f.filename == "check.py"
            ]
            verdict = "fail", f"line {line[-1:]} {type(error).__name__}: {error}"
        else:
            verdict = "pass", ""
    failure = candidate.failure
    return verdict if failure is None else ("fail", f"{failure.cause}: {failure.detail}")


def run_here() -> list[str]:
    """Return the failures of the honest pairs, run in this process."""
    failed = []
    for pair in read_pairs("*.txt"):
        # The programs replace the standard streams of the process.
        if pair.expect == "pass" and not pair.name.startswith("environment"):
            try:
                run_check(pair, Local(pair))
            except BaseException as error:
                failed.append(f"{pair.name}: {type(error).__name__}: {error}")
    return failed


if __name__ == "__main__":
    if "--here" in sys.argv:
        found = run_here()
    else:
        from pytest_promptse.sandbox._isolation import open_sandbox

        words = [word for word in sys.argv[1:] if not word.startswith("-")]
        found = []
        with open_sandbox("bwrap", workers=1) as pool:
            for one in read_pairs("*.txt"):
                if not words or any(word in one.name for word in words):
                    outcome, reason = judge(pool, one)
                    if outcome != one.expect:
                        found.append(f"{one.name}: {outcome} {reason[:300]}")
    print("\n".join(found) or "all as expected")
    sys.exit(bool(found))
