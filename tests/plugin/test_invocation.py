"""What the command line of pytest says: the settings, the id of the run, how to repeat it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_promptse.config._options import OPTIONS
from pytest_promptse.errors import SettingsError
from pytest_promptse.plugin._invocation import (
    given_settings,
    instrument_of,
    invocation,
    run_id,
)
from pytest_promptse.variants._choices import check_choices
from pytest_promptse.variants._library_files import load_library

BY_INI = {option.ini: option for option in OPTIONS.values()}


def config_of(flags=None, ini=None, *, arguments=(), folder=".", instruments=()):
    """Return what the functions use of a pytest configuration whose root is ``/root``."""
    flags, ini = flags or {}, ini or {}
    root = Path("/root")
    return SimpleNamespace(
        rootpath=root,
        inipath=root / "sub/pytest.ini" if ini else None,
        args=list(arguments),
        stash=pytest.Stash(),
        invocation_params=SimpleNamespace(args=arguments, dir=root / folder),
        getoption=lambda name, default: flags.get(BY_INI[name].name, default),
        getini=lambda name: ini.get(BY_INI[name].name),
        pluginmanager=SimpleNamespace(load_setuptools_entrypoints=lambda _: None),
        hook=SimpleNamespace(pytest_promptse_instruments=lambda: [instruments]),
    )


def test_the_command_line_overrides_the_ini_file_and_both_are_named():
    config = config_of({"seed": "3"}, {"seed": "4", "samples": "5", "store": "", "model": []})
    given = given_settings(config)
    assert given is given_settings(config)
    assert (given.settings.seed, given.settings.samples) == (3, 5)
    places = [given.place_of(name) for name in ("seed", "samples", "store", "model")]
    assert places == ["--promptse-seed", "promptse_samples in pytest.ini", None, None]
    assert given.any_given
    assert not given_settings(config_of()).any_given
    assert given_settings(config_of(ini={"samples": "5"})).any_given


def test_an_option_of_the_command_line_alone_is_not_read_from_the_ini_file():
    name = next(option.name for option in OPTIONS.values() if option.flag_only)
    assert given_settings(config_of(ini={name: "x"})).place_of(name) is None


def test_lines_of_the_ini_file_are_a_list_if_the_option_may_be_repeated():
    given = given_settings(config_of(ini={"model": "reference\n\n  replay:a  \n"}))
    assert given.settings.model == ("reference", "replay:a")


def test_the_settings_of_a_suite_override_those_of_the_session():
    given = given_settings(config_of({"seed": "3", "samples": "2"}))

    def suite(**keywords):
        return given.of_suite(keywords, where=lambda name: f"test_a, {name}", folder=Path("/root"))

    assert (suite(seed=7).seed, suite(seed=7).samples, suite().seed) == (7, 2, 3)
    with pytest.raises(SettingsError, match=r"^test_a, seed"):
        _ = suite(seed="x").seed
    with pytest.raises(SettingsError, match=r"^test_a: .*'sede'.*seed"):
        suite(sede=1)


@pytest.mark.parametrize(
    ("flags", "ini", "folder", "found"),
    [
        ({"template": ["p/*.j2"]}, {}, ".", "p/*.j2"),
        ({"template": [" p/*.j2 "]}, {}, "sub", "sub/p/*.j2"),
        ({"template": "p/*.j2"}, {}, "sub", "sub/p/*.j2"),
        ({}, {"template": "p/*.j2"}, "other", "sub/p/*.j2"),
    ],
)
def test_a_pattern_of_templates_is_relative_to_where_it_is_given(flags, ini, folder, found):
    given = given_settings(config_of(flags, ini, folder=folder))
    assert [str(pattern) for pattern in given.settings.template] == [found]


def test_all_processes_of_a_run_share_its_id():
    controller = config_of()
    first = run_id(controller)
    assert run_id(controller) == first != run_id(config_of())
    worker = config_of()
    worker.workerinput = {"promptse_run": first}
    assert run_id(worker) == first


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["-q", "--promptse-model", "m", "tests"], ["--promptse-model", "m"]),
        (["--promptse-model=m", "--promptse-seed=1"], ["--promptse-model=m", "--promptse-seed=1"]),
        (["--promptse-aa", "test_a.py"], ["--promptse-aa"]),
        (["--promptse-report", "json:a", "--promptse-save=x", "--promptse-shard", "1/2"], []),
        (["--promptse-compare", "main", "--promptse-dry-run", "-x"], []),
        (
            ["--promptse-base-url=http://me:secret-1@host/v1"],
            ["--promptse-base-url=http://***@host/v1"],
        ),
    ],
)
def test_the_command_that_repeats_an_item_has_the_options_of_its_variant(
    monkeypatch, arguments, options
):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", "--promptse-samples 3 -x")
    assert invocation(config_of(arguments=arguments)).options == options
    monkeypatch.setenv("CI", "true")
    found = invocation(config_of(arguments=arguments)).options
    assert found == ["--promptse-samples", "3", *options]


@pytest.mark.parametrize(("folder", "named"), [(".", "."), ("a/b", "a/b"), ("..", "..")])
def test_the_folder_is_that_of_the_call_relative_to_the_root(folder, named):
    assert invocation(config_of(folder=folder)).directory == named


SURVEY = SimpleNamespace(name="survey")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("mood.survey.yaml", SURVEY),
        ("mood.survey.yml", SURVEY),
        ("a.mood.survey.yaml", SURVEY),
        ("mood.survey.json", None),
        ("survey.yaml", None),
        (".survey.yaml", None),
        ("mood..yaml", None),
        ("mood.quiz.yaml", None),
    ],
)
def test_a_file_belongs_to_the_instrument_in_its_name(name, found):
    config = config_of(arguments=["tests"], instruments=[SURVEY])
    assert instrument_of(config, Path(name)) is found


def test_a_requested_file_whose_name_is_almost_that_of_an_instrument_is_an_error():
    config = config_of(arguments=["mood.survy.yaml"], instruments=[SURVEY])
    with pytest.raises(pytest.Collector.CollectError, match="survey"):
        instrument_of(config, Path("mood.survy.yaml"))
    assert instrument_of(config, Path("other.survy.yaml")) is None
    far = config_of(arguments=["mood.zzz.yaml"], instruments=[SURVEY])
    assert instrument_of(far, Path("mood.zzz.yaml")) is None


def test_only_choices_that_were_given_here_are_checked():
    settings = given_settings(config_of({"emotions": "sad-not-known"})).settings
    library = load_library()
    with pytest.raises(SettingsError, match=r"^here emotions: .*sad-not-known"):
        check_choices(settings, library, lambda name: f"here {name}")
    check_choices(settings, library, lambda name: None if name == "emotions" else f"here {name}")
