"""Texts that a model writes or judges, from the first request until one is accepted."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import pytest

from pytest_promptse.errors import ModelError, VariantError
from pytest_promptse.models._base import LOWER_LENGTH, SHORTEN, Completion, Usage
from pytest_promptse.run._model_variants import DoubtedText, ModelVariants, no_room, rewrites
from pytest_promptse.sampling._job import Job
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._entailment import EntailmentJudge
from pytest_promptse.variants._generate import Selection
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants._rewriter import Draft, Rewriter, WritingModel, ask
from pytest_promptse.variants._variant import original
from pytest_promptse.variants.invariance._finding import Finding

TASK = Task(
    id="add",
    prompt="Write `add(a, b)`: return the sum of both numbers. Keep the code short and plain.",
)
BACKEND = SimpleNamespace(spec="paid:writer", identity={"backend": "paid"})
JUDGE = EntailmentJudge(
    SimpleNamespace(spec="paid:judge", identity={"backend": "judge"}), library=load_library(None)
)
OTHER = TASK.prompt.replace("the sum of", "the product of")


def text(number=0):
    return f"Phew, long day, I am half asleep. I have been up since {number}.\n\n{TASK.prompt}"


class Scripted(Rewriter):
    """Yields what `script` does, which gets the request."""

    name, version = "scripted", "1"
    model = WritingModel(spec="paid:writer", max_requests=3, instruction="Reword it.")

    def __init__(self, script, **changed):
        self.script, self.sent = script, []
        for name, value in changed.items():
            setattr(self, name, value)

    def candidates(self, request):
        return self.script(request)


def asks(request):
    """Ask for a text until one is accepted."""
    for number in count():
        answer = yield from ask(f"{request.distance:g} {number}")
        yield answer


@pytest.fixture
def wanted():
    """The texts of one variant at each of two distances, by a rewriter with a script."""

    def wanted(script=asks, *, distances=(0.3,), per_distance=1, **changed):
        options = {name: changed.pop(name) for name in ("also", "entailment") if name in changed}
        return rewrites(
            TASK,
            Selection(distances=distances, per_distance=per_distance),
            rewriter=Scripted(script, **changed),
            backend=lambda _: BACKEND,
            **options,
        )

    return wanted


@pytest.fixture
def texts(store):
    return ModelVariants(lambda: store)


@pytest.fixture
def respond(store):
    """Store the answer to a request."""

    def respond(job, answer):
        assert isinstance(job, Job)
        store.add_completions(
            job.key,
            [Completion(index=0, text=answer)],
            usage=Usage(),
            model=job.model,
            prompt=job.prompt,
            decoding=job.decoding,
            task_id=job.task_id,
            variant_id=job.variant_id,
            seed=job.seed,
            form="chat",
            template=None,
        )

    return respond


def test_a_rewriter_without_a_model_writes_nothing(wanted):
    with pytest.raises(VariantError, match=r"^rewriter scripted/1 asks no model$"):
        wanted(model=None)


def test_a_text_is_requested_once_and_accepted(wanted, texts, respond):
    [rewrite] = wanted()
    job = texts.next_step(rewrite)
    assert texts.next_step(rewrite) == job
    assert (job.model, job.n, job.prompt.user) == ("paid:writer", 1, "0.3 0")
    assert (job.task_id, job.variant_id) == ("add", f"{rewrite.variant.id}-text-0")
    [row] = texts.rows(rewrite)
    assert (row.texts, row.accepted) == (0, False)
    respond(job, text())
    variant = texts.next_step(rewrite)
    assert (variant.text, variant.id, variant.rewriter) == (
        text(),
        rewrite.variant.id,
        "scripted/1",
    )
    assert texts.next_step(rewrite) is variant
    [row] = texts.rows(rewrite)
    assert (row.texts, row.accepted, row.rules, row.rejected) == (1, True, {}, [])
    assert (row.rewriter, row.model, row.instruction) == ("scripted/1", "paid:writer", "Reword it.")
    assert (row.task, row.variant) == ("add", f"{variant.id}-{variant.seed}")
    assert texts.expected_jobs(rewrite) == []


def test_a_rejected_text_is_requested_again_as_often_as_the_model_may_be_asked(
    wanted, texts, respond
):
    [rewrite] = wanted()
    keys = []
    for number in range(3):
        job = texts.next_step(rewrite)
        assert (job.prompt.user, job.variant_id) == (
            f"0.3 {number}",
            f"{rewrite.variant.id}-text-{number}",
        )
        keys.append(job.key)
        respond(job, OTHER)
    assert len(set(keys)) == 3
    for _ in range(2):
        with pytest.raises(ModelError, match=r"^scripted: none of 3 texts for add\[.*product"):
            texts.next_step(rewrite)
    [row] = texts.rows(rewrite)
    assert (row.texts, row.accepted) == (3, False)
    assert [rejected for rejected, _ in row.rejected] == [OTHER] * 3
    assert set(row.rules.values()) == {3}
    # A later process takes the same answers from the store.
    with pytest.raises(ModelError, match="none of 3 texts"):
        ModelVariants(texts._store).next_step(rewrite)


def test_a_rewriter_may_offer_as_many_texts_as_it_may_ask(wanted, texts):
    def offers(_request):
        for number in range(9):
            yield OTHER if number != 3 else text()

    [rewrite] = wanted(offers)
    with pytest.raises(ModelError, match="none of 3 texts"):
        texts.next_step(rewrite)
    [rewrite] = wanted(lambda _: offering(OTHER, OTHER, text()))
    assert texts.next_step(rewrite).text == text()


def offering(*drafts):
    for draft in drafts:  # noqa: UP028 - findings are sent back
        yield draft


def test_a_draft_keeps_what_the_rewriter_says_about_it(wanted, texts):
    draft = Draft(text=text(), cues={"emotion": "half asleep"}, operations=("x:y",))
    [rewrite] = wanted(lambda _: offering(draft))
    variant = texts.next_step(rewrite)
    assert variant.cues == {"emotion": "half asleep"}


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (lambda _: offering(), r"^scripted: no text for add\["),
        (
            lambda _: offering(*2 * [Draft(text="", findings=(Finding("refusal", "it says no"),))]),
            r"^scripted: it says no \(2 times for add\[.*; use another model, or",
        ),
    ],
)
def test_a_rewriter_that_gives_up_says_why(wanted, texts, script, message):
    [rewrite] = wanted(script)
    with pytest.raises(ModelError, match=message):
        texts.next_step(rewrite)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (VariantError("no such emotion"), "^no such emotion$"),
        (KeyError("x"), r"^the rewriter scripted/1 raised KeyError\('x'\)$"),
    ],
)
def test_an_error_of_a_rewriter_is_that_of_the_variant(wanted, texts, error, message):
    def raises(_request):
        yield OTHER
        raise error

    [rewrite] = wanted(raises)
    with pytest.raises(ModelError, match=message):
        texts.next_step(rewrite)


def test_no_two_variants_have_the_same_text_whichever_answer_comes_first(wanted, texts, respond):
    first, second = wanted(per_distance=2)
    jobs = [texts.next_step(each) for each in (first, second)]
    assert jobs[0].key != jobs[1].key
    respond(jobs[1], text())
    # The first variant may still get this text.
    assert texts.next_step(second) == jobs[0]
    respond(jobs[0], text())
    assert texts.next_step(first).text == text()
    again = texts.next_step(second)
    assert again.prompt.user == "0.3 1"
    respond(again, text(1))
    assert texts.next_step(second).text == text(1)


def test_a_variant_without_a_text_takes_none_from_the_others(wanted, texts, respond):
    first, second = wanted(per_distance=2)
    for _ in range(3):
        respond(texts.next_step(first), OTHER)
    with pytest.raises(ModelError):
        texts.next_step(first)
    respond(texts.next_step(second), text())
    assert texts.next_step(second).text == text()


def test_further_findings_reject_a_text_without_the_judge_model(wanted, texts, respond):
    [rewrite] = wanted(also=lambda _: [Finding("own", "not ours")], entailment=JUDGE)
    respond(texts.next_step(rewrite), text())
    assert texts.next_step(rewrite).prompt.user == "0.3 1"
    [row] = texts.rows(rewrite)
    assert row.rules == {"own": 1}
    assert row.rejected == [(text(), [str(Finding("own", "not ours"))])]


# -- the judge model ---------------------------------------------------------------------------

DOUBT = Finding("sentence", "is it asked?", questions=(("a", "b"), ("b", "a")))


@pytest.fixture
def doubted():
    def doubted(*findings, entailment=JUDGE):
        return DoubtedText(
            task=TASK,
            variant=original("add", text()),
            entailment=entailment,
            findings=findings or (DOUBT,),
            place="frozen/add/d0.3.jsonl:1",
        )

    return doubted


def answers(texts, pending, respond, *given):
    """Give the judge's answers in turn, and return the step after them."""
    for answer in given:
        respond(texts.next_step(pending), answer)
    return texts.next_step(pending)


