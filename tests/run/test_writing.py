"""A model writes variants outside of a run, with the queue and the store of a run."""

from __future__ import annotations

import pytest
from scripted_backend import ScriptedBackend

from pytest_promptse.errors import ModelError
from pytest_promptse.models._base import SHORTEN, Completion, FatalError, Response, Usage
from pytest_promptse.run._model_variants import rewrites
from pytest_promptse.run._writing import write_all
from pytest_promptse.tasks._task import Task
from pytest_promptse.variants._generate import Selection
from pytest_promptse.variants._rewriter import Rewriter, WritingModel, ask

TASK = Task(
    id="add",
    prompt="Write `add(a, b)`: return the sum of both numbers. Keep the code short and plain.",
)


class Asking(Rewriter):
    """Asks for a text as often as it may."""

    name, version = "asking", "1"
    model = WritingModel(spec="fake:model", max_requests=2)

    def candidates(self, request):
        for number in range(2):
            text = yield from ask(f"{request.index} {number}")
            yield text


def answering(ask, _number):
    """Write a wrong text at the first request for a variant, and then a right one."""
    index, number = ask.prompt.user.split()
    text = f"Phew, long day, I am half asleep. I have been up since {index}.\n\n{TASK.prompt}"
    if number == "0":
        text = TASK.prompt.replace("the sum of", "the product of")
    return Response(
        completions=(Completion(index=0, text=text),),
        usage=Usage(requests=1, prompt_tokens=10, completion_tokens=2),
    )


@pytest.fixture
def write(tmp_path):
    """Let a model with this script write three variants, and return the backend as well."""

    def write(script):
        backend = ScriptedBackend(script)
        wanted = rewrites(
            TASK,
            Selection(distances=(0.3,), per_distance=3),
            rewriter=Asking(),
            backend=lambda _: backend,
        )
        return wanted, backend, write_all(wanted, lambda: backend, folder=tmp_path / "store")

    return write


def test_all_texts_are_written_and_counted_and_kept(write):
    wanted, backend, written = write(answering)
    assert list(written.variants) == wanted
    assert [variant.index for variant in written.variants.values()] == [0, 1, 2]
    assert all(variant.text.endswith(TASK.prompt) for variant in written.variants.values())
    assert written.n_texts == 6
    assert list(written.rejected) == wanted
    assert {sum(rules.values()) for rules in written.rejected.values()} == {
        sum(next(iter(written.rejected.values())).values())
    }
    assert all(written.rejected.values())
    assert (written.usage.requests, written.usage.completion_tokens) == (6, 12)
    assert len(backend.asks) == 6
    # The first requests of all variants do not wait for each other.
    assert sorted(ask.prompt.user for ask in backend.asks[:3]) == ["0 0", "1 0", "2 0"]
    again, backend, kept = write(answering)
    assert [kept.variants[one].text for one in again] == [
        written.variants[one].text for one in wanted
    ]
    assert (backend.asks, kept.usage.requests, kept.n_texts) == ([], 0, 6)
    assert backend.closed == backend.started


def test_a_text_that_is_never_right_is_an_error(write):
    with pytest.raises(ModelError, match=r"^asking: none of 2 texts for add\["):
        write(lambda ask, _: answering(ask, 0) if ask.prompt.user != "1 1" else wrong())


def wrong():
    return Response(completions=(Completion(index=0, text="No."),), usage=Usage(requests=1))


@pytest.mark.parametrize(
    ("message", "said"), [("broken", "broken"), (f"too long; {SHORTEN}", "with a longer context")]
)
def test_an_error_of_the_model_has_the_remedy_for_texts(write, message, said):
    def fail(_ask, _number):
        raise FatalError(message)

    with pytest.raises(ModelError, match=said) as error:
        write(fail)
    assert SHORTEN not in str(error.value)
