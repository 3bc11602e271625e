from __future__ import annotations

from pytest_promptse.config._groups import _GROUP_OF, GATES, TITLES, grouped_options
from pytest_promptse.config._options import OPTIONS


def test_each_option_is_in_one_group():
    grouped = [option.name for options in grouped_options().values() for option in options]
    assert sorted(grouped) == sorted(OPTIONS)
    assert set(_GROUP_OF) <= set(OPTIONS), "an option was renamed or removed"


def test_only_gates_take_what_is_named_nowhere():
    gates = {option.name for option in list(grouped_options().values())[list(TITLES).index(GATES)]}
    others = {"gate", "family_level", "inconclusive", "interval"}
    assert gates >= {"min_auc_e", *others}
    assert all(name.startswith(("min_", "max_")) or name in others for name in gates)


def test_help_shows_every_group_and_the_defaults(pytester):
    help_text = pytester.runpytest("--help").stdout.str()
    for title in grouped_options():
        assert f"{title}:" in help_text
    text = " ".join(help_text.split())
    for shown in ("(default: 8)", "(default: 0.1,0.2,0.3)", "(default: 512MiB)", "(default: 3)"):
        assert shown in text
