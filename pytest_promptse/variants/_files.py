"""Variants in files: JSON Lines by data set, task and distance, readable without this package."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_promptse.errors import VariantError
from pytest_promptse.variants._variant import Variant, text_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_promptse.tasks._task import Task

ORIGINAL = "original.json"
_SAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, kw_only=True)
class Original:
    """The contents of ``original.json``: the task of the variants in the same folder.

    ``entry_point`` is the name of the function, and ``prompt`` the original text.
    """

    task_id: str
    entry_point: str
    prompt: str


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A variant with its file and its line, counted from 1."""

    variant: Variant
    path: Path
    line: int

    @property
    def place(self) -> str:
        """``path:line``."""
        return f"{self.path}:{self.line}"


def folder_of(root: Path, task_id: str) -> Path:
    """Return the folder of a task: ``HumanEval/0`` is ``root/HumanEval/0``.

    A task whose id names no data set is in the folder ``tasks``. Characters that some file systems
    do not allow are replaced. The name then gets six digits of its hash, so that it stays unique.
    """
    dataset, _, name = task_id.rpartition("/")
    return root / _safe(dataset or "tasks") / _safe(name)


def template_folder(root: Path, task_id: str) -> Path:
    """Return the root folder of the variants of prompt templates with a task.

    It has a folder for each template, named like that of a task by `folder_of`. Every task has its
    own variants of a template.
    """
    return folder_of(root, task_id) / "templates"


def _safe(name: str) -> str:
    safe = _SAFE.sub("-", name).strip(".-")
    digits = hashlib.sha256(name.encode()).hexdigest()[:6]
    return safe if safe == name else f"{safe}-{digits}"


def write(root: Path, task: Task, variants: Sequence[Variant]) -> list[Path]:
    """Write `variants` of `task` below `root`, in a file ``d0.1.jsonl`` for each distance.

    A file of the same distance is replaced. Return the written paths, ``original.json`` first.
    """
    folder = folder_of(root, task.id)
    folder.mkdir(parents=True, exist_ok=True)
    original = Original(task_id=task.id, entry_point=task.entry_point, prompt=task.prompt)
    written = [folder / ORIGINAL]
    content = {**asdict(original), "sha256": text_hash(task.prompt)}
    _put(written[0], json.dumps(content, ensure_ascii=False, indent=2) + "\n")
    return [*written, *write_variants(folder, variants)]


def write_variants(folder: Path, variants: Sequence[Variant]) -> list[Path]:
    """Write the variants of a task into its folder, a file for each distance."""
    written = []
    for distance in sorted({variant.distance for variant in variants}):
        path = folder / f"d{distance:g}.jsonl"
        chosen = [variant for variant in variants if variant.distance == distance]
        lines = (json.dumps(_record(variant), ensure_ascii=False) for variant in chosen)
        _put(path, "".join(f"{line}\n" for line in lines))
        written.append(path)
    return written


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _record(variant: Variant) -> dict[str, Any]:
    return {"id": variant.id, **msgspec.structs.asdict(variant)}


def read_original(folder: Path) -> Original:
    """Return the contents of ``original.json`` in `folder`.

    Raise VariantError if it is unusable.
    """
    path = folder / ORIGINAL
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        return Original(
            task_id=fields["task_id"], entry_point=fields["entry_point"], prompt=fields["prompt"]
        )
    except FileNotFoundError:
        raise VariantError(
            f"{folder}: no {ORIGINAL} beside the variants; make them with 'promptse variants make'"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise VariantError(f"{path}: not the record of an original ({error})") from None


def read(folder: Path) -> Iterator[Stored]:
    """Yield the variants in the folder of one task, by distance and line.

    Raises
    ------
    VariantError
        If a line is not a variant. The message names file and line.
    """
    for path in sorted(folder.glob("d*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if line.strip():
                yield Stored(variant=_variant(line, f"{path}:{number}"), path=path, line=number)


def _variant(line: str, place: str) -> Variant:
    try:
        return msgspec.json.decode(line, type=Variant)
    except msgspec.DecodeError as error:
        raise VariantError(f"{place}: not a variant: {error}") from None


def folders(root: Path) -> list[Path]:
    """Return the folders below `root` that contain a task, sorted."""
    if not root.is_dir():
        raise VariantError(f"{root}: no such folder; make it with: promptse variants make")
    return sorted(path.parent for path in root.rglob(ORIGINAL))


def load_frozen(root: Path, task: Task) -> tuple[Variant, ...]:
    """Return the variants of `task` that were frozen below `root`, by distance and index.

    Raises
    ------
    VariantError
        If there are none, if the original has changed since, or if a line is not a variant.
    """
    folder = folder_of(root, task.id)
    if not folder.is_dir():
        raise VariantError(
            f"task {task.id!r}: no variants in {folder}; make them with 'promptse variants "
            "freeze', and those of a prompt template with its --template"
        )
    now = text_hash(task.prompt)
    variants = []
    for stored in read(folder):
        if stored.variant.original != now:
            raise VariantError(
                f"{stored.place}: the original of task {task.id!r} has changed since its variants "
                "were made; freeze them again, or put the prompt back"
            )
        if stored.variant.task_id != task.id:
            raise VariantError(
                f"{stored.place}: a variant of {stored.variant.task_id!r}, not of {task.id!r}"
            )
        variants.append(stored.variant)
    if not variants:
        raise VariantError(f"task {task.id!r}: the files in {folder} hold no variant")
    return tuple(sorted(variants, key=lambda variant: (variant.distance, variant.index)))
