"""What variants need next is requested in the order of their rounds, and once it has arrived."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from planned_suites import make_task, plan
from scripted_backend import put

from pytest_promptse.errors import ModelError
from pytest_promptse.models._base import SHORTEN, Prompt
from pytest_promptse.run import _texts
from pytest_promptse.run._model_variants import rewrites
from pytest_promptse.run._texts import TextRequests
from pytest_promptse.run._variant_prompts import PendingAnswers, VariantPrompt
from pytest_promptse.variants._generate import Selection
from pytest_promptse.variants._rewriter import Rewriter, WritingModel, ask
from pytest_promptse.variants._variant import original


def test_a_round_requests_its_variants_with_their_controls():
    requested = []
    texts = TextRequests(
        store=None, run_log=None, sampler=lambda: SimpleNamespace(request=requested.extend)
    )
    suite = plan(samples="auto", variants=4, min_auc_e=0.5, control="neutral")
    texts.select([(suite, planned) for planned in (*suite.variants, *suite.controls)])
    rounds = {}
    for planned in suite.variants:
        rounds.setdefault(suite.round_of(planned), []).append(planned)
    assert len(rounds) > 1
    for number, variants in rounds.items():
        requested.clear()
        texts.request_round(suite, variants)
        controls = [one for one in suite.controls if suite.round_of(one) == number]
        assert controls
        assert [job.key for job in requested] == [one.job.key for one in (*variants, *controls)]


# -- prompts that wait for answers -------------------------------------------------------------

FIRST = Prompt(user="Plan it.")


class Sampler:
    """Stands for the sampler, and answers a job when something waits for it."""

    def __init__(self, store):
        self.requested, self.store, self.error = [], store, None

    def request(self, jobs):
        self.requested += jobs

    def wait(self, job, *, tick):
        tick()
        if self.error is not None:
            raise self.error
        put(self.store, job, [0])


def silent(_request):
    """Yield no text."""
    yield from ()


class Silent(Rewriter):
    name, version, model = "silent", "1", WritingModel(spec="fake:writer", max_requests=2)

    def __init__(self, script=silent):
        self._script = script

    def candidates(self, request):
        return self._script(request)


def written_by(script=silent):
    """Return a text that a model must write."""
    [rewrite] = rewrites(
        make_task(),
        Selection(distances=(0.3,), per_distance=1),
        rewriter=Silent(script),
        backend=lambda _: SimpleNamespace(identity={}),
    )
    return rewrite


def waiting(*needed, later=None):
    """Return a suite whose variants need these answers, with a prompt that contains them."""
    variant = original("inc", "Write `inc(x)`.")

    def made(text, pending=None):
        prompt = Prompt(user=text)
        return VariantPrompt(variant=variant, prompt=prompt, task_text=text, pending=pending)

    pending = PendingAnswers(
        needed=needed, finish=lambda answers: made(f"answered: {answers}"), later=later
    )
    return plan(variants=1, distances="0.3", make=lambda: made("not yet", pending))


@pytest.fixture
def sampler(store):
    return Sampler(store)


@pytest.fixture
def rows():
    return []


@pytest.fixture
def texts(store, sampler, rows):
    return TextRequests(
        store=lambda: store,
        run_log=lambda: SimpleNamespace(add=rows.append),
        sampler=lambda: sampler,
    )


@pytest.fixture
def time(monkeypatch):
    """The time, which passes by a second with each look at it."""
    now = [1000.0]

    def monotonic():
        now[0] += 1.0
        return now[0]

    monkeypatch.setattr(_texts.time, "monotonic", monotonic)
    return now


def test_an_answer_is_requested_before_the_samples(texts, store):
    suite = waiting(FIRST)
    planned = suite.variants[1]
    [job] = texts.next_jobs(suite, planned)
    assert (job.prompt, job.n, job.decoding.temperature) == (FIRST, 1, 0.0)
    put(store, job, [0])
    [samples] = texts.next_jobs(suite, planned)
    assert samples.prompt.user == "answered: ['x']"
    assert samples.n == planned.n
    assert not samples.key.startswith("pending-")


def test_a_variant_with_its_prompt_needs_its_samples_alone(texts):
    suite = plan(variants=1)
    planned = suite.variants[0]
    assert texts.next_jobs(suite, planned) == texts.expected_jobs(suite, planned) == [planned.job]


def test_a_variant_whose_text_failed_requests_nothing(texts):
    suite = waiting(written_by())
    assert texts.next_jobs(suite, suite.variants[0]) == []


def test_the_cost_counts_all_answers_and_the_samples(texts):
    later = PendingAnswers(needed=(Prompt(user="later"),), finish=None)
    suite = waiting(FIRST, later=later)
    planned = suite.variants[0]
    expected = {job.key: job for job in texts.expected_jobs(suite, planned)}
    assert [(job.prompt.user, job.n) for job in expected.values()] == [
        ("Plan it.", 1),
        ("not yet", planned.n),
        ("later", 1),
    ]
    assert [key.startswith("pending-") for key in expected] == [False, True, False]


def test_the_cost_of_a_text_is_that_of_all_its_requests(texts):
    def asks(_request):
        yield from ask("one")

    suite = waiting(written_by(asks))
    expected = {job.key: job for job in texts.expected_jobs(suite, suite.variants[0])}
    assert sorted(job.prompt.user for job in expected.values()) == ["not yet", "one", "one"]


def test_samples_are_requested_once_the_answer_has_arrived(texts, sampler, store, time):
    suite = waiting(FIRST)
    first, second = suite.variants
    texts.request(suite, [first, second])
    jobs = list(sampler.requested)
    assert [job.prompt for job in jobs] == [FIRST, FIRST]
    texts.process_arrived()
    assert sampler.requested == jobs
    put(store, jobs[1], [0])
    time[0] += 60
    texts.process_arrived()
    [samples] = sampler.requested[2:]
    assert (samples.prompt.user, samples.variant_id) == ("answered: ['x']", second.outline.id)
    time[0] += 60
    texts.process_arrived()
    assert len(sampler.requested) == 3


def test_the_pause_after_a_check_is_nine_times_as_long_and_a_fifth_of_a_second(
    texts, store, monkeypatch
):
    now, step = [1000.0], [0.0]
    checks = []
    seen = store.missing
    monkeypatch.setattr(store, "missing", lambda keys: checks.append(now[0]) or seen(keys))

    def monotonic():
        now[0] += step[0]
        return now[0]

    monkeypatch.setattr(_texts.time, "monotonic", monotonic)
    suite = waiting(FIRST)
    texts.next_jobs(suite, suite.variants[0])
    checks.clear()
    step[0] = 1.0
    texts.process_arrived()
    assert checks == [1001.0]
    # It took a second, until 1002. The next one is 9 seconds and 0.2 later.
    step[0] = 0.0
    for moment, n in ((1002.0, 1), (1011.1, 1), (1011.2, 2), (1011.3, 2), (1011.5, 3)):
        now[0] = moment
        texts.process_arrived()
        assert len(checks) == n, moment


def test_a_prompt_is_made_of_the_answers_it_waits_for(texts):
    ticks = []
    planned = waiting(FIRST).variants[0]
    made = texts.written(planned, lambda: ticks.append(1))
    assert ticks == [1]
    assert made.job.prompt.user == "answered: ['x']"
    assert made.first_key == planned.job_for(FIRST, first=True).key
    assert made.pending is None


def test_a_text_that_fails_is_logged_all_the_same(texts, rows):
    rewrite = written_by()
    with pytest.raises(ModelError, match="silent: no text for inc"):
        texts.written(waiting(rewrite).variants[0], lambda: None)
    assert [row.accepted for row in rows] == [False]


@pytest.mark.parametrize("is_text", [False, True])
def test_only_a_text_without_room_needs_a_longer_context(texts, sampler, is_text):
    def asks(_request):
        yield from ask("one")

    sampler.error = ModelError(f"too long; {SHORTEN}")
    suite = waiting(written_by(asks) if is_text else FIRST)
    with pytest.raises(ModelError) as error:
        texts.written(suite.variants[0], lambda: None)
    assert ("longer context" in str(error.value)) == is_text
    assert (SHORTEN in str(error.value)) != is_text
