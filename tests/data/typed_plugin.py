"""A third party's plugin with every hook, which mypy checks against the installed package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_promptse.config import Metric, TaskOutcomes
from pytest_promptse.instruments import (
    AnswerLog,
    FigureRecord,
    Instrument,
    InstrumentRecord,
    Measurement,
    Probe,
    SuitePlace,
    SuiteSettings,
)
from pytest_promptse.models import Capabilities, Completion, Response, Usage
from pytest_promptse.record import encode
from pytest_promptse.variants import Rewriter, WritingModel, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse import Record
    from pytest_promptse.models import Backend, ModelOptions, Request
    from pytest_promptse.variants import Ask, Finding, RewriteRequest


class Echo:
    """A backend that returns the prompt."""

    concurrency = 1

    def __init__(self, name: str) -> None:
        self.spec = f"echo:{name}"
        self.identity: Mapping[str, str] = {"backend": "echo", "model": name}

    async def start(self) -> Capabilities:
        return Capabilities(form="chat", logprobs=None, seeded=True)

    async def complete(self, request: Request) -> Response:
        completion = Completion(index=request.first, text=request.prompt.user)
        return Response(completions=(completion,), usage=Usage(requests=1))

    async def close(self) -> None:
        return None


class Louder(Rewriter):
    """A rewriter that adds a mark."""

    name = "louder"
    version = "1"
    has_persona = False

    def candidates(self, request: RewriteRequest) -> Generator[str, Sequence[Finding], None]:
        for number in range(1, 10):
            yield request.task.prompt + "!" * number


class Sighing(Rewriter):
    """A rewriter whose first sentence is a model's."""

    name = "sighing"
    version = "1"
    model = WritingModel(spec="echo:sigh", max_requests=2)

    def candidates(self, request: RewriteRequest) -> Generator[Ask | str, Any, None]:
        while True:
            answer = yield from ask("Sigh, in one sentence.")
            yield f"{answer}\n\n{request.task.prompt}"


def write_bytes(record: Record, path: Path) -> None:
    """Write the record as JSON."""
    path.write_bytes(b"".join(encode(record)))


def pytest_promptse_backend(name: str, model: str, options: ModelOptions) -> Backend | None:
    del options
    return Echo(model) if name == "echo" else None


def pytest_promptse_rewriter(spec: str) -> Rewriter | None:
    return {"louder": Louder(), "sighing": Sighing()}.get(spec)


def pytest_promptse_report(kind: str) -> Callable[[Record, Path], None] | None:
    return write_bytes if kind == "bytes" else None


def pytest_promptse_candidates() -> Sequence[str]:
    return ["candidates/*.j2"]


def _worst_rate(task: TaskOutcomes) -> Any:
    return task.variants.rates.min(axis=-1)


def pytest_promptse_metrics() -> Sequence[Metric]:
    return [Metric(name="worst_rate", label="worst rate", figure=_worst_rate)]


class ManySettings(SuiteSettings, frozen=True, kw_only=True):
    """The settings of `Many`."""

    min_words: int | None = None


@dataclass(frozen=True, kw_only=True)
class ManySuite(Measurement):
    """Counts the words of one response."""

    @property
    def probes(self) -> Sequence[Probe]:
        return [self.probe("ask", "once", "Say something.")]

    def read(self, probe: Probe, completion: Completion) -> str:
        return f"{probe.id}: {len(completion.text)} characters"

    def result(self, answers: Mapping[str, Completion]) -> InstrumentRecord:
        words = sum(len(completion.text.split()) for completion in answers.values())
        figures = [FigureRecord(name="words", label="words", value=words)]
        return self.record(AnswerLog(), heading="", brief=f"{words} words", figures=figures)


class Many(Instrument):
    """An instrument that counts words."""

    name = "many"
    title = "Words"
    settings = ManySettings

    def plan(self, settings: ManySettings, place: SuitePlace) -> Measurement:
        return ManySuite(instrument=self, place=place, settings=settings)


def pytest_promptse_instruments() -> Sequence[Instrument]:
    return [Many()]


def pytest_promptse_names(kind: Literal["backend", "rewriter", "report"]) -> Sequence[str]:
    return {"backend": ["echo"], "rewriter": ["louder", "sighing"], "report": ["bytes"]}[kind]
