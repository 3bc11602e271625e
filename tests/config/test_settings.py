from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_promptse.config._metrics import METRICS
from pytest_promptse.config._options import OPTIONS
from pytest_promptse.config._settings import PRESETS, Settings, check_names, resolve
from pytest_promptse.errors import SettingsError


def flag(name: str) -> str:
    return OPTIONS[name].flag


def settled(**values: object):
    return resolve([(values, flag)])


def test_the_strongest_layer_wins():
    layers = [
        ({"samples": 3}, lambda name: f"mark {name}"),
        ({"samples": "5", "variants": "2"}, flag),
        ({"samples": "7", "variants": "9", "seed": "11"}, lambda name: f"ini {name}"),
    ]
    settings = resolve(layers)
    assert (settings.samples, settings.variants, settings.seed) == (3, 2, 11)


def test_a_preset_fills_what_nobody_set():
    assert settled(preset="paper").variants == 30
    assert settled(preset="paper", variants="5").variants == 5
    assert settled().samples == PRESETS["ci"]["samples"]


@pytest.mark.parametrize(("samples", "original"), [(2, 8), (8, 32), (16, 64), (40, 64), (100, 100)])
def test_the_original_is_sampled_four_times_as_often_up_to_64(samples, original):
    assert settled(samples=samples).original_samples == original


def test_floors_may_differ_by_distance():
    settings = settled(min_elasticity="0.8,0.3=0.6")
    assert settings.threshold(METRICS["elasticity"], 0.1) == 0.8
    assert settings.threshold(METRICS["elasticity"], 0.3) == 0.6
    assert settled().threshold(METRICS["elasticity"], 0.1) is None


def test_a_floor_may_be_given_in_python_too():
    assert settled(min_elasticity=0.9).threshold(METRICS["elasticity"], 0.2) == 0.9
    assert settled(min_elasticity={0.2: 0.9}).threshold(METRICS["elasticity"], 0.1) is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("min_auc_e", "1.2", "--promptse-min-auc-e: '1.2' is not in [0, 1]"),
        ("min_auc_e", "high", "--promptse-min-auc-e: 'high' is not a number"),
        ("samples", "0", "--promptse-samples: '0' is not a whole number of at least 1"),
        ("samples", True, "--promptse-samples: True is not a number"),
        ("distances", "0.3,0.1", "is not sorted; give 0.1,0.3"),
        ("distances", "0.1,0.1", "is unusable: the same distance twice; give each once"),
        ("distances", "0,0.1", "the original is always measured"),
        ("preset", "papers", "is not one of smoke, ci, paper (did you mean 'paper'?)"),
        ("weighting", "means", "did you mean 'mean'?"),
        ("memory", "5MB", "is under 64 MiB"),
        ("memory", "much", "is not a size; give for example 512MiB"),
        ("price", "3", "is not two prices; give INPUT,OUTPUT per million tokens"),
        ("report", "json", "is unusable: names no file; give json:PATH"),
        ("timeout", "-1", "is not above 0"),
    ],
)
def test_a_wrong_value_is_named_with_its_place_and_remedy(name, value, message):
    with pytest.raises(SettingsError) as error:
        settled(**{name: value})
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_floor_for_a_distance_that_is_not_measured_is_refused():
    with pytest.raises(SettingsError, match=r"distance 0\.5 is not measured; the distances are"):
        settled(min_elasticity="0.5=0.8")


def test_a_cost_limit_without_prices_is_refused():
    with pytest.raises(SettingsError, match="add --promptse-price"):
        settled(max_cost="3")


@pytest.mark.parametrize(("given", "samples"), [("auto", 16), (" auto:5 ", 5)])
def test_automatic_samples_are_those_of_the_preset_by_default(given, samples):
    chosen = settled(samples=given, preset="paper")
    assert (chosen.samples, chosen.original_samples) == (samples, min(4 * samples, 64))
    assert (chosen.adaptive, chosen.gate) == (True, "confident")


def test_gates_use_the_interval_by_default():
    chosen = settled(samples="8")
    assert (chosen.adaptive, chosen.gate) == (False, "confident")
    assert settled(samples="8", gate="point").gate == "point"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"samples": "atuo"}, "is not a number, nor auto (did you mean 'auto'?)"),
        ({"samples": "auto:0"}, "is not a whole number of at least 1"),
        ({"samples": "auto", "gate": "point"}, "--promptse-gate: a point gate"),
        ({"samples": "auto", "min_pass_rate": "0.5"}, "--promptse-min-pass-rate: a minimum for"),
    ],
)
def test_automatic_samples_are_refused_where_they_cannot_work(values, message):
    with pytest.raises(SettingsError) as error:
        settled(**values)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_name_brings_the_nearest_right_one():
    with pytest.raises(SettingsError, match=r"'min_auce' is not a setting .*'min_auc_e'"):
        check_names(["min_auce"], marker=True, where="test_a.py::test_b")


def test_a_setting_of_the_whole_run_is_refused_on_a_mark():
    with pytest.raises(SettingsError, match="concerns the whole run; give --promptse-store"):
        check_names(["store"], marker=True, where="test_a.py::test_b")


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=5, unique=True))
def test_distances_come_back_as_given_when_sorted(distances):
    chosen = tuple(sorted(distances))
    assert settled(distances=chosen).distances == chosen


@given(st.floats(allow_nan=False))
def test_a_threshold_is_taken_exactly_within_0_and_1(value):
    if 0 <= value <= 1:
        assert settled(min_auc_e=value).thresholds["min_auc_e"] == value
    else:
        with pytest.raises(SettingsError):
            settled(min_auc_e=value)


def test_every_option_has_a_setting_and_every_setting_an_option():
    derived = {"adaptive", "thresholds"}
    of_metrics = {metric.option for metric in METRICS.values() if metric.option}
    assert set(OPTIONS) - of_metrics | derived == {field.name for field in fields(Settings)}


def test_the_repr_of_settings_shows_no_credentials():
    given = {
        "base_url": "http://me:hunter2hunter2@here/v1?tenant=moonbase42",
        "proxy": "http://me:hunter2hunter2@proxy",
        "header": ["X-Team: moonbase42"],
    }
    settings = resolve([(given, str)])
    assert settings.base_url == given["base_url"]
    assert "hunter2" not in repr(settings)
    assert "moonbase42" not in repr(settings)
