import asyncio
import json
import os
import shutil
import subprocess
import sys

import ctranslate2
import pytest

from pytest_promptse.config._data_files import tiny_dir
from pytest_promptse.errors import ModelError
from pytest_promptse.models._base import Decoding, Prompt, Request, TransientError
from pytest_promptse.models._ct2 import Ct2Backend, tiny_backend

VAGUE = Prompt(user="I'm tired. Write `mean(values: list[float]) -> float`: the middle of it all.")
CLEAR = Prompt(user="Write `unique(items: list) -> list`: remove duplicate items.")


def ask(seed=0, *, prompt=VAGUE, n=8, first=0, temperature=1.0, top_p=1.0, max_tokens=60):
    decoding = Decoding(temperature=temperature, top_p=top_p, max_tokens=max_tokens)
    return Request(prompt=prompt, decoding=decoding, n=n, first=first, seed=seed, task_id="mean")


def answers(*asks, backend=None, together=True):
    """Start a backend and send it the prompts, all at once or one after the other."""

    async def run():
        model = backend or tiny_backend()
        await model.start()
        try:
            if together:
                return await asyncio.gather(*map(model.complete, asks))
            return [await model.complete(each) for each in asks]
        finally:
            await model.close()

    return asyncio.run(run())


def start(backend):
    async def run():
        try:
            return await backend.start()
        finally:
            await backend.close()

    return asyncio.run(run())


def texts(answer):
    return [completion.text for completion in answer.completions]


@pytest.fixture
def folder(tmp_path):
    """A copy of the embedded model that a test may spoil."""
    return shutil.copytree(tiny_dir() / "ct2", tmp_path / "model")


# Seeds


def test_a_response_does_not_depend_on_earlier_requests():
    first, second = (ask(seed) for seed in (1, 2))
    forwards = answers(first, second, together=False)
    backwards = answers(second, first, together=False)
    assert forwards == backwards[::-1]


def test_a_request_is_answered_alike_whatever_else_is_under_way():
    alone = answers(ask(1))[0]
    crowd = answers(ask(5), ask(1), ask(6, prompt=CLEAR), ask(1))
    assert crowd[1] == crowd[3] == alone


def test_two_backends_in_one_process_leave_each_other_alone():
    async def run():
        models = [tiny_backend() for _ in range(3)]
        for model in models:
            await model.start()
        found = await asyncio.gather(
            *(model.complete(ask(seed)) for seed in (1, 2) for model in models)
        )
        for model in models:
            await model.close()
        return found

    one, other = answers(ask(1), ask(2))
    assert asyncio.run(run()) == [one] * 3 + [other] * 3


def test_another_process_answers_alike():
    program = (
        "import asyncio, json\n"
        "from pytest_promptse.models._base import Request, Decoding, Prompt\n"
        "from pytest_promptse.models._ct2 import tiny_backend\n"
        "model = tiny_backend()\n"
        "asyncio.run(model.start())\n"
        f"decoding = Decoding(temperature=1.0, max_tokens=60)\n"
        f"request = Request(prompt=Prompt(user={VAGUE.user!r}), decoding=decoding, n=8, seed=1)\n"
        "answer = asyncio.run(model.complete(request))\n"
        "print(json.dumps([c.text for c in answer.completions]))\n"
    )
    other = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(other.stdout) == texts(answers(ask(1))[0])


def test_another_seed_draws_other_samples():
    drawn = {tuple(texts(answer)) for answer in answers(*(ask(seed) for seed in range(5)))}
    assert len(drawn) == 5


def test_later_samples_do_not_repeat_the_earlier_ones():
    earlier, later = answers(ask(1), ask(1, first=8))
    assert [completion.index for completion in later.completions] == list(range(8, 16))
    assert texts(earlier) != texts(later)


def test_samples_come_in_no_order_of_likelihood():
    drawn = answers(*(ask(seed, n=4) for seed in range(12)))
    firsts_that_are_best = sum(
        answer.completions[0].logprob == max(c.logprob for c in answer.completions)
        for answer in drawn
    )
    assert firsts_that_are_best < 12


@pytest.mark.parametrize("n", [1, 33, 64])
def test_there_are_as_many_completions_as_requested(n):
    (answer,) = answers(ask(n=n, max_tokens=4))
    assert [completion.index for completion in answer.completions] == list(range(n))


def test_samples_beyond_one_batch_are_new_ones():
    (answer,) = answers(ask(n=64))
    assert texts(answer)[:32] != texts(answer)[32:]


# Decoding


def test_temperature_zero_gives_the_likeliest_answer_every_time():
    greedy, sampled = answers(ask(n=3, temperature=0.0), ask(n=16))
    assert len(greedy.completions) == 3
    assert len(set(texts(greedy))) == 1
    assert greedy.completions[0].logprob > min(c.logprob for c in sampled.completions)


