from __future__ import annotations

from msgspec.structs import replace
from record_builders import flat, make_run

from pytest_promptse.compare._courses import courses_of, sections_of
from pytest_promptse.compare._history import entry_of


def night(number, rate, *, oldest=None, **changed):
    day = f"2026-01-{number + 1:02}T03:00:00+00:00"
    tasks = {name: (1.0, flat(rate, each=4)[1]) for name in ("one", "two", "three")}
    run = make_run("m", tasks, n=16, finished=day, **changed)
    return replace(entry_of(run.record), oldest=oldest)


STABLE = [night(number, 0.875 + 0.0625 * (number % 2)) for number in range(12)]
WORSE = [night(number, 0.5 + 0.0625 * (number % 2)) for number in range(12, 18)]


def test_a_stable_course_has_no_change():
    [course] = courses_of(STABLE)
    assert course.changes == []
    assert not course.has_got_worse
    [section] = sections_of([course])
    assert section.lead == "12 runs: no change beyond chance."


def test_a_falling_pass_rate_of_variants_is_a_change_for_the_worse():
    [course] = courses_of(STABLE + WORSE)
    [change] = course.changes
    assert (change.figure, change.start, change.is_worse) == ("reworded", 12, True)
    [section] = sections_of([course])
    assert "pass rate reworded fell from 0.91 to 0.50" in section.lead
    remarks = [row[-1] for row in section.tables[0].rows]
    assert remarks[::-1].index("worse: pass rate reworded") == 12


def test_only_the_run_that_shows_the_change_has_got_worse():
    detected = courses_of(STABLE + WORSE)[0].changes[0].detected
    [course] = courses_of((STABLE + WORSE)[: detected + 1])
    assert course.has_got_worse
    [later] = courses_of(STABLE + WORSE)
    assert later.has_got_worse == (detected == len(STABLE + WORSE) - 1)


def test_a_rising_pass_rate_of_variants_is_a_change_for_the_better():
    better = [night(number, 0.5 + 0.0625 * (number % 2)) for number in range(12)]
    better += [night(number, 0.9375 + 0.0625 * (number % 2)) for number in range(12, 18)]
    [course] = courses_of(better)
    assert [change.is_worse for change in course.changes] == [False]
    assert not course.has_got_worse


def test_runs_with_other_prompts_are_not_compared():
    changed = [
        night(number, 0.5 + 0.0625 * (number % 2), prompt="Write it.") for number in range(12, 18)
    ]
    [course] = courses_of(STABLE + changed)
    assert course.changes == []
    assert [run.is_comparable for run in course.runs].index(False) == 12


def test_a_run_that_repeats_stored_completions_is_shown_but_not_tested():
    repeated = [
        night(number, 0.5 + 0.0625 * (number % 2), oldest="2026-01-01T00:00:00+00:00")
        for number in range(12, 18)
    ]
    [course] = courses_of(STABLE + repeated)
    assert course.changes == []
    assert [run.is_new for run in course.runs] == [True] * 12 + [False] * 6
    resumed = [night(0, 0.5), night(1, 0.5, oldest="2026-01-01T23:00:00+00:00")]
    assert [run.is_new for run in courses_of(resumed)[0].runs] == [True, True]


def test_each_suite_model_and_template_has_a_course():
    runs = [night(0, 0.5), night(1, 0.5, template="plain"), night(2, 0.5, suite="other.py::test")]
    assert [course.title for course in courses_of(runs)] == [
        "other.py::test, m",
        "test_a.py::test_a, m",
        "test_a.py::test_a, m with template plain",
    ]
    assert len(courses_of(runs, prefix="other")) == 1
