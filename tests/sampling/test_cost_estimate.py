from __future__ import annotations

from dataclasses import replace

import pytest
from scripted_backend import put

from pytest_promptse.sampling._cost_estimate import estimate_cost


def test_an_estimate_counts_what_the_store_lacks(store, job):
    known, other = job(1, n=4), job(2, n=4)
    put(store, known, range(3))
    [found] = estimate_cost([known, other], store, price=(1.0, 2.0))
    assert (found.variants, found.completions, found.stored) == (2, 8, 3)
    # Each prompt is sent once, with 4 characters to a token; completions are as long as allowed.
    assert found.prompt_tokens == 2 * 2
    assert found.completion_tokens == (1 + 4) * 10
    assert found.cost == pytest.approx((4 * 1.0 + 50 * 2.0) / 1e6)
    assert (
        "would request 5 (about 4 tokens in, at most 50 out, cost at most 0.000104)" in found.line()
    )
    assert "would request at most 5" in found.line(at_most=True)


def test_a_variant_of_two_suites_counts_once_with_the_larger_number(store, job):
    [found] = estimate_cost([job(1, n=2), job(1, n=5), job(1, n=3)], store)
    assert (found.variants, found.completions, found.cost) == (1, 5, None)


def test_models_and_templates_are_estimated_apart(store, job):
    jobs = [job(1, model="b:m"), job(1, model="a:m"), replace(job(2, model="b:m"), template="t")]
    found = estimate_cost(jobs, store)
    assert [(one.model, one.template) for one in found] == [
        ("b:m", None),
        ("a:m", None),
        ("b:m", "t"),
    ]
    assert "b:m with template t: 1 variants" in found[2].line()