def test_a_tiny_top_p_leaves_only_the_likeliest_token():
    narrow, greedy = answers(ask(temperature=2.0, top_p=1e-6), ask(temperature=0.0))
    assert texts(narrow) == texts(greedy)


def test_log_probabilities_are_the_models_own_whatever_the_temperature():
    cold, warm = answers(ask(n=32, temperature=0.3), ask(n=32, temperature=1.0))
    by_text = {c.text: c.logprob for c in warm.completions}
    shared = [c for c in cold.completions if c.text in by_text]
    assert shared
    for completion in shared:
        assert completion.logprob == pytest.approx(by_text[completion.text], abs=1e-3)


def test_an_answer_that_ends_by_itself_has_stopped():
    (answer,) = answers(ask(prompt=CLEAR, temperature=0.0, max_tokens=200))
    assert answer.completions[0].finish_reason == "stop"
    assert answer.completions[0].n_tokens < 200
    assert answer.completions[0].text.endswith("```")


def test_an_answer_that_is_cut_off_says_so_and_counts_its_tokens():
    (answer,) = answers(ask(prompt=CLEAR, max_tokens=5))
    assert {c.finish_reason for c in answer.completions} == {"length"}
    assert {c.n_tokens for c in answer.completions} == {5}


def test_the_end_token_counts_as_a_token():
    (whole,) = answers(ask(prompt=CLEAR, n=1, temperature=0.0, max_tokens=200))
    length = whole.completions[0].n_tokens
    (cut,) = answers(ask(prompt=CLEAR, n=1, temperature=0.0, max_tokens=length - 1))
    assert cut.completions[0].finish_reason == "length"
    assert cut.completions[0].text == whole.completions[0].text
    assert cut.completions[0].logprob >= whole.completions[0].logprob


def test_usage_counts_the_prompt_once_and_every_generated_token():
    (answer,) = answers(ask(n=3))
    assert answer.usage.requests == 1
    assert answer.usage.prompt_tokens > 10
    assert answer.usage.completion_tokens == sum(c.n_tokens for c in answer.completions)


# Files of a model


def test_a_model_with_a_chat_template_answers_as_a_chat(folder):
    capabilities = start(Ct2Backend("ct2:model", folder))
    assert (capabilities.form, capabilities.logprobs) == ("chat", "raw")


def test_a_model_without_a_chat_template_goes_on_where_the_prompt_stops(folder):
    (folder / "tokenizer_config.json").unlink()
    assert start(Ct2Backend("ct2:model", folder)).form == "completion"
    stub = "```python\ndef unique(items: list) -> list:"
    opened = f"<|user|>{CLEAR.user}<|end|><|assistant|>{stub}"
    request = ask(prompt=Prompt(user=opened), n=1, temperature=0.0)
    (answer,) = answers(request, backend=Ct2Backend("ct2:model", folder))
    assert answer.completions[0].text.startswith("\n    return ")


def test_a_template_file_goes_before_the_tokenizers_entry(folder):
    (folder / "chat_template.jinja").write_text("{{ raise_exception('mine') }}")
    with pytest.raises(ModelError, match=r"chat_template\.jinja: mine"):
        answers(ask(), backend=Ct2Backend("ct2:model", folder))


def test_of_several_templates_the_default_one_is_taken(folder):
    config = folder / "tokenizer_config.json"
    settings = json.loads(config.read_text())
    settings["chat_template"] = [
        {"name": "tools", "template": "{{ raise_exception('tools') }}"},
        {"name": "default", "template": settings["chat_template"]},
    ]
    config.write_text(json.dumps(settings))
    assert answers(ask(), backend=Ct2Backend("ct2:model", folder)) == answers(ask())


def test_the_system_part_reaches_the_template(folder):
    (folder / "chat_template.jinja").write_text(
        "{{ raise_exception(messages|map(attribute='role')|join('+')) }}"
    )
    prompt = Prompt(system="Answer with code.", user="Write `f()`.")
    with pytest.raises(ModelError, match=r"system\+user"):
        answers(ask(prompt=prompt), backend=Ct2Backend("ct2:model", folder))


def test_a_template_cannot_leave_its_sandbox(folder):
    (folder / "chat_template.jinja").write_text("{{ ''.__class__.__mro__[1].__subclasses__() }}")
    with pytest.raises(ModelError, match="chat template"):
        answers(ask(), backend=Ct2Backend("ct2:model", folder))


def test_the_same_files_elsewhere_are_the_same_model(folder):
    one, other = Ct2Backend("ct2:a", folder), Ct2Backend("ct2:b", tiny_dir() / "ct2")
    assert one.identity == other.identity