NO = ("no",) * len(JUDGE.controls)


def test_a_text_is_accepted_if_each_question_is_answered_as_it_must_be(texts, doubted, respond):
    pending = doubted()
    assert texts.expected_jobs(pending) == [job.job for job in pending.questions([DOUBT])]
    assert len(texts.expected_jobs(pending)) == len(JUDGE.controls) + 2
    first = texts.next_step(pending)
    assert (first.model, first.n, first.task_id) == ("paid:judge", 1, "add")
    assert first.variant_id == "original-entailment-0"
    assert first.decoding.temperature == 0.0
    variant = answers(texts, pending, respond, *NO, "yes", "Yes.")
    assert variant is pending.variant
    [row] = texts.rows(pending)
    assert (row.texts, row.questions, row.cleared) == (1, 2, 1)
    assert (row.model, row.instruction, row.task) == ("paid:judge", JUDGE.digest, "add")
    assert texts.expected_jobs(pending) == []


def test_a_text_that_the_judge_denies_is_rejected_at_the_first_no(texts, doubted, respond):
    pending = doubted()
    message = (
        r"^task 'add': original in frozen/add/d0\.3\.jsonl:1 is not the same task, and paid:judge "
        r"does not say that it is: .*is it asked\?; see 'promptse variants audit'$"
    )
    with pytest.raises(ModelError, match=message):
        answers(texts, pending, respond, *NO, "no")
    [row] = texts.rows(pending)
    assert (row.texts, row.questions, row.cleared) == (1, 1, 0)


