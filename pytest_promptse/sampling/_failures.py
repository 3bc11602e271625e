"""Failures of a run, shared by all of its processes through the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.errors import BudgetError, ModelError, NotScoredError
from pytest_promptse.sandbox.guest.unpatched import json, time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_promptse.models._base import TransientError
    from pytest_promptse.sampling._job import Job
    from pytest_promptse.store._store import Store

_KIND = "failure"
_ATTEMPT_KIND = "failed-attempt"
_CLASSES = {"BudgetError": BudgetError, "ModelError": ModelError}


class FailureLog:
    """Reasons why completions are missing: for a variant, for a model, or for the whole run."""

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self._run = run

    def add(self, error: NotScoredError, *, key: str = "", model: str = "") -> None:
        """Record a failure of the variant `key`, of `model`, or of the run if both are empty.

        The notes of the error are stored as well.
        """
        kind = "BudgetError" if isinstance(error, BudgetError) else "ModelError"
        note = json.dumps([kind, str(error), getattr(error, "__notes__", [])]).encode()
        self._store.put(self._run, _KIND, _name(key, model), note)

    def add_attempt(self, error: TransientError) -> None:
        """Record an attempt that failed. The request may be sent again."""
        note = json.dumps([time.time(), str(error)]).encode()
        self._store.put(self._run, _ATTEMPT_KIND, "last", note)

    def last_attempt(self, *, within: float) -> str | None:
        """Return the error of the last attempt that failed in the last `within` seconds."""
        value = self._store.get(self._run, _ATTEMPT_KIND, "last")
        if value is None:
            return None
        at, message = json.loads(value)
        return message if time.time() - at <= within else None

    def find(self, *, key: str = "", model: str) -> NotScoredError | None:
        """Return the failure that affects the variant `key` of `model`, or `model` itself.

        The result is None if there is none. Without `key` only failures of models are searched.
        """
        names = [_name("", model), _name("", "")]
        if key:
            names.insert(0, _name(key, ""))
        for name in names:
            value = self._store.get(self._run, _KIND, name)
            if value is not None:
                kind, message, notes = json.loads(value)
                failure = _CLASSES[kind](message)
                for note in notes:
                    failure.add_note(note)
                return failure
        return None

    def without_failed(self, jobs: Iterable[Job]) -> list[Job]:
        """Return those `jobs` that have not failed in this run."""
        failed = {name for name, _ in self._store.scan(self._run, _KIND)}
        return [
            job
            for job in jobs
            if failed.isdisjoint((_name(job.key, ""), _name("", job.model), _name("", "")))
        ]


def _name(key: str, model: str) -> str:
    if key:
        return f"variant {key}"
    return f"model {model}" if model else "run"
