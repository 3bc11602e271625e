from __future__ import annotations

import pytest

from pytest_promptse.config._metrics import compared_metrics
from pytest_promptse.config._option_types import Margin
from pytest_promptse.config._options import OPTIONS
from pytest_promptse.config._settings import resolve
from pytest_promptse.errors import SettingsError


def settled(where=lambda name: OPTIONS[name].flag, **values: object):
    return resolve([(values, where)])


@pytest.mark.parametrize("metric", [metric.name for metric in compared_metrics()])
def test_a_margin_is_absolute_or_in_percent_of_the_baseline(metric):
    read = OPTIONS["compare_fail"].read
    assert read([f"{metric}:0.02"], "") == (Margin(metric=metric, loss=0.02),)
    assert read([f"{metric}: 5%"], "") == (Margin(metric=metric, loss=0.05, relative=True),)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("auc:0.02", "'auc' is not a figure to compare; there are auc_e, "),
        ("auc-e:0.02", "(did you mean 'auc_e'?)"),
        ("pass_at_10:0.1", "did you mean 'pass_at_1'?"),
        ("xyz:0.1", "there are auc_e, elasticity, pass_at_1, reworded_pass"),
        ("auc_e", "the loss is missing; give auc_e:0.02 or auc_e:5%"),
        ("auc_e:0", "'0' is not a loss above 0 and up to 1"),
        ("auc_e:-0.1", "'-0.1' is not a loss above 0 and up to 1"),
        ("auc_e:2", "'2' is not a loss above 0 and up to 1"),
        ("auc_e:nan", "'nan' is not a loss above 0 and up to 1"),
        ("auc_e:200%", "'200%' is not a loss above 0 and up to 1"),
        ("auc_e:much", "'much' is not a loss above 0 and up to 1"),
    ],
)
def test_a_margin_that_makes_no_sense_is_refused(value, message):
    with pytest.raises(SettingsError) as caught:
        OPTIONS["compare_fail"].read([value], "--promptse-compare-fail")
    assert message in str(caught.value)


def test_a_figure_takes_one_margin():
    with pytest.raises(SettingsError, match="the figure auc_e twice; give each once"):
        OPTIONS["compare_fail"].read(["auc_e:0.02", "auc_e:5%"], "")


@pytest.mark.parametrize("name", ["main", "v1.2", "release-3", "2026_01"])
def test_a_baseline_is_saved_under_a_plain_name(name):
    assert OPTIONS["save"].read(name, "") == name


@pytest.mark.parametrize("name", ["", "a/b", "../main", ".hidden", "main.json", "a b"])
def test_a_baseline_is_not_saved_under_a_path(name):
    with pytest.raises(SettingsError, match="--promptse-save: "):
        OPTIONS["save"].read(name, "--promptse-save")


def test_a_missing_baseline_fails_only_those_who_gave_a_margin():
    assert settled(compare="main").compare_missing == "warn"
    assert settled(compare="main", compare_fail=["auc_e:0.02"]).compare_missing == "fail"
    chosen = settled(compare="main", compare_fail=["auc_e:0.02"], compare_missing="warn")
    assert chosen.compare_missing == "warn"


def test_a_margin_on_the_command_line_needs_a_baseline_and_one_in_the_ini_file_waits_for_it():
    with pytest.raises(SettingsError, match="nothing to compare with; add --promptse-compare NAME"):
        settled(compare_fail=["auc_e:0.02"])
    settled(where=lambda name: f"promptse_{name} in pytest.ini", compare_fail=["auc_e:0.02"])
