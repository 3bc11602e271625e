"""The xdist controller: share the run with all workers and show their reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_promptse.plugin._invocation import REFUSAL, given_settings, run_id
from pytest_promptse.plugin._termination import handle_signals

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "promptse-controller"


def join_run(node: Any) -> None:
    """Make an xdist worker that is starting part of the controller's run."""
    config: pytest.Config = node.config
    node.workerinput["promptse_run"] = run_id(config)
    if config.pluginmanager.has_plugin(_NAME):
        return
    config.pluginmanager.register(XdistController(config), _NAME)
    given = given_settings(config)
    if given.any_given and given.settings.model:
        from pytest_promptse.plugin._progress import ControllerProgress

        config.pluginmanager.register(ControllerProgress(config, given.settings))
        # Workers end as well once the controller does, and close the store.
        handle_signals(config)


class XdistController:
    """Open the session in the controller, which collects nothing, once a worker reports an item.

    Parameters
    ----------
    config
        The configuration of the controller.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "promptse"):
            from pytest_promptse.plugin._session import promptse_session

            promptse_session(self._config)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Report a start-up failure as a usage error instead of as lost workers."""
        output: Mapping[str, Any] = getattr(node, "workeroutput", {})
        refusal = output.get(REFUSAL)
        if refusal is not None:
            raise pytest.UsageError(refusal)
