"""Answers in the forms of many models, each with the verdict that a person would give."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_promptse.models._extract import extract

STUB = 'def double(numbers):\n    """Return each number times two."""\n'
PROMPTS = {
    "double": "Write a function `double(numbers)` that returns each number times two.",
    "double_c": STUB,
    "clamp": "Write `clamp(value, low, high)`, which limits a value to the range low to high.",
    "words": "Write a function `words(text)` that counts each word, ignoring case.",
    "Stack": "Write a class `Stack` with the methods `push(item)` and `pop()`.",
}
# What an editor or git would change is written by the reader of the file.
SPELLINGS = {
    "nbsp": lambda text: text.replace("    ", "\u00a0" * 4),
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "zero-width": lambda text: text.replace("def", "\ufeffdef", 1).replace("()", "()\u200b", 1),
}


@dataclass(frozen=True)
class Answer:
    name: str
    task: str
    verdict: str
    text: str


def read_answers() -> list[Answer]:
    """Read ``answers.txt``: a line ``@@@@ task verdict [spelling] | name``, then the answer."""
    parts = (Path(__file__).parent / "answers.txt").read_text(encoding="utf-8").split("@@@@ ")[1:]
    answers = []
    for part in parts:
        head, text = part.split("\n", 1)
        words, name = head.split(" | ")
        task, verdict, *spellings = words.split()
        for spelling in spellings:
            text = SPELLINGS[spelling](text)
        answers.append(Answer(name, task, verdict, text))
    return answers


def works(task: str, names: dict) -> bool:
    if task in ("double", "double_c"):
        double = names["double"]
        return double([1, 5]) == [2, 10] and double([]) == []
    if task == "clamp":
        return [names["clamp"](n, 1, 3) for n in (0, 1, 2, 3, 4)] == [1, 1, 2, 3, 3]
    if task == "words":
        return names["words"]("a B b") == {"a": 1, "b": 2}
    stack, other = names["Stack"](), names["Stack"]()
    stack.push(1)
    stack.push(2)
    other.push(3)
    return [stack.pop(), stack.pop()] == [2, 1]


def verdict(answer: Answer) -> str:
    completion = answer.task.endswith("_c")
    extraction = extract(
        answer.text,
        prompt=PROMPTS[answer.task],
        entry_point=re.sub("_c$", "", answer.task),
        form="completion" if completion else "chat",
        finish_reason="stop",
    )
    if extraction.program is None:
        return extraction.cause
    names = {"__name__": "program"}
    try:
        exec(compile(extraction.program, "program.py", "exec"), names)
        return "pass" if works(answer.task, names) else "fail"
    except Exception:  # noqa: BLE001 - whatever an answer raises
        return "fail"


ANSWERS = read_answers()


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.name)
def test_an_answer_gets_the_verdict_that_a_person_would_give(answer):
    assert verdict(answer) == answer.verdict
