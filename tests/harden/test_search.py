from __future__ import annotations

import pytest

from pytest_promptse.harden._search import (
    CONFIRMATION_SEED,
    SEARCH_SEED,
    UNTOUCHED,
    TaskOutcome,
    harden,
)

NAMES = ("contract", "restate", "system", "spec_first")


class Scripted:
    """Measures templates with given pass rates: (original, variants), by seed if they differ."""

    def __init__(self, rates, confirmation=None):
        self.rates, self.confirmation = rates, confirmation or rates
        self.calls = []

    def measure(self, templates, *, seed=None, variants=None, originals=None):
        self.calls.append((tuple(templates), seed, variants))
        self.originals = originals
        rates = self.confirmation if seed == CONFIRMATION_SEED else self.rates
        return {
            name: {
                "task": TaskOutcome(
                    original=rates.get(name, rates[UNTOUCHED])[0],
                    n=originals or 64,
                    samples=16,
                    variants={
                        str(index): rates.get(name, rates[UNTOUCHED])[1] + 0.01 * (index % 2)
                        for index in range(3 * (variants or 4))
                    },
                )
            }
            for name in templates
        }


def run(rates, confirmation=None, *, variants=4):
    model = Scripted(rates, confirmation)
    return harden(model.measure, lambda: NAMES, variants=variants), model


def test_the_candidate_that_cures_is_confirmed():
    found, model = run({UNTOUCHED: (1.0, 0.5), "system": (1.0, 0.95)})
    assert (found.result, found.winner) == ("mended", "system")
    assert found.confirmed.variants.value == pytest.approx(0.45)
    assert found.drop.value == pytest.approx(0.495)
    assert model.calls[-1] == ((UNTOUCHED, "system"), CONFIRMATION_SEED, 8)


def test_each_round_keeps_the_better_half_and_doubles_the_variants():
    found, model = run(
        {UNTOUCHED: (1.0, 0.5), "system": (1.0, 0.95), "restate": (1.0, 0.8), "contract": (1, 0.1)}
    )
    searched = [call for call in model.calls if call[1] == SEARCH_SEED]
    assert searched == [
        ((UNTOUCHED, *NAMES), SEARCH_SEED, 1),
        ((UNTOUCHED, "system", "restate"), SEARCH_SEED, 2),
    ]
    assert found.rounds == tuple((templates, variants) for templates, _, variants in searched)


def test_a_stable_model_has_nothing_to_mend_and_is_searched_no_further():
    found, model = run({UNTOUCHED: (1.0, 0.99)})
    assert found.result == "nothing to mend"
    assert model.calls == [((UNTOUCHED,), None, None)]


def test_no_candidate_helps_if_none_is_better():
    found, _ = run({UNTOUCHED: (1.0, 0.5), **dict.fromkeys(NAMES, (1.0, 0.4))})
    assert (found.result, found.winner) == ("no candidate helps", None)


def test_a_stable_candidate_that_is_wrong_is_never_recommended():
    found, _ = run({UNTOUCHED: (1.0, 0.5), "system": (0.6, 0.6)})
    assert found.winner != "system"
    assert found.result != "mended"


def test_a_winner_that_solves_fewer_originals_in_the_confirmation_is_not_recommended():
    search = {UNTOUCHED: (1.0, 0.5), "system": (1.0, 0.9)}
    found, _ = run(search, {UNTOUCHED: (1.0, 0.5), "system": (0.9, 0.9)})
    assert (found.result, found.winner) == ("not confirmed", "system")


def test_a_gain_that_fresh_variants_do_not_show_is_not_recommended():
    search = {UNTOUCHED: (1.0, 0.5), "system": (1.0, 0.9)}
    found, _ = run(search, {UNTOUCHED: (1.0, 0.5), "system": (1.0, 0.5)})
    assert found.result == "not confirmed"
    assert found.searched.variants.value > 0.3
    assert found.confirmed.variants.low <= 0.0


def test_a_small_loss_that_many_originals_show_is_not_recommended():
    search = {UNTOUCHED: (1.0, 0.5), "system": (1.0, 0.9)}
    found, model = run(search, {UNTOUCHED: (1.0, 0.5), "system": (0.96, 0.9)})
    assert model.originals > 64
    assert found.confirmed.originals.high < 0.0
    assert found.result == "not confirmed"


def test_a_candidate_that_loses_no_original_is_confirmed_on_enough_of_them():
    found, model = run({UNTOUCHED: (0.9, 0.5), "system": (0.9, 0.9)})
    # Two pass rates of 0.9: the standard error is below 0.05 / 4.96.
    assert (2 * 0.09 / model.originals) ** 0.5 < 0.0102 or model.originals == 1000
    assert found.confirmed.originals.low > -0.05
    assert found.result == "mended"


def test_the_search_ends_as_soon_as_every_candidate_is_shown_to_be_worse():
    found, _ = run({UNTOUCHED: (1.0, 0.9), **dict.fromkeys(NAMES, (1.0, 0.05))}, variants=16)
    assert found.result == "no candidate helps"
    assert found.rounds[-1][1] < 16
