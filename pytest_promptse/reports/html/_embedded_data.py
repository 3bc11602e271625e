"""The embedded data of the HTML report: every variant with its samples, compressed.

The size of the data is limited, since pages are sent by mail and kept as artefacts. If the data is
too large, programs are left out in steps, and the page names the step.
"""

from __future__ import annotations

import gzip
import json
import zlib
from base64 import b64encode
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_promptse.variants._word_diff import word_diff

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_promptse.record._schema import Record, TaskRecord
    from pytest_promptse.store._measured_variant import SampleRecord, VariantRecord

LIMIT_BYTES = 4_500_000
"""Limit of the embedded data, for pages of up to 6 MB with tables and figures."""

_KINDS = {"same": 0, "gone": 1, "new": 2}
_THINNED = (
    None,
    "To keep this file small it holds the programs of failed samples only.",
    "To keep this file small it holds one failed program of each variant only.",
    "To keep this file small it holds no programs.",
)


class EmbeddedData(NamedTuple):
    """Gzipped JSON in Base64, and a sentence about what was left out.

    ``note`` is None if nothing was left out.
    """

    data: str
    note: str | None


def embed(record: Record, *, limit: int = LIMIT_BYTES) -> EmbeddedData:
    """Compress the variants of `record` into at most `limit` bytes, if possible.

    Fewer details are embedded, step by step, until the data fits. The last step is used even if it
    does not fit.
    """
    differences = [
        zlib.compress(json.dumps(_differences(task)).encode(), level=1) for task in record.tasks
    ]
    for level in range(len(_THINNED)):
        data = b64encode(_compressed(record.tasks, differences, level)).decode()
        if len(data) <= limit:
            break
    return EmbeddedData(data, _THINNED[level])


def _compressed(tasks: Iterable[TaskRecord], differences: Iterable[bytes], level: int) -> bytes:
    """Compress the tasks one by one, since all of them together may be large.

    `differences` has, for each task, the differences of its texts as JSON compressed by zlib. A
    higher `level` leaves out more details (see ``_THINNED``). The result is gzipped JSON.
    """
    output = BytesIO()
    with gzip.GzipFile(fileobj=output, mode="wb", mtime=0) as file:
        file.write(b"[")
        for number, (task, compressed) in enumerate(zip(tasks, differences, strict=True)):
            shown = _task_data(task, json.loads(zlib.decompress(compressed)), level)
            file.write(b"," if number else b"")
            file.write(json.dumps(shown, separators=(",", ":")).encode())
        file.write(b"]")
    return output.getvalue()


def _differences(task: TaskRecord) -> list[list[list[Any]]]:
    """Return the word diff of each variant to the original, or its text if there is no original."""
    before = task.original.text if task.original else None
    differences = [[[_KINDS["same"], before]]] if before is not None else []
    for variant in task.variants:
        if before is None:
            differences.append([[_KINDS["same"], variant.text]])
            continue
        differences.append([[_KINDS[kind], text] for kind, text in word_diff(before, variant.text)])
    return differences


def _task_data(task: TaskRecord, differences: list[list[list[Any]]], level: int) -> dict[str, Any]:
    variants: list[VariantRecord] = [task.original] if task.original else []
    variants += task.variants
    shown = [_thinned(variant.samples, level) for variant in variants]
    used = {sample.text for samples in shown for sample in samples}
    return {
        "id": task.id,
        "suite": task.suite,
        "model": task.model,
        "template": task.template,
        "texts": {key: text for key, text in task.texts.items() if key in used},
        "variants": [
            {
                **_variant_data(variant),
                "difference": difference,
                "samples": [[s.n, s.cause, s.detail, s.text] for s in samples],
            }
            for variant, difference, samples in zip(variants, differences, shown, strict=True)
        ],
    }


def _thinned(samples: Sequence[SampleRecord], level: int) -> Sequence[SampleRecord]:
    failed = [sample for sample in samples if sample.cause is not None]
    return (samples, failed, failed[:1], ())[level]


def _variant_data(variant: VariantRecord) -> dict[str, Any]:
    return {
        "id": variant.id,
        "distance": variant.distance,
        "emotion": variant.emotion,
        "personality": variant.personality,
        "rewriter": variant.rewriter,
        "n": variant.n,
        "rate": variant.pass_rate,
        "score": variant.score,
        "ess": variant.ess,
        "causes": variant.causes,
        "details": variant.details,
        "excess": variant.excess,
        "measured": variant.measured_distance,
        "added": variant.added_share,
        "length": variant.length_ratio,
        "cues": variant.cues,
        "p": variant.p_adjusted,
    }
