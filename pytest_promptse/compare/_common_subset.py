"""The common subset of entries: tasks, distances and variants of all, scored in one mode.

Everything else is left out, and a note names it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_promptse.errors import RecordError
from pytest_promptse.record._comparison import DECISIVE, recorded
from pytest_promptse.scoring._pairing import RecordedTask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_promptse.compare._entry import ComparedEntry, TaskKey
    from pytest_promptse.record._schema import TaskRecord
    from pytest_promptse.scoring._samples import Mode
    from pytest_promptse.store._measured_variant import VariantRecord

_NAMES_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class CommonSubset:
    """The tasks, distances and variants that all entries contain.

    ``shared_ids`` has the ids of the variants of a task that every entry measured. It is None for a
    task if the entries share no variant at one of the distances, for example because variants were
    made again between two runs. Each entry then keeps its own variants of the task. ``mode`` is the
    mode in which all entries are scored.
    """

    entries: tuple[ComparedEntry, ...]
    tasks: tuple[TaskKey, ...]
    distances: tuple[float, ...]
    mode: Mode
    shared_ids: Mapping[TaskKey, frozenset[str] | None]
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """The title: the number of models or entries."""
        entries, models = len(self.entries), len({entry.model for entry in self.entries})
        if models == entries:
            return f"{entries} models side by side"
        return f"{entries} entries of {_counted(models, 'model')} side by side"

    def variants(self, entry: ComparedEntry, key: TaskKey) -> list[VariantRecord]:
        """Return the variants of a task that belong to the subset.

        `entry` is one compared model, and `key` is the suite id and task id. Variants at other
        distances, or whose id some entry lacks, are left out.
        """
        ids = self.shared_ids[key]
        return [
            variant
            for variant in entry.tasks[key].variants
            if variant.distance in self.distances and (ids is None or variant.id in ids)
        ]

    def recorded(self, entry: ComparedEntry, key: TaskKey, *, mode: Mode) -> RecordedTask:
        """Return a task with the scores of `mode`.

        `key` is the suite id and task id. In mode ``light`` the scores are pass rates, else
        SoftExec. Variants that have no such score are left out.
        """
        light = mode == "light"
        variants = {v.id: recorded(v, light=light) for v in self.variants(entry, key)}
        return RecordedTask(
            task_id=key[1],
            original=recorded(entry.originals[key], light=light),
            variants={name: variant for name, variant in variants.items() if variant is not None},
        )


def common_subset_of(entries: Sequence[ComparedEntry]) -> CommonSubset:
    """Return the tasks, distances and variants that all `entries` have.

    Parameters
    ----------
    entries
        The records to compare, at least two.

    Raises
    ------
    RecordError
        If the entries have no task or no distance in common.
    """
    tasks = [key for key in entries[0].tasks if all(key in other.tasks for other in entries[1:])]
    if not tasks:
        raise RecordError(
            f"no task is in all records: {_list_suites(entries)}; compare runs of the same tests"
        )
    distances = sorted(
        set.intersection(
            *({v.distance for key in tasks for v in e.tasks[key].variants} for e in entries)
        )
    )
    if not distances:
        listed = "; ".join(f"{e.label} {_list_distances(e, tasks)}" for e in entries)
        raise RecordError(
            f"no distance is in all records: {listed}; compare runs with the same distances"
        )
    shared_ids = {key: _shared([entry.tasks[key] for entry in entries], distances) for key in tasks}
    same = _scored_alike(entries, tasks)
    return CommonSubset(
        entries=tuple(entries),
        tasks=tuple(tasks),
        distances=tuple(distances),
        mode="promptse" if same else "light",
        shared_ids=shared_ids,
        notes=tuple(_notes(entries, tasks, distances, shared_ids, scored_alike=same)),
    )


def _shared(tasks: Sequence[TaskRecord], distances: Sequence[float]) -> frozenset[str] | None:
    """Return the ids of variants that all tasks have, or None if a distance then has no variant.

    `tasks` are the records of one task, one per entry; `distances` are the compared distances. A
    distance that every entry measured must keep at least one variant.
    """
    ids = frozenset.intersection(*(frozenset(v.id for v in task.variants) for task in tasks))
    left = {v.distance for v in tasks[0].variants if v.id in ids}
    measured = set.intersection(*({v.distance for v in task.variants} for task in tasks))
    return ids if left >= measured & set(distances) else None


def _scored_alike(entries: Sequence[ComparedEntry], tasks: Sequence[TaskKey]) -> bool:
    used = {key[0] for key in tasks}
    suites = [suite for entry in entries for id_, suite in entry.suites.items() if id_ in used]
    return {suite.mode for suite in suites} == {"promptse"} and len(
        {suite.weighting for suite in suites}
    ) == 1


def _notes(
    entries: Sequence[ComparedEntry],
    tasks: Sequence[TaskKey],
    distances: Sequence[float],
    shared_ids: Mapping[TaskKey, frozenset[str] | None],
    *,
    scored_alike: bool,
) -> Iterator[str]:
    everything = {key for entry in entries for key in entry.tasks}
    if len(everything) > len(tasks):
        names = _few(sorted({key[1] for key in everything - set(tasks)}))
        yield (
            f"compared over the {_counted(len(tasks), 'task')} that all have; "
            f"{len(everything) - len(tasks)} left out: {names}"
        )
    measured = {v.distance for e in entries for k in tasks for v in e.tasks[k].variants}
    if measured > set(distances):
        listed = ", ".join(f"{d:g}" for d in distances)
        yield f"compared over the distances that all have: {listed}"
    anew = sum(ids is None for ids in shared_ids.values())
    if anew:
        yield (
            f"{_counted(anew, 'task')} with new variants between the records: each entry is scored "
            "over its own variants"
        )
    dropped = sum(
        variant.id not in ids
        for entry in entries
        for key in tasks
        if (ids := shared_ids[key]) is not None
        for variant in entry.tasks[key].variants
        if variant.distance in distances
    )
    if dropped:
        yield f"{_counted(dropped, 'variant')} left out that some entries lack"
    if not scored_alike and any(s.mode == "promptse" for e in entries for s in e.suites.values()):
        yield "the modes or weightings differ: compared by pass rates, as PromptSELight does"
    edited = [key[1] for key in tasks if _is_edited(entries, key)]
    if edited:
        yield f"prompts that are not the same in all: {_few(edited)}"
    for name, values in _differences(entries, tasks):
        listed = "; ".join(f"{value} ({_few(labels)})" for value, labels in values.items())
        yield f"not the same: {name} {listed}"
    lacking = {entry.label: sum(s.n_missing for s in entry.suites.values()) for entry in entries}
    partly = [f"{label} lacks {n}" for label, n in lacking.items() if n]
    if partly:
        yield f"variants that were not measured: {_few(partly)}"


def _is_edited(entries: Sequence[ComparedEntry], key: TaskKey) -> bool:
    prompts: dict[str | None, set[str]] = defaultdict(set)
    for entry in entries:
        if (original := entry.tasks[key].original) is not None:
            prompts[entry.template].add(original.text)
    return any(len(texts) > 1 for texts in prompts.values())


def _differences(
    entries: Sequence[ComparedEntry], tasks: Sequence[TaskKey]
) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield the name of each condition that differs between entries, with the values of each.

    The second item maps each value, as text, to the labels of the entries that have it. Only suites
    of `tasks` count.
    """
    used = {key[0] for key in tasks}

    def setting(name: str) -> Callable[[ComparedEntry], Any]:
        return lambda entry: ", ".join(
            sorted(
                {
                    str(suite.settings[name])
                    for id_, suite in entry.suites.items()
                    # An earlier release may not have recorded the setting.
                    if id_ in used and name in suite.settings
                }
            )
        )

    def attribute(name: str) -> Callable[[ComparedEntry], Any]:
        return lambda entry: ", ".join(
            sorted({str(getattr(s, name)) for id_, s in entry.suites.items() if id_ in used})
        )

    looked_at: dict[str, Callable[[ComparedEntry], Any]] = {
        name.replace("_", " "): setting(name) for name in (*DECISIVE, "aa")
    }
    for name in ("mode", "weighting"):
        looked_at[name] = attribute(name)
    looked_at["rewriter"] = lambda entry: entry.rewriters
    looked_at["pytest-promptse"] = lambda entry: entry.source.record.tool.get("version")
    for name, value in looked_at.items():
        values: dict[str, list[str]] = defaultdict(list)
        for entry in entries:
            if (condition := value(entry)) not in ("", None):
                values[str(condition)].append(entry.label)
        if len(values) > 1:
            yield name, dict(values)
    yield from _identities(entries)
    yield from _templates(entries)


