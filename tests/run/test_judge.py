"""Completions become verdicts: each program runs once, and only the program can fail."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import threading
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planned_suites import make_task, plan

from pytest_promptse.errors import NotScoredError
from pytest_promptse.models._base import Capabilities, Completion
from pytest_promptse.run._judge import (
    Check,
    CheckError,
    CheckProcess,
    CheckResult,
    CompletionJudge,
    JudgedSample,
)
from pytest_promptse.run._variant_rows import variant_row
from pytest_promptse.runtimes._runtime import Runtime
from pytest_promptse.sandbox._causes import Failure
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.sandbox._limits import Limits

CHAT = Capabilities(form="chat")
RIGHT = "```python\ndef inc(x):\n    return x + 1\n```"
WRONG = "```python\ndef inc(x):\n    return x - 1\n```"
BROKEN = "```python\ndef inc(x):\n    return x +\n```"
WORDS = "I would rather not."
SUITE = plan(variants=1)


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox("none", workers=1) as pool:
        yield pool


class CountedCheck:
    """Checks ``inc(1) == 2`` and counts the programs."""

    def __init__(self):
        # The check runs in other processes, which share this page.
        self._page = mmap.mmap(-1, mmap.PAGESIZE)

    @property
    def runs(self):
        return self._page[0]

    def __call__(self, candidate, _task):
        self._page[0] += 1
        found = candidate(1)
        return CheckResult("") if found == 2 else CheckResult("wrong_answer", f"got {found}")


def passing(_candidate, _task):
    return CheckResult("")


def check_of(body, key="check", **process):
    return Check(key=key, run=body, limits=Limits(), process=CheckProcess(**process))


def completions(*texts):
    return [Completion(index=index, text=text) for index, text in enumerate(texts)]


def judge(store, sandbox, texts, body, *, suite=SUITE, key="check", **process):
    judged = CompletionJudge(store, lambda: sandbox).judge(
        suite.variants[0], completions(*texts), CHAT, check_of(body, key, **process)
    )
    return [sample.cause for sample in judged]


def no_sandbox():
    raise AssertionError("a program was run")


# -- verdicts ----------------------------------------------------------------------------------


def test_each_completion_gets_its_verdict_in_sample_order(store, sandbox):
    judged = CompletionJudge(store, lambda: sandbox).judge(
        SUITE.variants[0], completions(WRONG, RIGHT, WORDS), CHAT, check_of(CountedCheck())
    )
    assert [sample.cause for sample in judged] == ["wrong_answer", "", "no_code"]
    assert [sample.completion.index for sample in judged] == [0, 1, 2]
    assert judged[0].detail == "got 0"
    assert judged[2].program is None


def test_equal_programs_run_once(store, sandbox):
    body = CountedCheck()
    assert judge(store, sandbox, [RIGHT, WRONG, RIGHT, f"Here:\n{RIGHT}"], body) == [
        *("", "wrong_answer", "", "")
    ]
    assert body.runs == 2


def test_of_several_programs_the_first_that_passes_the_prompts_examples_is_judged(store, sandbox):
    task = make_task("inc", prompt="Write `inc(x)`. `inc(4)` returns `5`.")
    [original, *_] = plan([task], variants=1).variants
    several = replace(original, programs=2)
    body = CountedCheck()
    judged = CompletionJudge(store, lambda: sandbox).judge(
        several, completions(WRONG, RIGHT, WORDS, WRONG, RIGHT, RIGHT), CHAT, check_of(body)
    )
    assert [(sample.completion.index, sample.cause) for sample in judged] == [
        *((1, ""), (2, "no_code"), (4, ""))
    ]
    # The hidden check judges only the programs that were chosen.
    assert body.runs == 1


def test_a_single_program_of_each_sample_needs_no_examples(store, sandbox, monkeypatch):
    monkeypatch.setattr("pytest_promptse.run._judge.prompt_examples", None)
    assert judge(store, sandbox, [RIGHT, WRONG], CountedCheck()) == ["", "wrong_answer"]


@pytest.mark.parametrize(("spare", "n_builds"), [(0, 2), (-1, 4)])
def test_built_programs_are_kept_up_to_a_number_of_characters(
    store, sandbox, monkeypatch, spare, n_builds
):
    built = []

    class Compiled(Runtime):
        builds = True

        def prepare(self, program, *_, **__):
            built.append(program)
            return program

    def judge_with(keys, *programs):
        judging = CompletionJudge(store, lambda: sandbox)
        for key in keys:
            texts = completions(*(programs or (WRONG, RIGHT)))
            judging.judge(SUITE.variants[0], texts, CHAT, check_of(passing, key))

    monkeypatch.setattr("pytest_promptse.run._judge.runtime_of", lambda *_: Compiled())
    judge_with(["size"])
    characters = sum(map(len, built))
    built.clear()
    monkeypatch.setattr("pytest_promptse.run._judge._MOST_BUILT", characters + spare)
    judge_with(["first", "second"])
    assert len(built) == n_builds
    # The last program is kept however long it is.
    built.clear()
    monkeypatch.setattr("pytest_promptse.run._judge._MOST_BUILT", 0)
    judge_with(["third", "fourth"], RIGHT)
    assert len(built) == 1


@pytest.mark.parametrize("builds", [True, False])
def test_a_program_that_cannot_be_built_has_the_cause_of_its_runtime(
    store, sandbox, monkeypatch, builds
):
    class Failing(Runtime):
        def prepare(self, *_, **__):
            return Failure(cause="syntax", detail="line 1: " + "x" * 9000)

    Failing.builds = builds
    monkeypatch.setattr("pytest_promptse.run._judge.runtime_of", lambda *_: Failing())
    [sample] = CompletionJudge(store, lambda: sandbox).judge(
        SUITE.variants[0], completions(RIGHT), CHAT, check_of(passing)
    )
    assert sample.cause == "syntax"
    assert sample.detail.startswith("line 1: xxx")
    assert len(sample.detail) < 5000


def test_a_program_that_cannot_be_loaded_has_the_cause_of_the_sandbox(store, sandbox):
    assert judge(store, sandbox, [BROKEN], CountedCheck()) == ["syntax"]


def test_a_known_verdict_is_used_without_a_sandbox(store, sandbox):
    judge(store, sandbox, [RIGHT, WRONG], CountedCheck())
    again = CompletionJudge(store, no_sandbox).judge(
        SUITE.variants[-1], completions(WRONG, RIGHT), CHAT, check_of(None)
    )
    assert [sample.cause for sample in again] == ["wrong_answer", ""]


def test_completions_without_a_program_need_no_sandbox(store):
    [sample] = CompletionJudge(store, no_sandbox).judge(
        SUITE.variants[0], completions(WORDS), CHAT, check_of(None)
    )
    assert sample.cause == "no_code"


def test_a_changed_check_judges_again(store, sandbox):
    first, second = CountedCheck(), CountedCheck()
    judge(store, sandbox, [RIGHT], first)
    judge(store, sandbox, [RIGHT], second, key="another check")
    assert (first.runs, second.runs) == (1, 1)


def test_an_error_of_the_check_is_raised_and_leaves_no_verdict(store, sandbox):
    def mistaken(_candidate, _task):
        raise ZeroDivisionError("in the check")

    with pytest.raises(CheckError, match="in the check"):
        judge(store, sandbox, [RIGHT], mistaken)
    body = CountedCheck()
    assert judge(store, sandbox, [RIGHT], body) == [""]
    assert body.runs == 1


@pytest.mark.parametrize("detail", ["\ud800 alone", "long " * 4000, "x" * 4001, "☃\0", "x" * 4000])
def test_every_detail_can_be_stored(store, sandbox, detail):
    def body(_candidate, _task):
        return CheckResult("wrong_answer", detail)

    found = CompletionJudge(store, lambda: sandbox).judge(
        SUITE.variants[0], completions(RIGHT), CHAT, check_of(body)
    )
    again = CompletionJudge(store, no_sandbox).judge(
        SUITE.variants[0], completions(RIGHT), CHAT, check_of(None)
    )
    assert [each.detail for each in again] == [each.detail for each in found]
    assert len(found[0].detail) < 5000
    assert ("characters …" in found[0].detail) == (len(detail) > 4000)


# -- the reference -----------------------------------------------------------------------------


def test_a_reference_that_fails_its_own_check_is_an_error_not_a_failure(store, sandbox):
    suite = plan([make_task(reference="def inc(x):\n    return x\n")])
    with pytest.raises(NotScoredError, match=r"task 'inc': its own reference fails .*got 1"):
        judge(store, sandbox, [RIGHT], CountedCheck(), suite=suite)


def test_the_reference_is_judged_once_for_all_variants(store, sandbox):
    suite = plan([make_task(reference="def inc(x):\n    return 1 + x\n")])
    body, found = CountedCheck(), CompletionJudge(store, lambda: sandbox)
    for planned in suite.variants:
        found.judge(planned, completions(RIGHT), CHAT, check_of(body))
    assert body.runs == 2


# -- time-outs ---------------------------------------------------------------------------------


class SlowMachine:
    """A sandbox in which programs time out without using the processor, unless alone."""

    def __init__(self, *, cpu_seconds):
        self.loads = []
        self._cpu_seconds = cpu_seconds

    @contextmanager
    def load(self, _program, *, alone, **_limits):
        self.loads.append(alone)
        failure = None if alone else Failure(cause="timeout", detail="no answer")
        yield SimpleNamespace(failure=failure, cpu_seconds=self._cpu_seconds, seconds=0.0)


def test_a_time_out_that_load_may_explain_is_confirmed_alone(store):
    machine = SlowMachine(cpu_seconds=0.0)
    assert judge(store, machine, [RIGHT], passing, forks=False) == [""]
    assert machine.loads == [False, True]


def test_a_program_that_used_up_the_processor_is_not_run_again(store):
    machine = SlowMachine(cpu_seconds=Limits().cpu)
    assert judge(store, machine, [RIGHT], passing, forks=False) == ["timeout"]
    assert machine.loads == [False]


# -- what a program leaves behind ---------------------------------------------------------------

EDITS = "```python\ndef inc(x):\n    x.append(0)\n    return len(x)\n```"
HONEST = "```python\ndef inc(x):\n    return len(x)\n```"


def test_what_a_program_changes_in_place_is_as_before_for_the_next(store, sandbox):
    shared = [1]

    def body(candidate, _task):
        return CheckResult("" if candidate(shared) == 1 else "wrong_answer")

    assert judge(store, sandbox, [EDITS, HONEST], body) == ["wrong_answer", ""]
    assert shared == [1]


def test_what_a_program_does_to_a_lent_object_ends_with_its_check(store, sandbox):
    class Settings:
        tolerance = 0

    settings = Settings()
    wrong = "```python\ndef inc(settings):\n    {}return 3\n```"
    edits, reads = wrong.format("settings.tolerance = 9; "), wrong.format("")

    def body(candidate, _task):
        answer = candidate(settings)
        return CheckResult("" if abs(answer - 2) <= settings.tolerance else "wrong_answer")

    assert judge(store, sandbox, [edits, reads], body)[1] == "wrong_answer"
    assert not vars(settings)


def test_programs_share_a_process_as_long_as_only_values_pass(store, sandbox):
    processes = mmap.mmap(-1, mmap.PAGESIZE)

    def body(candidate, _task):
        processes[candidate(1)] = os.getpid() % 251 + 1
        return CheckResult("")

    programs = [f"```python\ndef inc(x):\n    return {number}\n```" for number in range(3)]
    judge(store, sandbox, programs, body)
    assert len(set(processes[:3])) == 1
    assert processes[0]


def test_a_check_that_crashes_costs_one_verdict(store, sandbox):
    def body(candidate, _task):
        if candidate(1) == 0:
            ctypes.string_at(0)
        return CheckResult("")

    assert judge(store, sandbox, [RIGHT, WRONG, f"Again:\n{RIGHT}"], body) == ["", "resource", ""]


def test_a_check_that_hangs_costs_one_verdict(store, sandbox, monkeypatch):
    monkeypatch.setattr("pytest_promptse.sandbox._limits._LEAST_CHECK_SECONDS", 0.2)
    monkeypatch.setattr("pytest_promptse.sandbox._checker._PATIENCE", 0)
    monkeypatch.setattr("pytest_promptse.sandbox._limits._CHECK_FACTOR", 0)

    def body(candidate, _task):
        if candidate(1) == 0:
            threading.Event().wait()
        return CheckResult("")

    assert judge(store, sandbox, [WRONG, RIGHT], body) == ["timeout", ""]


def test_a_lent_function_that_keeps_the_interpreter_busy_costs_the_seconds_of_a_program(
    store, sandbox
):
    def body(candidate, _task):
        candidate(lambda text: re.fullmatch(r"(a+)+", text) is None)
        return CheckResult("")

    searches = "```python\ndef inc(search):\n    search('a' * 40 + 'b')\n```"
    limits = Limits(wall=0.3, cpu=0.3)
    judged = CompletionJudge(store, lambda: sandbox).judge(
        SUITE.variants[0], completions(searches), CHAT, replace(check_of(body), limits=limits)
    )
    assert [sample.cause for sample in judged] == ["timeout"]
    assert "CPU time" in judged[0].detail


def test_a_lent_object_that_never_answers_costs_the_seconds_of_a_program(store, sandbox):
    def wait():
        threading.Event().wait()

    def body(candidate, _task):
        candidate(wait)
        return CheckResult("")

    waits = "```python\ndef inc(wait):\n    wait()\n```"
    ignores = "```python\ndef inc(wait):\n    pass\n```"
    limits = Limits(wall=0.3, cpu=0.3)
    judged = CompletionJudge(store, lambda: sandbox).judge(
        SUITE.variants[0], completions(waits, ignores), CHAT, replace(check_of(body), limits=limits)
    )
    assert [(sample.cause, sample.detail) for sample in judged] == [
        ("timeout", "an object of the check did not answer the program within 0.6 s"),
        ("", ""),
    ]


def test_answers_that_a_check_keeps_cannot_take_all_memory(store, sandbox):
    def body(candidate, _task):
        answers = [candidate(1)]
        while answers[0] == 0:
            answers.append(bytearray(64 * 2**20))
        return CheckResult("")

    assert judge(store, sandbox, [WRONG, RIGHT], body) == ["resource", ""]


# -- the run log -------------------------------------------------------------------------------

SAMPLES = st.lists(
    st.tuples(
        st.sampled_from(["", "wrong_answer", "timeout", "no_code"]), st.sampled_from("abcdefghijkl")
    ),
    min_size=1,
    max_size=40,
)


def row_of(drawn):
    judged = [
        JudgedSample(
            completion=Completion(index=index, text=text),
            program=None if cause == "no_code" else text,
            cause=cause,
            detail=cause and f"{cause} {index}",
        )
        for index, (cause, text) in enumerate(drawn)
    ]
    return variant_row(SUITE, SUITE.variants[-1], judged, node=None)


@given(SAMPLES)
def test_answers_are_equal_exactly_where_the_texts_are(drawn):
    texts = [text for _, text in drawn]
    row = row_of(drawn)
    assert [draw.answer for draw in row.variant.draws] == [texts.index(text) for text in texts]


@given(SAMPLES)
def test_the_kept_outcomes_are_the_most_frequent_and_show_every_cause(drawn):
    row = row_of(drawn)
    kept = [(outcome.cause or "", row.texts[outcome.text]) for outcome in row.variant.samples]
    numbers = [outcome.n for outcome in row.variant.samples]
    assert {cause for cause, _ in kept} == {cause for cause, _ in drawn}
    assert len(kept) == min(len(set(drawn)), 8)
    assert numbers == [drawn.count(outcome) for outcome in kept]
    assert numbers == sorted(numbers, reverse=True)


@given(SAMPLES)
def test_the_row_keeps_each_cause_and_the_first_example_of_it(drawn):
    row = row_of(drawn)
    causes = [cause for cause, _ in drawn]
    assert [draw.cause or "" for draw in row.variant.draws] == causes
    assert row.variant.causes == {cause: causes.count(cause) for cause in set(causes) - {""}}
    assert (row.variant.n, row.variant.passes) == (len(causes), causes.count(""))
    assert row.variant.pass_rate == causes.count("") / len(causes)
    assert row.variant.details == {
        cause: f"{cause} {causes.index(cause)}" for cause in set(causes) - {""}
    }


def test_the_row_names_the_variant():
    planned = SUITE.variants[-1]
    row = row_of([("", "a")])
    assert (row.key, row.variant.id) == (SUITE.key, planned.variant.id)
    for name in planned.variant.__struct_fields__:
        assert getattr(row.variant, name) == getattr(planned.variant, name)
