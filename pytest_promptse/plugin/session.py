"""Between pytest's configuration and one run: made once a session, if it has anything to do."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from msgspec.structs import replace as altered

from pytest_promptse.compare.baseline import Baselines
from pytest_promptse.config.settings import check_names, resolve
from pytest_promptse.errors import (
    ModelError,
    NoBaselineError,
    PromptseError,
    RecordError,
    SettingsError,
)
from pytest_promptse.models.registry import ModelOptions, create_backend
from pytest_promptse.plugin.hooks import REFUSAL, bridge, run_id
from pytest_promptse.plugin.invocation import anchored_layers, anchored_values, invocation
from pytest_promptse.plugin.progress import Notes, Watch
from pytest_promptse.plugin.spot import SPOT
from pytest_promptse.reports.terminal.comparison import render_comparisons, shortfalls
from pytest_promptse.reports.terminal.summary import render
from pytest_promptse.reports.writers import WRITERS
from pytest_promptse.run.session import Run
from pytest_promptse.variants.generate import rewriter_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.config.settings import Settings
    from pytest_promptse.models.base import Backend
    from pytest_promptse.record.schema import Record
    from pytest_promptse.run.plan import Suite, Wording
    from pytest_promptse.store.run_log import SuiteKey
    from pytest_promptse.variants.generate import Rewriter
    from pytest_promptse.variants.library import Library

__all__ = ["Bridge", "bridge"]

_WORKER_GRACE_SECONDS = 30.0


class Bridge:
    """Holds the run of one pytest session."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.is_worker = hasattr(config, "workerinput")
        self._twins: dict[tuple[int, str], Suite] = {}
        self._headlines: list[str] = []
        self._refusal: str | None = None
        # An xdist controller has nothing to start, yet it is the one that reports.
        self._reports = bool(config.getoption("numprocesses", None)) and not self.is_worker
        self._record: Record | None = None
        self._problems: list[str] = []
        self._notices: list[str] = []
        self._shortfalls: list[str] = []
        self._baselines = Baselines(config.rootpath, here=config.invocation_params.dir)
        settings = resolve(anchored_layers(config))
        self.run = Run(
            settings,
            root=config.rootpath,
            id=run_id(config),
            backend=self._backend,
            rewriter=self._rewriter,
            waiting=(
                Notes(lambda: self.run.run_log)
                if self.is_worker
                else Watch(config, price=settings.price)
            ),
        )

    def _backend(self, spec: str) -> Backend:
        settings = self.run.settings
        options = ModelOptions(
            base_url=settings.base_url, api=settings.api, vllm_args=settings.vllm_args
        )
        name, _, model = spec.partition(":")
        found: Backend | None = self.config.hook.pytest_promptse_backend(
            name=name, model=model, options=options
        )
        return found or create_backend(spec, options)

    def _rewriter(self, spec: str, library: Library) -> Rewriter:
        found: Rewriter | None = self.config.hook.pytest_promptse_rewriter(spec=spec)
        return found or rewriter_named(spec, backend=self._backend, library=library)

    def suite_settings(
        self, keywords: Mapping[str, Any], *, where: Callable[[str], str], folder: Path
    ) -> Settings:
        """Return the run's settings with a mark's or suite file's own on top.

        `folder` is that of its file, from which it names templates.

        Raises
        ------
        SettingsError
            Naming the keyword and `where` it stands.
        """
        check_names(list(keywords), marker=True, where=where("settings").rpartition(",")[0])
        own = anchored_values(keywords, folder, self.config.rootpath)
        return resolve([(own, where), *anchored_layers(self.config)])

    @property
    def has_models(self) -> bool:
        """Whether there are models to plan for; one that cannot be had is refused by `start`."""
        try:
            for spec in self.run.settings.model:
                self.run.backend(spec).identity  # noqa: B018 - reads the model's files
        except (ModelError, SettingsError) as error:
            self._refusal = str(error)
            return False
        return bool(self.run.settings.model)

    def twin(self, suite: Suite, suite_id: str) -> Suite:
        """Return `suite` under another id, the same object every time."""
        key = (id(suite), suite_id)
        if key not in self._twins:
            self._twins[key] = replace(suite, id=suite_id)
        return self._twins[key]

    def start(self, items: Sequence[pytest.Item]) -> None:
        """Begin to sample what the selected items need.

        Raises
        ------
        pytest.UsageError
            If it is plain that this cannot be done.
        """
        if self._refusal is not None:
            self._refuse(self._refusal)
        if self.config.option.collectonly:
            return
        wanted: dict[tuple[SuiteKey, str], tuple[Suite, Wording]] = {}
        spots = [spot for item in items if (spot := item.stash.get(SPOT, None)) is not None]
        for spot in spots:
            for wording in spot.wordings():
                key = (spot.suite.key, wording.job.key)
                wanted.setdefault(key, (spot.suite, wording))
        if not wanted:
            return
        try:
            if self.run.settings.dry_run:
                lines = self.run.forecast(list(wanted.values()))
                self._headlines = [f"promptse would ask {line}" for line in lines]
                return
            gated = {spot.suite.key for spot in spots if spot.gate is not None}
            self.run.start(list(wanted.values()), alone=not self.is_worker, gated=gated)
            models = ", ".join(self.run.settings.model)
            self._headlines = [f"promptse: {models}; sandbox {self.run.sandbox.description}"]
            self._headlines += self.run.store.warnings
            bought = self.run.rewording_usage
            if bought.requests:
                self._headlines.append(
                    f"promptse: the wordings took {bought.requests} requests, "
                    f"{bought.prompt_tokens} + {bought.completion_tokens} tokens"
                )
            self._reports = not self.is_worker
        except PromptseError as error:
            self._refuse(str(error))

    def _refuse(self, reason: str) -> NoReturn:
        if self.is_worker:
            self.config.workeroutput[REFUSAL] = reason  # type: ignore[attr-defined]
        raise pytest.UsageError(reason) from None

    def headlines(self) -> list[str]:
        """Say which models are asked and where their programs run, or what a dry run would ask."""
        return self._headlines

    def finish(self, *, interrupted: bool) -> None:
        """Compare, write the reports that were asked for and save, once all items are done.

        A run that was `interrupted` takes no baseline's place.
        """
        if not self._reports:
            return
        record = self.run.record(invocation(self.config))
        if not record.suites:
            return
        self._record = compared = self._compared(record)
        for report in self.run.settings.report:
            kind, _, path = report.partition(":")
            write = self.config.hook.pytest_promptse_report(kind=kind) or WRITERS[kind]
            try:
                write(compared, self.config.invocation_params.dir / path)
            except PromptseError as error:
                self._problems.append(str(error))
        # What a run was compared with is no part of the baseline that it makes.
        self._save(record, interrupted=interrupted)
        self.run.forget()

    @property
    def fails(self) -> bool:
        """Whether the run must not succeed although every item may have passed."""
        return bool(self._shortfalls)

    def _compared(self, record: Record) -> Record:
        settings = self.run.settings
        if settings.compare is None:
            return record
        from pytest_promptse.record.comparison import compare_records  # noqa: PLC0415 - scipy

        try:
            baseline = self._baselines.load(settings.compare)
        except NoBaselineError as error:
            fatal = settings.compare_missing == "fail"
            (self._shortfalls if fatal else self._notices).append(str(error))
            return record
        except RecordError as error:
            self._shortfalls.append(str(error))
            return record
        found = compare_records(
            record, baseline, name=settings.compare, margins=settings.compare_fail
        )
        record = altered(record, comparisons=found)
        self._shortfalls += shortfalls(record, missing=settings.compare_missing)
        return record

    def _save(self, record: Record, *, interrupted: bool) -> None:
        name = self.run.settings.save
        if name is None:
            return
        if interrupted:
            self._notices.append(f"not saved as baseline {name!r}: the run was interrupted")
            return
        try:
            path = self._baselines.save(name, record)
        except RecordError as error:
            self._shortfalls.append(str(error))
            return
        shown = os.path.relpath(path, self.config.invocation_params.dir)
        said = f"saved as baseline {name!r} in {shown}"
        lacking = sum(suite.n_missing for suite in record.suites)
        if lacking:
            planned = sum(suite.n_wordings for suite in record.suites)
            said += f", without {lacking} of {planned} wordings, which were not measured"
        self._notices.append(said)

    def summarise(self, terminal: Any) -> None:
        """Print the summary."""
        if self._record is None:
            return
        terminal.section("promptse")
        text = render(
            self._record,
            width=terminal._tw.fullwidth,  # noqa: SLF001 - no public way
            colours=terminal._tw.hasmarkup,  # noqa: SLF001
            verbosity=self.config.option.verbose,
        )
        terminal.write_line(text)
        if self._record.environment.get("sandbox") == "none":
            terminal.write_line(f"sandbox {self.run.sandbox.description}", yellow=True)
        for problem in self._problems:
            terminal.write_line(problem, red=True)
        self._summarise_comparison(self._record, terminal)

    def _summarise_comparison(self, record: Record, terminal: Any) -> None:
        if record.comparisons:
            about = record.comparisons[0].baseline
            terminal.section(f"promptse: compared with {about.name}")
            text = render_comparisons(
                record.comparisons,
                width=terminal._tw.fullwidth,  # noqa: SLF001 - no public way
                colours=terminal._tw.hasmarkup,  # noqa: SLF001
                verbosity=self.config.option.verbose,
            )
            terminal.write_line(text)
        for notice in self._notices:
            terminal.write_line(f"promptse: {notice}", yellow=True)
        for shortfall in self._shortfalls:
            terminal.write_line(f"promptse: {shortfall}", red=True)

    def close(self) -> None:
        """Give back what the run holds."""
        # A worker that is done may be the one that samples for those that are not.
        self.run.close(grace=_WORKER_GRACE_SECONDS if self.is_worker else 0.0)
