from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.scoring._label_shuffling import LabelledVariant, label_p_values

EMOTIONS = ("calm", "tired", "excited", "anxious", "stressed", "focused", "confident", "frustrated")


def rng(seed: int = 0):
    return np.random.default_rng(seed)


def block(name: str, **rates: float) -> list[LabelledVariant]:
    return [LabelledVariant(block=name, label=label, rate=rate) for label, rate in rates.items()]


def drawn(seed: int, *, tired: float = 0.0, tasks: int = 30) -> list[LabelledVariant]:
    """Variants that differ from each other in every task, and a drop that one emotion brings."""
    source = rng(seed)
    return [
        LabelledVariant(
            block=task, label=emotion, rate=source.random() - (tired if emotion == "tired" else 0)
        )
        for task in range(tasks)
        for emotion in source.choice(EMOTIONS, 4)
    ]


@settings(deadline=None, max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=3, max_size=5, unique=True))
def test_the_p_value_of_one_block_is_that_of_all_orders(rates):
    labels = [f"e{i}" for i in range(len(rates))]
    found = label_p_values(
        [LabelledVariant(block=0, label=a, rate=q) for a, q in zip(labels, rates, strict=True)],
        rng(),
    )
    mean = np.mean(rates)
    orders = list(permutations(rates))
    for at, label in enumerate(labels):
        exact = np.mean([abs(o[at] - mean) >= abs(rates[at] - mean) - 1e-9 for o in orders])
        assert found[label] == pytest.approx(exact, abs=0.06)


def test_labels_that_do_not_matter_are_found_as_rarely_as_the_level_says():
    found = [p for seed in range(40) for p in label_p_values(drawn(seed), rng(seed)).values()]
    assert np.mean(np.array(found) <= 0.05) <= 0.08


def test_a_label_that_matters_is_found_and_the_others_are_not():
    found = label_p_values(drawn(1, tired=0.6, tasks=60), rng())
    assert found["tired"] < 0.01
    assert min(p for label, p in found.items() if label != "tired") > 0.01


def test_a_level_that_all_variants_share_is_no_effect_of_a_label():
    """Every variant does badly, with any emotion."""
    variants = [one for task in "abcd" for one in block(task, calm=0.1, tired=0.1, excited=0.1)]
    assert set(label_p_values(variants, rng()).values()) == {1.0}


def test_blocks_of_one_variant_say_nothing():
    variants = [*block("a", calm=0.0), *block("b", tired=1.0)]
    assert set(label_p_values(variants, rng()).values()) == {1.0}


def test_many_variants_are_judged_by_the_same_law():
    few = drawn(3, tired=0.05, tasks=700)
    many = [*few, *(LabelledVariant(block=f"x{i}", label="calm", rate=1.0) for i in range(500))]
    plain, fast = label_p_values(few, rng()), label_p_values(many, rng())
    for label in EMOTIONS:
        assert fast[label] == pytest.approx(plain[label], abs=0.05)
