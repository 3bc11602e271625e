"""The hooks of every pytest session, without a nested one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_promptse.config._options import OPTIONS
from pytest_promptse.plugin import _hooks
from pytest_promptse.plugin._invocation import BAD_MARKS, NO_MODEL

BY_INI = {option.ini: option for option in OPTIONS.values()}


@pytest.fixture
def configure(tmp_path):
    """Configure a session in a folder of a project, and return what was configured."""

    def configure(*arguments, folder=".", ini="pytest.ini", keys=(), worker=False, **given):
        flags = given.pop("flags", {})
        lines = []
        config = SimpleNamespace(
            rootpath=tmp_path,
            inipath=None if ini is None else tmp_path / ini,
            inicfg=dict.fromkeys(keys, "1"),
            stash=pytest.Stash(),
            args=[],
            invocation_params=SimpleNamespace(args=arguments, dir=tmp_path / folder),
            option=SimpleNamespace(**{"inifilename": None, "rootdir": None} | given),
            addinivalue_line=lambda *line: lines.append(line),
            getoption=lambda name, default: (
                flags.get(BY_INI[name].name, default) if name in BY_INI else default
            ),
            getini=lambda _: None,
        )
        if worker:
            config.workerinput = {}
        _hooks.pytest_configure(config)
        [(kind, mark)] = lines
        assert (kind, mark.partition("(")[0]) == ("markers", "promptse")
        return config

    return configure


# -- the ini file ------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(tmp_path, tmp_path_factory):
    """A file outside of the project, as pytest takes it for a test."""
    path = tmp_path_factory.mktemp("elsewhere") / "ca.pem"
    path.write_text("")
    for folder in ("project", "project/inner"):
        (tmp_path / folder).mkdir()
    return str(path)


@pytest.mark.parametrize("ini", [None, "../../ca/pytest.ini"])
def test_the_value_of_an_option_may_hide_the_ini_file(configure, elsewhere, ini):
    folder = elsewhere.rpartition("/")[0]
    with pytest.raises(pytest.UsageError) as error:
        configure(
            *("-q", "--promptse-ca-bundle", elsewhere),
            folder="project",
            ini=None if ini is None else f"{folder}/pytest.ini",
        )
    assert str(error.value) == (
        f"--promptse-ca-bundle: pytest takes {elsewhere} for the path of a test and does not read "
        f"the ini file of this folder; write --promptse-ca-bundle={elsewhere}"
    )


@pytest.mark.parametrize(
    ("flag", "value", "changed"),
    [
        ("--promptse-ca-bundle", "{}x", {}),  # no such file
        ("--other", "{}", {}),  # not of this plugin
        ("--promptse-aa", "{}", {}),  # a switch, which has no value
        ("--promptse-ca-bundle", "{}", {"inifilename": "x"}),
        ("--promptse-ca-bundle", "{}", {"rootdir": "x"}),
        ("--promptse-ca-bundle", "{}", {"worker": True}),
        ("--promptse-ca-bundle", "{}", {"ini": "project/pytest.ini"}),
        ("--promptse-ca-bundle", "inner", {}),
        ("--promptse-ca-bundle", "..", {"folder": "project/inner", "ini": "project/pytest.ini"}),
    ],
)
def test_other_values_do_not_hide_the_ini_file(configure, elsewhere, flag, value, changed):
    options = {"folder": "project", "ini": None} | changed
    configure("-q", flag, value.format(elsewhere), **options)


def test_an_unknown_key_of_the_ini_file_is_named(configure, tmp_path):
    configure(keys=["promptse_samples", "testpaths"])
    with pytest.raises(pytest.UsageError) as error:
        configure(keys=["testpaths", "promptse_sampels"])
    message = f"{tmp_path / 'pytest.ini'}: 'promptse_sampels' is not a setting"
    assert str(error.value).startswith(message)
    assert "promptse_samples" in str(error.value)


def test_a_setting_that_cannot_be_used_is_a_usage_error(configure):
    with pytest.raises(pytest.UsageError, match=r"^--promptse-samples: '0' is not"):
        configure(flags={"samples": "0"})


@pytest.mark.parametrize("dry", [True, False])
def test_a_dry_run_starts_no_worker(configure, dry):
    flags = {"dry_run": "true"} if dry else {"seed": "1"}
    option = configure(flags=flags, dist="load", tx=["popen"], numprocesses=2).option
    expected = ("no", [], 0) if dry else ("load", ["popen"], 2)
    assert (option.dist, option.tx, option.numprocesses) == expected
    assert not hasattr(configure(flags=flags).option, "dist")


# -- reports -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, ("passed", ".", "PASSED (2/2)")),
        ({"when": "setup"}, None),
        ({"outcome": "failed"}, None),
        ({"wasxfail": ""}, None),
        ({"promptse": None}, None),
    ],
)
def test_the_word_of_an_item_is_shown_if_it_passed(changed, status):
    report = {"promptse": "PASSED (2/2)", "when": "call", "outcome": "passed"} | changed
    assert _hooks.pytest_report_teststatus(SimpleNamespace(**report)) == status


@pytest.mark.parametrize(
    ("n", "line"),
    [
        (0, None),
        (1, f"{NO_MODEL} (1 test is skipped)"),
        (2, f"{NO_MODEL} (2 tests are skipped)"),
    ],
)
def test_the_summary_says_why_tests_are_skipped(n, line):
    lines = []
    skipped = [SimpleNamespace(longrepr=("a.py", 1, f"Skipped: {NO_MODEL}"))] * n
    others = [SimpleNamespace(longrepr=("a.py", 1, "Skipped: no")), SimpleNamespace(longrepr="x")]
    reporter = SimpleNamespace(stats={"skipped": [*others, *skipped]}, write_line=lines.append)
    _hooks.pytest_terminal_summary(reporter)
    assert lines == ([] if line is None else [line])


def collect_report(marks, *, outcome="passed"):
    collector = SimpleNamespace(stash=pytest.Stash())
    if marks is not None:
        collector.stash[BAD_MARKS] = marks
    report = SimpleNamespace(passed=outcome == "passed", outcome=outcome, longrepr=None, result=[1])
    hook = _hooks.pytest_make_collect_report(collector)
    next(hook)
    with pytest.raises(StopIteration) as end:
        hook.send(report)
    assert end.value.value is report
    return report.outcome, report.longrepr, report.result


def test_a_module_reports_all_marks_that_cannot_be_used():
    assert collect_report({"a": "one", "b": "two"}) == ("failed", "one\ntwo", [])
    assert collect_report(None) == ("passed", None, [1])
    assert collect_report({"a": "one"}, outcome="failed") == ("failed", None, [1])
