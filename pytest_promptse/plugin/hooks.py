"""The pytest door: options, marker, fixtures and hooks.

Loaded in every pytest session, so nothing beyond pytest and the standard library is imported
here; a run's machinery is loaded when the first ``promptse`` mark or suite file is met.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from pytest_promptse.config.options import OPTIONS
from pytest_promptse.errors import NoBaselineError, RecordError, SettingsError, TaskError, nearest

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from pytest_promptse.plugin.session import Bridge
    from pytest_promptse.tasks.task import Task

BRIDGE: pytest.StashKey[Bridge] = pytest.StashKey()
RUN_ID: pytest.StashKey[str] = pytest.StashKey()
REFUSAL = "promptse_refusal"
REPORTS = ("json", "html", "md", "github", "csv")
MARK = (
    "promptse(prompt_or_tasks, *, entry_point=None, reference=None, **settings): ask a model for "
    "code under emotion and personality wordings of a prompt, check every answer with this test, "
    "and fail where elasticity or AUC-E falls below a threshold."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("promptse", "promptse: stability of code models under wording")
    for option in OPTIONS.values():
        attributes: dict[str, Any] = {"dest": option.ini, "default": None, "help": option.help}
        if option.is_switch:
            attributes["action"] = "store_true"
        else:
            attributes["metavar"] = option.metavar
            attributes["action"] = "append" if option.repeatable else "store"
        group.addoption(option.flag, **attributes)
        if not option.flag_only:
            text = option.help.replace("%%", "%")
            if option.repeatable:
                parser.addini(option.ini, text, type="linelist", default=None)
            else:
                parser.addini(option.ini, text, type="string", default=None)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from pytest_promptse import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARK)
    # Public as `inicfg` until pytest 9, which names no successor for reading the keys alone.
    for name in config._inicfg if hasattr(config, "_inicfg") else config.inicfg:  # noqa: SLF001
        if name.startswith("promptse_") and name.removeprefix("promptse_") not in OPTIONS:
            hint = nearest(name, [option.ini for option in OPTIONS.values()])
            raise pytest.UsageError(f"{config.inipath}: {name!r} is no setting{hint}")
    given = layers(config)
    if not any(values for values, _ in given):
        return
    from pytest_promptse.config.settings import resolve

    try:
        settings = resolve(given)
        for spec in settings.model:
            _check_model(config, spec)
        for report in settings.report:
            _check_report(config, report)
        if settings.compare is not None:
            _check_baseline(config, settings.compare)
        if settings.template:
            _check_templates(config)
    except (SettingsError, RecordError, TaskError) as error:
        raise pytest.UsageError(str(error)) from None


def _check_model(config: pytest.Config, spec: str) -> None:
    from pytest_promptse.models.registry import BACKENDS, ModelOptions, split_spec

    name, _, model = spec.partition(":")
    if (
        name in BACKENDS
        or config.hook.pytest_promptse_backend(name=name, model=model, options=ModelOptions())
        is None
    ):
        split_spec(spec)


def _check_report(config: pytest.Config, report: str) -> None:
    kind = report.partition(":")[0]
    if config.hook.pytest_promptse_report(kind=kind) is not None:
        return
    if kind == "html":
        from pytest_promptse.reports.html.html import check_installed

        check_installed()
    if kind not in REPORTS:
        known = ", ".join(REPORTS)
        raise SettingsError(
            f"--promptse-report {report}: there is no report {kind!r}{nearest(kind, REPORTS)}; "
            f"there are {known}"
        )


def _check_baseline(config: pytest.Config, name_or_path: str) -> None:
    """Refuse an unusable baseline before anything is paid for; one that is missing may come."""
    from pytest_promptse.compare.baseline import Baselines

    with suppress(NoBaselineError):
        Baselines(config.rootpath, here=config.invocation_params.dir).load(name_or_path)


def _check_templates(config: pytest.Config) -> None:
    """Refuse templates that are wrong before anything is collected."""
    for argument in config.args:
        if argument.endswith((".j2", ".jinja", ".jinja2")):
            raise SettingsError(
                f"{argument} is a template and no test: quote the pattern, so that the shell "
                "leaves it alone, as in --promptse-template 'prompts/*.j2'"
            )
    from pytest_promptse.config.settings import resolve
    from pytest_promptse.plugin.invocation import anchored_layers
    from pytest_promptse.tasks.template import load_templates

    load_templates(resolve(anchored_layers(config)).template, config.rootpath)


def layers(config: pytest.Config) -> list[tuple[dict[str, Any], Any]]:
    """Return the raw settings of command line and ini file with where each came from."""
    flags = {
        option.name: value
        for option in OPTIONS.values()
        if (value := config.getoption(option.ini, None)) is not None
    }
    ini = {
        option.name: value
        for option in OPTIONS.values()
        if not option.flag_only and (value := config.getini(option.ini)) not in (None, [], "")
    }
    inipath = config.inipath.name if config.inipath else "the ini file"
    return [
        (flags, lambda name: OPTIONS[name].flag),
        (ini, lambda name: f"{OPTIONS[name].ini} in {inipath}"),
    ]


def run_id(config: pytest.Config) -> str:
    """Return the name of this run, which xdist workers share with their controller."""
    if hasattr(config, "workerinput"):
        return str(config.workerinput["promptse_run"])
    if RUN_ID not in config.stash:
        from uuid import uuid4

        config.stash[RUN_ID] = uuid4().hex
    return config.stash[RUN_ID]


def bridge(config: pytest.Config) -> Bridge:
    """Return this session's run, made when the first marked test or suite file is met."""
    made = config.stash.get(BRIDGE, None)
    if made is None:
        from pytest_promptse.plugin.session import Bridge

        made = config.stash[BRIDGE] = Bridge(config)
    return made


