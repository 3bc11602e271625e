"""The plugin's entry point: options, the marker, the fixtures and the first hooks.

Every pytest session loads this module, so it imports nothing beyond pytest and the standard
library. The first ``promptse`` mark or suite file registers `PromptseSession`, which has all other
hooks.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_promptse._suggestions import nearest
from pytest_promptse.config._groups import GATES, grouped_options, title_of
from pytest_promptse.config._options import OPTIONS, add_metric, remove_metric
from pytest_promptse.errors import PromptseError, SettingsError
from pytest_promptse.plugin._fixtures import candidate, program, task
from pytest_promptse.plugin._invocation import (
    BAD_MARKS,
    NO_MODEL,
    given_settings,
    instrument_of,
)
from pytest_promptse.plugin._pytest_ini import ini_names

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from pathlib import Path

    from pytest_promptse.config._metrics import Metric
    from pytest_promptse.config._option import Option

__all__ = ["candidate", "program", "task"]

_MARK = (
    "promptse(prompt_or_tasks, *, entry_point=None, reference=None, **settings): send a model the "
    "prompt and variants of it in other emotions and personalities, check every program that it "
    "writes with this test, and fail if elasticity or AUC-E is below a threshold."
)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    for title, options in grouped_options().items():
        group = parser.getgroup(title)
        for option in options:
            _add_option(parser, group, option)
    added = _AddedMetrics(parser)
    pluginmanager.register(added, "promptse-metrics")
    # Historic: the metrics of plugins and conftest.py files that are loaded later are added then.
    pluginmanager.hook.pytest_promptse_metrics.call_historic(result_callback=added.add)


class _AddedMetrics:
    """Adds the metrics of other plugins, and removes them at the end of the session."""

    def __init__(self, parser: pytest.Parser) -> None:
        self._parser = parser
        self._metrics: list[Metric] = []
        self._is_configured = False

    def add(self, metrics: Iterable[Metric]) -> None:
        group = self._parser.getgroup(title_of(GATES))
        for metric in metrics:
            if self._is_configured:
                raise pytest.UsageError(
                    f"the metric {metric.name!r} was added after pytest had read its options; move "
                    "the hook to the conftest.py of the root directory"
                )
            try:
                option = add_metric(metric)
            except SettingsError as error:
                raise pytest.UsageError(str(error)) from None
            self._metrics.append(metric)
            if option is not None:
                _add_option(self._parser, group, option)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self) -> None:
        self._is_configured = True

    def pytest_unconfigure(self) -> None:
        for metric in self._metrics:
            remove_metric(metric)


def _add_option(parser: pytest.Parser, group: pytest.OptionGroup, option: Option) -> None:
    attributes: dict[str, Any] = {"dest": option.ini, "default": None, "help": option.full_help}
    if option.is_switch:
        attributes["action"] = "store_true"
    else:
        attributes["metavar"] = option.metavar
        attributes["action"] = "append" if option.repeatable else "store"
    group.addoption(option.flag, **attributes)
    if not option.flag_only:
        kind: Literal["linelist", "string"] = "linelist" if option.repeatable else "string"
        parser.addini(option.ini, option.help.replace("%%", "%"), type=kind, default=None)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from pytest_promptse import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)
    _check_ini_file(config)
    settings = {option.ini for option in OPTIONS.values()}
    for name in ini_names(config):
        if name.startswith("promptse_") and name not in settings:
            hint = nearest(name, [option.ini for option in OPTIONS.values()])
            raise pytest.UsageError(f"{config.inipath}: {name!r} is not a setting{hint}")
    try:
        given = given_settings(config)
        if given.any_given:
            from pytest_promptse.plugin._preflight import check_settings

            check_settings(config, given)
            if given.settings.dry_run and hasattr(config.option, "dist"):
                # A dry run only collects. Each of xdist's workers would print the same plan.
                # xdist reads its options after this hook.
                config.option.dist, config.option.tx, config.option.numprocesses = "no", [], 0
    except PromptseError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if not {"candidate", "program"}.isdisjoint(metafunc.fixturenames) or _is_marked(
        metafunc.definition
    ):
        from pytest_promptse.plugin._collection import parametrise

        parametrise(metafunc)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.name.endswith((".promptse.yaml", ".promptse.yml")):
        from pytest_promptse.plugin._collection import SuiteFileCollector

        return SuiteFileCollector.from_parent(parent, path=file_path)
    instrument = instrument_of(parent.config, file_path)
    if instrument is None:
        return None
    from pytest_promptse.plugin._instruments import InstrumentFile

    return InstrumentFile.from_parent(parent, path=file_path, instrument=instrument)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Report all marks of a module that cannot be used, and not only the first one."""
    report = yield
    if report.passed and BAD_MARKS in collector.stash:
        problems = [*collector.stash[BAD_MARKS].values(), *_problems_of_classes(report.result)]
        report.outcome, report.longrepr, report.result = "failed", "\n".join(problems), []
    return report


def _problems_of_classes(nodes: Iterable[pytest.Item | pytest.Collector]) -> Iterator[str]:
    """Collect the classes of a module that cannot be used, and yield their errors."""
    for node in nodes:
        if isinstance(node, pytest.Class):
            with suppress(pytest.Collector.CollectError):
                inner = list(node.collect())
                yield from node.stash.get(BAD_MARKS, {}).values()
                yield from _problems_of_classes(inner)


def pytest_itemcollected(item: pytest.Item) -> None:
    if _is_marked(item):
        from pytest_promptse.plugin._collection import set_target

        set_target(item)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    from pytest_promptse.plugin._xdist import join_run

    join_run(node)


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Show the pass rate or the gate's figure in verbose output, also in xdist controllers."""
    word = getattr(report, "promptse", None)
    if word is None or report.when != "call" or report.outcome != "passed":
        return None
    if hasattr(report, "wasxfail"):
        # An expected failure that passed.
        return None
    return "passed", ".", word


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say why tests are skipped, which pytest shows with ``-rs`` only."""
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and report.longrepr[-1] == f"Skipped: {NO_MODEL}"
    ]
    if skipped:
        tests = "1 test is" if len(skipped) == 1 else f"{len(skipped)} tests are"
        terminalreporter.write_line(f"{NO_MODEL} ({tests} skipped)")


def _check_ini_file(config: pytest.Config) -> None:
    """Raise an error if the value of an option made pytest look for its ini file elsewhere.

    pytest looks for the file before it knows the options of plugins. It takes a value that is a
    word of its own, and the name of a file, for the path of a test.
    """
    option = config.option
    if hasattr(config, "workerinput") or option.inifilename or option.rootdir:
        return
    here = config.invocation_params.dir.resolve()
    arguments = [str(argument) for argument in config.invocation_params.args]
    valued = {option.flag for option in OPTIONS.values() if not option.is_switch}
    for flag, value in pairwise(arguments):
        path = (here / value).resolve()
        if flag not in valued or path.is_relative_to(here) or not path.exists():
            continue
        folder = config.inipath.parent.resolve() if config.inipath is not None else None
        if folder is None or (path.is_relative_to(folder) and not here.is_relative_to(folder)):
            raise pytest.UsageError(
                f"{flag}: pytest takes {value} for the path of a test and does not read the ini "
                f"file of this folder; write {flag}={value}"
            )


def _is_marked(node: pytest.Item) -> bool:
    return node.get_closest_marker("promptse") is not None
