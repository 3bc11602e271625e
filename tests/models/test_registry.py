from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys

import pytest

from pytest_promptse.errors import ModelError, SettingsError
from pytest_promptse.models import _registry
from pytest_promptse.models._base import Decoding, Prompt, Request
from pytest_promptse.models._extract import extract
from pytest_promptse.models._reference import ReferenceBackend
from pytest_promptse.models._registry import BACKENDS, create_backend, split_spec


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("tiny", ("tiny", "")),
        ("reference", ("reference", "")),
        ("openai:gpt-4.1-mini", ("openai", "gpt-4.1-mini")),
        ("openai:org/model:free", ("openai", "org/model:free")),
        ("ct2:/models/x", ("ct2", "/models/x")),
    ],
)
def test_a_spec_is_backend_and_name(spec, parts):
    assert split_spec(spec) == parts


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("opnai:gpt", r"no backend 'opnai' \(did you mean 'openai'\?\).*tiny, openai, vllm"),
        ("gpt-4.1-mini", r"give BACKEND:NAME"),
        ("", r"no backend ''"),
        ("openai", r"add the name: openai:MODEL"),
        ("replay:", r"add the name: replay:FILE\.jsonl"),
        ("tiny:large", r"tiny takes no name; give 'tiny' alone"),
    ],
)
def test_a_spec_that_cannot_be_used_is_named_with_the_remedy(spec, message):
    with pytest.raises(SettingsError, match=message):
        create_backend(spec)


def test_every_built_in_backend_is_created_without_side_effects(tmp_path):
    for name, kind in BACKENDS.items():
        if all(importlib.util.find_spec(module) for module in kind.modules):
            spec = f"{name}:{tmp_path / 'x'}" if kind.name_of else name
            assert create_backend(spec).spec == spec
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("spec", "extra"), [("openai:m", "openai"), ("vllm:m", "vllm"), ("ct2:m", "tiny")]
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch, spec, extra):
    monkeypatch.setattr(_registry, "find_spec", lambda _module: None)
    with pytest.raises(SettingsError, match=rf"pip install 'pytest-promptse\[{extra}\]'"):
        create_backend(spec)


def test_importing_the_registry_imports_no_backend():
    program = (
        "import sys, pytest_promptse.models._registry;"
        "print({'openai', 'vllm', 'ctranslate2', 'torch', 'jinja2'} & set(sys.modules))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert shown.stdout == "set()\n"


def answered(reference, n=2):
    ask = Request(
        prompt=Prompt(user="Write `one()`."),
        decoding=Decoding(),
        n=n,
        first=3,
        task_id="one",
        reference=reference,
    )
    return asyncio.run(ReferenceBackend().complete(ask))


def test_the_reference_model_answers_with_the_tasks_own_solution():
    answer = answered("def one():\n    return 1\n")
    assert [completion.index for completion in answer.completions] == [3, 4]
    found = extract(
        answer.completions[0].text,
        prompt="Write `one()`.",
        entry_point="one",
        form="chat",
        finish_reason=answer.completions[0].finish_reason,
    )
    assert found.program == "def one():\n    return 1\n"


def test_the_reference_model_names_the_task_that_has_no_reference():
    with pytest.raises(ModelError, match="task 'one' has no reference"):
        answered(None)