@pytest.fixture
def candidate() -> Any:
    """The program under test: calling it calls the asked-for name in the sandbox."""
    from pytest_promptse.plugin.items import CandidateProxy

    return CandidateProxy()


@pytest.fixture
def task(request: pytest.FixtureRequest) -> Task:
    """The task that the program under test answers."""
    from pytest_promptse.plugin.items import task_of

    return task_of(request.node)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "candidate" in metafunc.fixturenames or _marked(metafunc.definition):
        from pytest_promptse.plugin.collection import parametrise

        parametrise(metafunc)


def _marked(node: pytest.Item) -> bool:
    return node.get_closest_marker("promptse") is not None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not file_path.name.endswith((".promptse.yaml", ".promptse.yml")):
        return None
    from pytest_promptse.plugin.collection import SuiteFileCollector

    return SuiteFileCollector.from_parent(parent, path=file_path)


def pytest_itemcollected(item: pytest.Item) -> None:
    if _marked(item):
        from pytest_promptse.plugin.collection import place

        place(item)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    if (made := session.config.stash.get(BRIDGE, None)) is not None:
        made.start(session.items)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    made = config.stash.get(BRIDGE, None)
    return [] if made is None else made.headlines()


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    made = session.config.stash.get(BRIDGE, None)
    if made is None or session.testsfailed or not made.run.settings.dry_run:
        return None
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if BRIDGE not in pyfuncitem.config.stash:
        return None
    from pytest_promptse.plugin.items import run_function

    return run_function(pyfuncitem)


@pytest.hookimpl(tryfirst=True)
def pytest_assertrepr_compare(
    config: pytest.Config, op: str, left: object, right: object
) -> list[str] | None:
    if BRIDGE not in config.stash:
        return None
    from pytest_promptse.plugin.items import compared

    return compared(op, left, right)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if BRIDGE in item.config.stash:
        from pytest_promptse.plugin.items import annotate

        annotate(item, call, report)
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    word = getattr(report, "promptse", None)
    if word is None or report.when != "call" or report.outcome != "passed":
        return None
    return "passed", ".", f"PASSED {word}"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Let all xdist workers take part in the controller's run."""
    node.workerinput["promptse_run"] = run_id(node.config)
    if not node.config.pluginmanager.has_plugin("promptse-controller"):
        node.config.pluginmanager.register(_Controller(node.config), "promptse-controller")
        if any(values.get("model") for values, _ in layers(node.config)):
            from pytest_promptse.plugin.progress import ControllerWatch

            node.config.pluginmanager.register(ControllerWatch(node.config))


class _Controller:
    """Learns, in an xdist controller that collects nothing, what its workers know of the run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "promptse"):
            bridge(self._config)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Say as one who cannot start says it, and not as workers that are gone."""
        refusal = getattr(node, "workeroutput", {}).get(REFUSAL)
        if refusal is not None:
            raise pytest.UsageError(refusal)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if (made := session.config.stash.get(BRIDGE, None)) is not None:
        complete = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        made.finish(interrupted=session.exitstatus not in complete)
        if made.fails and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if (made := config.stash.get(BRIDGE, None)) is not None:
        made.summarise(terminalreporter)


def pytest_unconfigure(config: pytest.Config) -> None:
    if (made := config.stash.get(BRIDGE, None)) is not None:
        made.close()
