"""`promptse harden` refuses what its search cannot measure, while it plans."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from planned_suites import plan, settings

from pytest_promptse.plugin._harden_plan import pytest_runtestloop
from pytest_promptse.plugin._targets import TARGET, IdParts, NodeIds, targets_of


@pytest.fixture
def run_loop(monkeypatch):
    """Run the hook for the items of a suite, or of its first variants."""

    def run_loop(suite, n_items=None, *, testsfailed=0):
        parts = IdParts(model=False, template=False, task=False)
        items = []
        for target in list(targets_of(suite, parts, NodeIds(None)))[:n_items]:
            items.append(SimpleNamespace(stash=pytest.Stash()))
            items[-1].stash[TARGET] = target
        other = SimpleNamespace(stash=pytest.Stash())
        session = SimpleNamespace(config=None, items=[other, *items], testsfailed=testsfailed)
        pytest_runtestloop(session)

    given = SimpleNamespace(settings=settings())
    monkeypatch.setattr("pytest_promptse.plugin._harden_plan.given_settings", lambda _: given)
    return run_loop


@pytest.mark.parametrize(
    ("suite", "n_items", "message"),
    [
        (plan(variants=1), 0, "harden: no test is marked promptse; name one that is"),
        (
            plan(variants=1, template="own.j2"),
            None,
            "harden: test_a.py::test_a has a template of its own; take template= out of its mark",
        ),
        (
            plan(variants=1, seed=3),
            None,
            "harden: test_a.py::test_a has a seed of its own; take seed= out of its mark or file",
        ),
        (
            plan(variants=1, distances="0.1,0.3"),
            2,
            "harden: 1 of 3 variants are not selected; take out -k, --lf and node ids of single",
        ),
    ],
)
def test_what_the_search_cannot_measure_is_refused(run_loop, suite, n_items, message):
    with pytest.raises(pytest.UsageError) as caught:
        run_loop(suite, n_items)
    assert str(caught.value).startswith(message)
    # pytest reports errors of the collection itself.
    run_loop(suite, n_items, testsfailed=1)


def test_a_whole_suite_with_the_templates_and_the_seed_of_the_search_is_measured(run_loop):
    run_loop(plan(variants=1))
