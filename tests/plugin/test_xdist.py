"""The controller of xdist shares the run with its workers, and reports for them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_promptse.plugin import _session, _xdist
from pytest_promptse.plugin._invocation import REFUSAL, run_id


@pytest.fixture
def controller(monkeypatch, tmp_path):
    """Join two workers to a controller, and return its configuration and the workers."""

    def controller(**flags):
        plugins, signals = {}, []
        config = SimpleNamespace(
            rootpath=tmp_path,
            inipath=None,
            stash=pytest.Stash(),
            args=[],
            invocation_params=SimpleNamespace(args=[], dir=tmp_path),
            getoption=flags.get,
            getini=lambda _: None,
            pluginmanager=SimpleNamespace(
                has_plugin=plugins.__contains__,
                getplugin=lambda _: None,
                register=lambda plugin, name=None: plugins.setdefault(name, plugin),
            ),
            plugins=plugins,
            signals=signals,
        )
        monkeypatch.setattr(_xdist, "handle_signals", signals.append)
        nodes = [SimpleNamespace(config=config, workerinput={}) for _ in range(2)]
        for node in nodes:
            _xdist.join_run(node)
        return config, nodes

    return controller


def test_all_workers_are_part_of_the_run_of_the_controller(controller):
    config, nodes = controller()
    assert [node.workerinput for node in nodes] == [{"promptse_run": run_id(config)}] * 2
    assert len(config.plugins) == 1
    assert config.signals == []


def test_a_controller_with_a_model_shows_progress_and_handles_signals_once(controller):
    config, _ = controller(promptse_model=["reference"])
    assert len(config.plugins) == 2
    assert config.signals == [config]
    config, _ = controller(promptse_seed="1")
    assert len(config.plugins) == 1


def test_the_report_of_an_item_opens_the_session(controller, monkeypatch):
    opened = []
    monkeypatch.setattr(_session, "promptse_session", opened.append)
    config, _ = controller()
    [plugin] = config.plugins.values()
    plugin.pytest_runtest_logreport(SimpleNamespace())
    assert opened == []
    plugin.pytest_runtest_logreport(SimpleNamespace(promptse=""))
    assert opened == [config]


def test_a_worker_that_cannot_start_is_a_usage_error(controller):
    config, _ = controller()
    [plugin] = config.plugins.values()
    plugin.pytest_testnodedown(SimpleNamespace())
    plugin.pytest_testnodedown(SimpleNamespace(workeroutput={}))
    with pytest.raises(pytest.UsageError, match=r"^no key$"):
        plugin.pytest_testnodedown(SimpleNamespace(workeroutput={REFUSAL: "no key"}))