def test_a_judge_that_confirms_a_control_is_none(texts, doubted, respond):
    pending = doubted()
    with pytest.raises(ModelError, match="paid:judge says yes to a request that differs, so it"):
        answers(texts, pending, respond, *NO[1:], "yes")
    [row] = texts.rows(pending)
    assert (row.questions, row.cleared) == (0, 0)


def test_without_a_judge_there_is_no_question(doubted):
    assert doubted(entailment=None).questions([DOUBT]) == ()


def test_the_same_question_is_asked_once(doubted):
    pending = doubted(DOUBT, DOUBT)
    questions = pending.questions(pending.findings)
    assert [question.is_control for question in questions] == [*(True for _ in NO), False, False]
    assert len({question.job.key for question in questions}) == len(questions)


# -- the cost ----------------------------------------------------------------------------------


def test_a_text_may_cost_all_requests_that_its_model_may_get(wanted, texts, respond):
    [rewrite] = wanted()
    jobs = texts.expected_jobs(rewrite)
    assert len({job.key for job in jobs}) == len(jobs) == 2
    assert {job.prompt.user for job in jobs} == {"0.3 0"}
    respond(texts.next_step(rewrite), OTHER)
    texts.next_step(rewrite)
    assert len(texts.expected_jobs(rewrite)) == 1


def test_a_text_may_cost_the_questions_about_every_sentence_of_each_draft(wanted, texts):
    [alone], [judged] = wanted(), wanted(entailment=JUDGE)
    extra = texts.expected_jobs(judged)[len(texts.expected_jobs(alone)) :]
    assert {job.model for job in extra} == {"paid:judge"}
    controls = [job for job in extra if job.key in {q.job.key for q in judged.questions([])}]
    # The controls are the same for all drafts; any other question counts for each.
    assert len(controls) == 3 * len(NO)
    assert len({job.key for job in controls}) == len(NO)
    others = [job for job in extra if job not in controls]
    assert len({job.key for job in others}) == len(others)
    assert len(others) % 3 == 0
    assert others


@pytest.mark.parametrize("remedy", [SHORTEN, LOWER_LENGTH])
def test_a_text_without_room_is_not_to_be_shortened(remedy):
    message = no_room(ModelError(f"too long; {remedy}"))
    assert message.startswith("too long; use a model with a longer context to write or judge")
    assert "up to 2048 tokens of answer" in message
    assert no_room(ModelError("too long")) == ""
