"""Collection of psychometric suite files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_promptse.errors import PromptseError, SettingsError
from pytest_promptse.plugin._collection import NO_MODEL
from pytest_promptse.plugin._psychometric_items import PsychometricItem, plan_file
from pytest_promptse.plugin._session import promptse_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_promptse.psychometrics._suite import Measurement, Probe, PsychometricGate


class PsychometricFile(pytest.File):
    """A ``*.csi.yaml``, ``*.emotionbench.yaml`` or ``*.manipulation.yaml`` file."""

    def collect(self) -> Iterator[pytest.Item]:
        session = promptse_session(self.config)
        try:
            suites = plan_file(self.path, session.run, self.nodeid) if session.has_models else []
        except SettingsError as error:
            raise self.CollectError(f"{self.path.name}: {error}") from None
        except PromptseError as error:
            raise self.CollectError(str(error)) from None
        if not suites:
            item = self._item("suite", None, "")
            item.add_marker(pytest.mark.skip(reason=NO_MODEL))
            yield item
        for suite in suites:
            model = f"{suite.model}-" if len(suites) > 1 else ""
            for probe in suite.probes:
                yield self._item(f"{probe.group}[{model}{probe.id}]", suite, probe)
            for stage in suite.stages:
                yield self._item(f"{stage}[{model}all]", suite, stage)
            for gate in suite.gates:
                yield self._item(f"{gate.scope or 'suite'}[{model}{gate.name}]", suite, gate)

    def _item(
        self, name: str, suite: Measurement | None, subject: Probe | PsychometricGate | str
    ) -> PsychometricItem:
        item: PsychometricItem = PsychometricItem.from_parent(
            self,
            name=name,
            # A plain str, so that the node id equals the one that --lf has stored.
            nodeid=f"{self.nodeid}::{name}",
            suite=suite,
            subject=subject,
            run=promptse_session(self.config).run,
        )
        return item
