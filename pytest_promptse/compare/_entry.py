"""The entries of a study: one model with one prompt template in one run.

A record may contain several entries, and several records may contain the same entry at different
dates. All entries are reduced to their common tasks, distances and variants, and scored in one
mode.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pytest_promptse.errors import RecordError
from pytest_promptse.record._queries import series_of, tasks_of
from pytest_promptse.reports._escaping import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.record._schema import Record, SubgroupsRecord, SuiteRecord, TaskRecord
    from pytest_promptse.store._measured_variant import VariantRecord

TaskKey: TypeAlias = tuple[str, str]
"""Suite and task."""

SIZES = (("tiny", 3.0), ("small", 10.0), ("medium", 25.0), ("large", float("inf")))
"""Size groups with their upper limits (exclusive), in billions of parameters."""

_BILLIONS = re.compile(r"(?<![\w.])(?P<number>\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)
_WORD_BEFORE = re.compile(r"(?<=[a-z])(?=\d+(?:\.\d+)?b(?![a-z0-9]))", re.IGNORECASE)
# The family of the architecture is the last one in a name. The paper groups by architecture, so
# DeepSeek-R1-Distill-Qwen-7B belongs to Qwen.
_FAMILIES = ("qwen", "llama", "deepseek", "gpt", "claude", "gemini", "gemma", "mistral", "phi")
_ALIASES = {"codestral": "mistral", "mixtral": "mistral", "ds-coder": "deepseek"}


@dataclass(frozen=True, kw_only=True)
class NamedRecord:
    """A record with the path or name that the user gave, and its label, if any."""

    path: str
    record: Record
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class ComparedEntry:
    """One model with one prompt template in one run.

    ``size`` is in billions of parameters. ``size`` and ``family`` are None if neither the model's
    name nor the user gives them. ``tasks`` are those whose original was measured, and ``originals``
    has these originals.

    ``label`` is unique. ``source`` is the record of the run, and ``suites`` has its suites by id.
    ``subgroups`` is None if the record has none.
    """

    label: str
    model: str
    template: str | None
    source: NamedRecord
    family: str | None
    size: float | None
    suites: Mapping[str, SuiteRecord]
    tasks: Mapping[TaskKey, TaskRecord]
    originals: Mapping[TaskKey, VariantRecord]
    subgroups: SubgroupsRecord | None

    @property
    def size_group(self) -> str | None:
        """Size group of the model: ``tiny``, ``small``, ``medium`` or ``large`` (see `SIZES`)."""
        if self.size is None:
            return None
        return next(name for name, limit in SIZES if self.size < limit)

    @property
    def rewriters(self) -> str:
        """The rewriters of the entry's variants."""
        names = {v.rewriter for task in self.tasks.values() for v in task.variants}
        return ", ".join(sorted(names))


def entries_of(
    runs: Sequence[NamedRecord],
    *,
    families: Mapping[str, str] | None = None,
    sizes: Mapping[str, float] | None = None,
) -> list[ComparedEntry]:
    """Return the entries of all records in the order of `runs`, each with a unique label.

    Parameters
    ----------
    families, sizes
        Family and size (in billions of parameters) by model specification. They replace the values
        that the name of a model implies.

    Raises
    ------
    RecordError
        If a record has no measured task, or a named model is in no record.
    """
    entries: list[ComparedEntry] = []
    for given in runs:
        # From here on no text of a record can act on the terminal or the page.
        run = replace(given, record=escaped(given.record))
        record = run.record
        of_record = []
        for series in series_of(record):
            model, template = series
            tasks = {(t.suite, t.id): t for t in tasks_of(record, series) if t.original is not None}
            if not tasks:
                continue
            originals = {(t.suite, t.id): t.original for t in tasks.values() if t.original}
            subgroups = (v for v in record.subgroups if (v.model, v.template) == (model, template))
            of_record.append(
                ComparedEntry(
                    label="",
                    model=model,
                    template=template,
                    source=run,
                    family=(families or {}).get(model) or family_of(model),
                    size=(sizes or {}).get(model) or size_of(model),
                    suites={
                        s.id: s for s in record.suites if (s.model, s.template) == (model, template)
                    },
                    tasks=tasks,
                    originals=originals,
                    subgroups=next(subgroups, None),
                )
            )
        if not of_record:
            raise RecordError(f"{run.path} holds no task whose original prompt was measured")
        entries += of_record
    models = {entry.model for entry in entries}
    for model in [*(families or {}), *(sizes or {})]:
        if model not in models:
            raise RecordError(
                f"no record holds the model {model!r}; there are {', '.join(sorted(models))}"
            )
    return _labelled(entries)


def size_of(model: str) -> float | None:
    """Read billions of parameters from a model's name: 6.7 of ``deepseek-coder-6.7b``."""
    name = _WORD_BEFORE.sub("-", model.replace("_", "-"))
    sizes = _BILLIONS.findall(name)
    return float(sizes[0]) if sizes else None


def family_of(model: str) -> str | None:
    """Read the family from a model's name, such as ``qwen``, or None for an unknown one."""
    name = model.lower()
    family = next((family for family in _FAMILIES if family in name), None)
    return family or next((alias_of for alias, alias_of in _ALIASES.items() if alias in name), None)


def _labelled(entries: list[ComparedEntry]) -> list[ComparedEntry]:
    """Label entries by model and template.

    Entries with equal labels also get date, time and file.
    """
    plain = [_plain(entry) for entry in entries]
    dates = [entry.source.record.finished for entry in entries]
    longer = [
        plain,
        [f"{name} {date[:10]}" for name, date in zip(plain, dates, strict=True)],
        [f"{n} {d[:16].replace('T', ' ')}" for n, d in zip(plain, dates, strict=True)],
        [f"{name} {Path(e.source.path).stem}" for name, e in zip(plain, entries, strict=True)],
        [f"{name} {e.source.path}" for name, e in zip(plain, entries, strict=True)],
    ]
    labels = list(plain)
    for candidates in longer[1:]:
        counts = Counter(labels)
        again = {name for name, count in counts.items() if count > 1}
        labels = [
            candidate if label in again else label
            for label, candidate in zip(labels, candidates, strict=True)
        ]
    counts = Counter(labels)
    seen: Counter[str] = Counter()
    named = []
    for entry, label in zip(entries, labels, strict=True):
        seen[label] += 1
        unique = f"{label} ({seen[label]})" if counts[label] > 1 else label
        named.append(replace(entry, label=unique))
    return named


def _plain(entry: ComparedEntry) -> str:
    model = entry.model if entry.template is None else f"{entry.model} · {entry.template}"
    if entry.source.name is None:
        return model
    several = len({(s.model, s.template) for s in entry.source.record.suites}) > 1
    return f"{entry.source.name} · {model}" if several else entry.source.name
