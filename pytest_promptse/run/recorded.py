"""The whole record of a run, put together from its stations."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_promptse import __version__
from pytest_promptse.models.base import token_cost
from pytest_promptse.record.ranking import rank_templates
from pytest_promptse.record.schema import SCHEMA, EmotionRecord, ModelRecord, Record, UsageRecord
from pytest_promptse.run.provenance import environment, git_state
from pytest_promptse.run.record_builder import errors_of, suites_of, templates_of
from pytest_promptse.run.rows import plain_settings
from pytest_promptse.store.run_log import CachedRow, LookRow

if TYPE_CHECKING:
    from pytest_promptse.models.base import Usage
    from pytest_promptse.record.schema import InvocationRecord
    from pytest_promptse.run.session import Run


def record_of(run: Run, invocation: InvocationRecord) -> Record:
    """Return what `run` has found so far, whichever process measured it."""
    quadrants = {name: emotion.quadrant for name, emotion in run.emotions.items()}
    suites, tasks, voices = suites_of(run.run_log, run.scores, quadrants)
    # Of several processes the first to look saw least of what this run itself has asked for.
    cached = min((row.cached for row in run.run_log.rows(CachedRow)), default=0)
    cached += sum(row.cached for row in run.run_log.rows(LookRow))
    price = run.settings.price
    record = Record(
        schema=SCHEMA,
        tool={"name": "pytest-promptse", "version": __version__},
        started=run.started.isoformat(timespec="seconds"),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        environment={**environment(), "sandbox": run.sandbox.isolation_level},
        git=git_state(run.root),
        invocation=invocation,
        settings=plain_settings(run.settings),
        models=[_model(run, spec) for spec in run.settings.model],
        templates=templates_of(run.run_log),
        suites=suites,
        tasks=tasks,
        voices=voices,
        usage=_usage(run.store.usage(run.id), cached=cached, price=price),
        rewording=_usage(run.store.usage(run.rewording_id), cached=0, price=price),
        errors=errors_of(run.run_log),
        emotions={
            name: EmotionRecord(valence=emotion.valence, arousal=emotion.arousal)
            for name, emotion in run.emotions.items()
        },
    )
    return replace(record, rankings=rank_templates(record))


def _usage(usage: Usage, *, cached: int, price: tuple[float, float] | None) -> UsageRecord:
    return UsageRecord(
        requests=usage.requests,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost=price and token_cost(price, usage.prompt_tokens, usage.completion_tokens),
        cached=cached,
    )


def _model(run: Run, spec: str) -> ModelRecord:
    identity = dict(run.backend(spec).identity)
    capabilities = run.store.capabilities(identity)
    return ModelRecord(
        spec=spec,
        identity=identity,
        capabilities=asdict(capabilities) if capabilities else None,
    )
