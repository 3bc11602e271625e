"""The result of a suite in words, derived from its figures."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from record_builders import (
    falling,
    flat,
    make_record,
    make_suite,
    make_task,
    run_record,
    suite_record,
    with_estimates,
)

from pytest_promptse.record._figures import EstimateRecord
from pytest_promptse.record._schema import ErrorRecord, InvocationRecord
from pytest_promptse.record._verdicts import remedy, verdicts_in_words


def described(tasks, **changed):
    """Return the words for a suite of `tasks`, given as (original, variants by distance)."""
    made = [make_task(f"t{number}", *rates) for number, rates in enumerate(tasks)]
    ci95 = changed.pop("ci95", None)
    drop = changed.pop("drop", None)
    suite = replace(make_suite(made), n_variants=10, n_measured=10, **changed)
    suite = with_estimates(suite, pass_at_1=0.9, auc_e=0.9, ci95=ci95, drop=drop)
    [verdict] = verdicts_in_words(make_record((suite, made)))
    return str(verdict)


def test_a_loss_is_given_as_a_share_of_what_the_originals_solve():
    said = described([falling(1.0, 0.5, 0.0)], verdict="fail", p_adjusted=0.01)
    assert said.startswith(
        "test_a fails: the model loses 50% of what it solves when the request is reworded (you: "
    )


def test_a_stable_suite_keeps_what_it_solves():
    said = described([flat(1.0), flat(0.5)], verdict="pass", ci95=(0.98, 1.0))
    assert said.startswith("test_a passes: the model keeps what it solves when the request is ")


def test_a_loss_that_chance_explains_is_said_to_be_one():
    said = described([falling(0.9, 0.9, 0.9)] * 3, p_adjusted=0.4)
    assert "test_a has no gate: the model loses 10%" in said
    assert "which chance could explain" in said


@pytest.mark.parametrize(
    "changed",
    [{"verdict": "fail"}, {"drop": EstimateRecord(value=0.1, ci95=(0.02, 0.2), exact=None)}],
)
def test_chance_is_no_explanation_against_the_gate_or_the_drop(changed):
    said = described([falling(0.9, 0.9, 0.9)] * 3, p_adjusted=0.4, **changed)
    assert "loses 10%" in said
    assert "chance" not in said


COUNTS = "(you: 8 of 8; reworded: 24 of 24)"
FEW = "4 tasks are too few to say how much other tasks would lose."
UNSOLVED = "of these tasks as they are written, so they cannot show whether it is stable."


@pytest.mark.parametrize(
    ("tasks", "changed", "said"),
    [
        (
            [flat(1.0)],
            {"verdict": "pass"},
            f"passes: the model keeps what it solves when the request is reworded {COUNTS}.",
        ),
        (
            [flat(1.0)],
            {"verdict": "fail"},
            (
                "fails: the model solves as much in total when the request is reworded "
                f"{COUNTS}, but not in every figure."
            ),
        ),
        (
            [falling(1.0, 1.0, 0.25)],
            {"p_adjusted": 0.05, "drop": EstimateRecord(value=0.25, ci95=(0.0, 0.5))},
            (
                "has no gate: the model loses 25% of what it solves when the request is reworded "
                "(you: 8 of 8; reworded: 18 of 24), which chance could explain."
            ),
        ),
        (
            [falling(1.0, 1.0, 0.25)],
            {"p_adjusted": 0.049},
            (
                "has no gate: the model loses 25% of what it solves when the request is reworded "
                "(you: 8 of 8; reworded: 18 of 24)."
            ),
        ),
        (
            [falling(1.0, 1.0, 0.25)],
            {"verdict": "inconclusive"},
            (
                "is inconclusive: the model loses 25% of what it solves when the request is "
                "reworded (you: 8 of 8; reworded: 18 of 24)."
            ),
        ),
        (
            [flat(1.0)],
            {"verdict": "pass", "n_measured": 9},
            (
                f"passes: the model keeps what it solves when the request is reworded {COUNTS}. "
                "1 variant was not measured."
            ),
        ),
        ([flat(0.0)], {}, f"has no gate: the model solves 0% {UNSOLVED}"),
        (
            [flat(0.1)],
            {},
            (
                "has no gate: the model keeps what it solves when the request is reworded "
                "(you: 1 of 8; reworded: 3 of 24)."
            ),
        ),
        ([], {}, "has no gate: no original was measured together with variants of it."),
    ],
)
def test_a_suite_is_described_in_whole_sentences(tasks, changed, said):
    made = [make_task(f"t{number}", *rates) for number, rates in enumerate(tasks)]
    suite = replace(
        suite_record(), **{name: value for name, value in changed.items() if name != "drop"}
    )
    suite = with_estimates(suite, pass_at_1=0.9, drop=changed.get("drop"))
    [verdict] = verdicts_in_words(make_record((suite, made)))
    assert verdict == ("test_a", said)


@pytest.mark.parametrize(
    ("n", "ci95", "is_said"),
    [(4, (0.2, 0.41), True), (4, (0.2, 0.4), False), (1, (0.2, 0.9), False), (4, None, False)],
)
def test_an_interval_is_wide_from_a_fifth_on(n, ci95, is_said):
    said = described([falling(1.0, 0.5, 0.5)] * n, ci95=ci95)
    assert said.endswith(f" {FEW}") == is_said


@pytest.mark.parametrize(("p", "n"), [(0.04, 2), (0.05, 0), (None, 0)])
def test_variants_whose_p_value_is_below_five_percent_differ(p, n):
    made = [with_significant(f"t{number}", flat(1.0), p) for number in range(2)]
    suite = with_estimates(make_suite(made), pass_at_1=1.0)
    [verdict] = verdicts_in_words(make_record((suite, made)))
    assert ("chance does not explain the pass rate of 2 variants." in verdict.text) == bool(n)


def with_significant(task, rates, p_adjusted):
    """Return a task of `rates` whose first variant has this adjusted p-value."""
    made = make_task(task, *rates)
    first, *rest = made.variants
    return replace(made, variants=[replace(first, p_adjusted=p_adjusted), *rest])


@pytest.mark.parametrize(("p", "said_so"), [(0.2, True), (0.01, False)])
def test_chance_is_no_explanation_where_a_variant_differs_significantly(p, said_so):
    made = [with_significant("t", falling(0.9, 0.9, 0.9), p)]
    suite = replace(make_suite(made), verdict="inconclusive", p_adjusted=0.4)
    suite = with_estimates(suite, pass_at_1=0.9)
    [verdict] = verdicts_in_words(make_record((suite, made)))
    assert ("chance could explain" in verdict.text) == said_so


def test_a_stable_total_does_not_hide_a_variant_that_differs():
    made = [with_significant("t", flat(1.0), 0.001)]
    suite = with_estimates(replace(make_suite(made), verdict="pass"), pass_at_1=1.0)
    [verdict] = verdicts_in_words(make_record((suite, made)))
    assert "chance does not explain the pass rate of 1 variant." in verdict.text


def test_the_samples_that_pass_are_counted():
    made = [make_task("t", *falling(1.0, 0.5, 0.0))]
    suite = with_estimates(make_suite(made), pass_at_1=1.0)
    [verdict] = verdicts_in_words(make_record((suite, made)))
    variants = made[0].variants
    n = made[0].original.n
    total = sum(one.n for one in variants)
    passed = round(sum(one.n * one.pass_rate for one in variants))
    assert f"(you: {n} of {n}; reworded: {passed} of {total})" in verdict.text


def test_a_run_of_the_original_against_itself_is_not_called_reworded():
    said = described([flat(1.0)], settings={"aa": True})
    assert "reworded" not in said
    assert "when the same request is sent again (you: " in said


def test_a_suite_that_fails_is_not_said_to_keep_what_it_solves():
    said = described([flat(1.0)], verdict="fail")
    assert "keeps" not in said


def test_a_part_of_a_suite_is_too_few_for_a_comparison():
    made = [make_task("t", *flat(1.0))]
    suite = replace(make_suite(made), n_variants=13, n_measured=1)
    [verdict] = verdicts_in_words(make_record((suite, made)))
    assert verdict.text.endswith(
        "1 of 13 prompts were measured, which is too few to compare variants with their original."
    )


@pytest.mark.parametrize("verdict", ["pass", "inconclusive"])
def test_tasks_that_are_hardly_solved_cannot_show_stability(verdict):
    said = described([flat(0.0), flat(0.125)], verdict=verdict)
    assert "solves 6% of these tasks as they are written" in said
    assert "loses" not in said


def test_a_wide_interval_is_said_to_leave_the_loss_open():
    said = described([falling(1.0, 0.5, 0.5)] * 4, verdict="inconclusive", ci95=(0.4, 0.9))
    assert said.endswith("4 tasks are too few to say how much other tasks would lose.")
    alone = described([falling(1.0, 0.5, 0.5)], verdict="inconclusive", ci95=(0.4, 0.9))
    assert "too few" not in alone


def test_of_many_suites_those_that_fail_are_described_after_their_number():
    pairs = []
    for number in range(6):
        task = make_task("t", *falling(0.5, 0.5, 0.5), suite=f"test_a.py::test_{number}")
        verdict = "fail" if number == 3 else "pass"
        pairs.append(
            (with_estimates(replace(make_suite([task]), verdict=verdict), pass_at_1=1.0), [task])
        )
    said = [str(verdict) for verdict in verdicts_in_words(make_record(*pairs))]
    assert said[0] == "1 of 6 suites fail."
    assert len(said) == 2
    assert said[1].startswith("test_3 fails: ")


@pytest.mark.parametrize(
    ("verdicts", "count", "names"),
    [
        (["pass", "inconclusive", None, "fail"], "", ["t3", "t1", "t2", "t0"]),
        (
            ["pass", "inconclusive", None, "fail", "inconclusive"],
            "1 of 5 suites fail, 2 are inconclusive, 1 could not be measured completely.",
            ["t3", "t1", "t4"],
        ),
        (["pass"] * 5, "none of 5 suites fails, 1 could not be measured completely.", []),
        (
            ["fail"] * 6,
            "6 of 6 suites fail, 1 could not be measured completely.",
            ["t0", "t1", "t2", "t3"],
        ),
    ],
)
def test_suites_are_described_in_the_order_of_attention(verdicts, count, names):
    suites = [
        suite_record(id=f"test_a.py::t{number}", verdict=verdict)
        for number, verdict in enumerate(verdicts)
    ]
    error = ErrorRecord(where="test_a.py::t0[x]", message="no answer")
    made = run_record(suites, [], errors=[error])
    found = verdicts_in_words(made)
    counts = [verdict.text for verdict in found if not verdict.name]
    assert counts == ([count] if count else [])
    assert [verdict.name for verdict in found if verdict.name] == names
    assert verdicts_in_words(run_record([], [])) == []


def test_variants_that_were_not_measured_are_counted():
    said = described([flat(1.0)] * 2, n_tasks=2, ci95=(0.9, 1.0))
    assert "not measured" not in said
    made = [make_task("t", *flat(1.0))] * 2
    suite = replace(make_suite(made), n_variants=10, n_measured=7)
    suite = with_estimates(suite, pass_at_1=1.0)
    [verdict] = verdicts_in_words(make_record((suite, made)))
    assert "3 variants were not measured" in verdict.text


def test_a_gate_that_was_not_decided_is_not_called_none():
    settings = {"min_drop": None, "max_drop": 0.1}
    assert described([flat(1.0)], settings=settings).startswith("test_a is not decided: ")
    assert described([flat(1.0)], settings={"max_drop": None}).startswith("test_a has no gate: ")


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        ([("test_a.py::a", "m", None)], ["a"]),
        ([("dir/sums.promptse.yaml", "m", "terse")], ["sums"]),
        (
            [("test_a.py::a", "m", None), ("test_a.py::a", "m", "terse")],
            ["template none", "template terse"],
        ),
        (
            [("test_a.py::a", "m", None), ("test_a.py::b", "m", "terse")],
            ["a, template none", "b, template terse"],
        ),
        ([("test_a.py::a", "m", None), ("test_a.py::a", "n", None)], ["a, m", "a, n"]),
        (
            [("test_a.py::a", "m", None), ("test_b.py::a", "m", None)],
            ["test_a.py::a", "test_b.py::a"],
        ),
    ],
)
def test_a_name_has_what_distinguishes_its_suite(ids, names):
    suites = [suite_record(id=own, model=model, template=name) for own, model, name in ids]
    assert [verdict.name for verdict in verdicts_in_words(run_record(suites, []))] == names


@pytest.mark.parametrize(
    ("verdict", "template", "drop", "failed_only", "with_losses"),
    [
        ("fail", None, None, True, True),
        ("pass", None, None, False, False),
        ("pass", None, 0.02, False, True),
        ("pass", None, 0.01, False, False),
        ("fail", "terse", None, False, False),
    ],
)
def test_the_remedy_is_for_suites_that_fail_or_lose(
    verdict, template, drop, failed_only, with_losses
):
    tasks = [make_task("t", *flat(1.0))]
    suite = replace(make_suite(tasks), verdict=verdict, template=template)
    made = make_record((with_estimates(suite, drop=drop), tasks))
    assert not remedy(made)
    made = replace(made, invocation=InvocationRecord(directory=".", options=[]))
    assert bool(remedy(made)) == failed_only
    assert bool(remedy(made, of_losses=True)) == with_losses


def test_the_remedy_names_each_file_of_the_first_model_once_and_from_where_pytest_ran():
    suites = [
        suite_record(id=own, model=model, verdict="fail")
        for own, model in (
            ("dir/a b.py::t", "x y"),
            ("dir/a b.py::u", "x y"),
            ("c.py::t", "x y"),
            ("other.py::t", "other"),
        )
    ]
    made = run_record(suites, [], invocation=InvocationRecord(directory="dir", options=[]))
    assert remedy(made) == ["promptse harden", "'a b.py'", "../c.py", "--model 'x y'"]
