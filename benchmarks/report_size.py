"""Size and writing time of the page of a HumanEval run.

    pytest --promptse-model reference example_suites/humaneval --promptse-report json:run.json
    python benchmarks/report_size.py run.json

The reference model gives every variant the same answer. So each sample gets its own program: the
reference with names, numbers and the order of some lines changed. Every second program fails. Real
models repeat themselves far more.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from random import Random
from time import perf_counter

import msgspec

from pytest_promptse.record._schema import Record, TaskRecord, decode
from pytest_promptse.reports.html._embedded_data import embed
from pytest_promptse.reports.html._html import render
from pytest_promptse.store._measured_variant import SampleRecord, VariantRecord

_SAMPLES = 8
_WORDS = [a + b for a in ("new", "cur", "my", "all", "the") for b in ("item", "val", "res", "tmp")]
_NAME = re.compile(r"\b[a-z_]{1,8}\b|\b\d+\b")


def another(program: str, rng: Random) -> str:
    """Return `program` as another sample might have written it."""
    lines = program.splitlines()
    for number in range(len(lines)):
        if rng.random() < 0.5:  # noqa: PLR2004 - every second line
            lines[number] = _NAME.sub(
                lambda m: rng.choice(_WORDS) if rng.random() < 0.3 else m[0],  # noqa: PLR2004
                lines[number],
            )
    return "\n".join(lines)


def spread(task: TaskRecord, rng: Random) -> TaskRecord:
    """Return `task` with a different program for each sample."""
    [program] = task.texts.values()
    texts: dict[str, str] = {}

    def own(variant: VariantRecord) -> list[SampleRecord]:
        samples = []
        for number in range(min(variant.n, _SAMPLES)):
            key = f"{rng.getrandbits(48):012x}"
            texts[key] = another(program, rng)
            failed = number % 2
            samples.append(
                SampleRecord(
                    n=1,
                    cause="wrong_answer" if failed else None,
                    detail=f"line {number}: assert candidate({rng.random()}) == {rng.random()}"
                    if failed
                    else "",
                    text=key,
                )
            )
        return samples

    variants = [msgspec.structs.replace(each, samples=own(each)) for each in task.variants]
    original = task.original and msgspec.structs.replace(task.original, samples=own(task.original))
    return msgspec.structs.replace(task, variants=variants, original=original, texts=texts)


def measure(name: str, record: Record) -> None:
    started = perf_counter()
    page = render(record)
    seconds = perf_counter() - started
    note = embed(record).note or "nothing left out"
    print(f"{name}: {len(page.encode()) / 1e6:.1f} MB in {seconds:.1f} s; {note}")


def main(path: str) -> None:
    record = decode(Path(path).read_bytes(), where=path)
    measure("as answered", record)
    rng = Random(0)  # noqa: S311 - nothing secret
    tasks = [spread(task, rng) for task in record.tasks]
    measure("every sample another program", msgspec.structs.replace(record, tasks=tasks))


if __name__ == "__main__":
    main(sys.argv[1])