@pytest.mark.parametrize("name", ["model.bin", "tokenizer.json", "tokenizer_config.json"])
def test_a_changed_file_is_another_model(folder, name):
    before = Ct2Backend("ct2:model", folder).identity
    with (folder / name).open("ab") as file:
        file.write(b" ")
    assert Ct2Backend("ct2:model", folder).identity != before


# Mistakes


@pytest.mark.parametrize("missing", ["ctranslate2", "tokenizers", "jinja2"])
def test_a_missing_extra_is_named_with_the_line_that_installs_it(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ModelError) as caught:
        start(tiny_backend())
    assert missing in str(caught.value)
    assert "pip install 'pytest-promptse[tiny]'" in str(caught.value)


def test_importing_the_backend_imports_none_of_its_libraries():
    program = (
        "import sys, pytest_promptse.models._ct2\n"
        "print(*{'ctranslate2', 'tokenizers', 'jinja2', 'numpy'} & set(sys.modules))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.stdout.split() == []


def test_a_folder_without_a_model_is_named_with_the_command_that_converts_one(tmp_path):
    backend = Ct2Backend("ct2:nowhere", tmp_path / "nowhere")
    for use in (start, lambda model: model.identity):
        with pytest.raises(ModelError, match=r"nowhere has no model\.bin") as caught:
            use(backend)
        assert "ct2-transformers-converter" in str(caught.value)


def test_a_model_without_its_tokenizer_is_named_with_the_files_to_copy(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"has no tokenizer\.json.*--copy_files"):
        start(Ct2Backend("ct2:model", folder))


def test_a_damaged_model_is_one_line(folder):
    os.truncate(folder / "model.bin", 1000)
    with pytest.raises(ModelError, match=r"cannot load .*/model\.bin.*ct2-transformers") as caught:
        start(Ct2Backend("ct2:model", folder))
    assert "\n" not in str(caught.value)


def test_the_embedded_model_is_installed_again_and_not_converted(folder, monkeypatch):
    monkeypatch.setattr("pytest_promptse.models._ct2.tiny_dir", lambda: folder.parent)
    folder.rename(folder.with_name("ct2"))
    for spoil in (lambda file: os.truncate(file, 1000), os.unlink):
        spoil(folder.with_name("ct2") / "model.bin")
        with pytest.raises(ModelError, match="pip install --force-reinstall") as caught:
            start(tiny_backend())
        assert "convert" not in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("std::bad_alloc"),
        RuntimeError("mkl_malloc: failed to allocate memory"),
        RuntimeError("Resource temporarily unavailable"),
    ],
    ids=str,
)
def test_a_machine_without_memory_or_threads_loads_the_model_later(monkeypatch, error):
    loads = iter([error, ctranslate2.Generator])

    def generator(*args, **options):
        load = next(loads)
        if isinstance(load, Exception):
            raise load
        return load(*args, **options)

    monkeypatch.setattr("ctranslate2.Generator", generator)
    backend = tiny_backend()
    with pytest.raises(TransientError, match="run fewer processes") as caught:
        start(backend)
    assert str(error) in str(caught.value)
    assert start(tiny_backend()).form == "chat"


WITHOUT_FILES = """
import asyncio, os, resource
from pytest_promptse.models._base import Decoding, Prompt, Request, TransientError
from pytest_promptse.models._ct2 import tiny_backend

decoding = Decoding(max_tokens=4)
request = Request(
    prompt=Prompt(user="Write `f()`."), decoding=decoding, n=1, first=0, seed=0, task_id="t"
)

async def run():
    model = tiny_backend()
    await model.start()
    await model.complete(request)  # which imports what it needs
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, most))
    try:
        await model.complete(request)
    except TransientError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print(len((await model.complete(request)).completions))
    await model.close()

asyncio.run(run())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such limit")
def test_a_process_without_open_files_left_loads_the_model_later(fork_server, tmp_path):
    command = [sys.executable, "-c", WITHOUT_FILES]
    ran = fork_server.run(command, cwd=str(tmp_path), env=dict(os.environ))
    message, n_completions = ran.stdout.splitlines()
    assert "Too many open files" in message
    assert n_completions == "1"


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "config.json"])
def test_a_damaged_file_beside_the_model_is_named(folder, name):
    (folder / name).write_text("{")
    with pytest.raises(ModelError, match=name) as caught:
        start(Ct2Backend("ct2:model", folder))
    assert "\n" not in str(caught.value)


def test_a_model_that_never_says_how_answers_end_is_refused(folder):
    (folder / "config.json").write_text('{"eos_token": "<|unheard-of|>"}')
    with pytest.raises(ModelError, match="does not name the end token"):
        start(Ct2Backend("ct2:model", folder))
