"""Collection of the files of instruments' suites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_promptse.errors import PromptseError, SettingsError
from pytest_promptse.plugin._instrument_items import InstrumentItem, planned
from pytest_promptse.plugin._invocation import NO_MODEL
from pytest_promptse.plugin._session import promptse_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.instruments._measurement import (
        FigureGate,
        Instrument,
        Measurement,
        Probe,
    )


class InstrumentFile(pytest.File):
    """A file of an instrument's suite."""

    def __init__(self, *, instrument: Instrument, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._instrument = instrument
        self._session = promptse_session(self.config)

    def collect(self) -> Iterator[pytest.Item]:
        run, suites = self._session.run, []
        try:
            if self._session.has_models:
                suites = planned(self._instrument, self.path, run, self.nodeid)
        except SettingsError as error:
            raise self.CollectError(f"{self.path.name}: {error}") from None
        except PromptseError as error:
            raise self.CollectError(str(error)) from None
        if not suites:
            item = self._item("suite", None, "")
            item.add_marker(pytest.mark.skip(reason=NO_MODEL))
            yield item
        for suite in suites:
            model = f"{suite.place.model}-" if len(suites) > 1 else ""
            for probe in suite.probes:
                yield self._item(f"{probe.group}[{model}{probe.id}]", suite, probe)
            for stage in suite.stages:
                yield self._item(f"{stage}[{model}all]", suite, stage)
            for gate in suite.gates:
                yield self._item(f"{gate.scope or 'suite'}[{model}{gate.name}]", suite, gate)

    def _item(
        self, name: str, suite: Measurement | None, subject: Probe | FigureGate | str
    ) -> InstrumentItem:
        item: InstrumentItem = InstrumentItem.from_parent(
            self,
            name=name,
            # A plain str, so that the node id equals the one that --lf has stored.
            nodeid=f"{self.nodeid}::{name}",
            suite=suite,
            subject=subject,
            run=self._session.run,
        )
        return item