def _identities(entries: Sequence[ComparedEntry]) -> Iterator[tuple[str, dict[str, list[str]]]]:
    by_model: dict[str, list[ComparedEntry]] = defaultdict(list)
    for entry in entries:
        by_model[entry.model].append(entry)
    for model, of_model in by_model.items():
        identities = [
            (entry, next((m.identity for m in entry.source.record.models if m.spec == model), {}))
            for entry in of_model
        ]
        for key in sorted({key for _, identity in identities for key in identity}):
            values: dict[str, list[str]] = defaultdict(list)
            for entry, identity in identities:
                values[identity.get(key, "none")[:16]].append(entry.label)
            if len(values) > 1:
                yield f"{key} of {model}", dict(values)


def _templates(entries: Sequence[ComparedEntry]) -> Iterator[tuple[str, dict[str, list[str]]]]:
    by_template: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        for sha in sorted({s.template_sha256 for s in entry.suites.values() if s.template_sha256}):
            by_template[f"template {entry.template}"][sha[:12]].append(entry.label)
    yield from ((name, values) for name, values in by_template.items() if len(values) > 1)


def _list_suites(entries: Sequence[ComparedEntry]) -> str:
    by_suites: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for entry in entries:
        by_suites[tuple(dict.fromkeys(suite for suite, _ in entry.tasks))].append(entry.label)
    return "; ".join(f"{_few(labels)} has {_few(suites)}" for suites, labels in by_suites.items())


def _list_distances(entry: ComparedEntry, tasks: Sequence[TaskKey]) -> str:
    distances = sorted({v.distance for key in tasks for v in entry.tasks[key].variants})
    return ", ".join(f"{d:g}" for d in distances) or "none"


def _few(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join([*names[:_NAMES_SHOWN], *([f"{more} more"] if more > 0 else [])])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
