"""The examples that a prompt itself gives, such as ``>>> double(2)`` and ``double(2) == 4``."""

from __future__ import annotations

import ast
import doctest
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_promptse.errors import TaskError
from pytest_promptse.tasks._example import Example

if TYPE_CHECKING:
    from collections.abc import Iterator

_RESULT = re.compile(r"`?[ \t]*(?:==?|=>|->|→|➞|⇒|returns|should return|must return|gives)[ \t]*`?")
# What may follow a literal that is the whole result: in "f(5) = 9 - 4" the 9 is not.
_END = re.compile(r"\s*(?:$|[,.;:)#]|(?:and|or|for|because|since|but)\b)")
# A longer literal is data of the task rather than an example of a result.
_LONGEST_LITERAL = 400


def prompt_examples(prompt: str, entry_point: str) -> tuple[Example, ...]:
    """Return the examples in a prompt whose arguments and results are plain data.

    Parameters
    ----------
    prompt
        The text of the task, an instruction or a stub with doctests.
    entry_point
        The function whose calls are examples.
    """
    calls: dict[str, Example] = {}
    for example in (*_doctests(prompt), *_statements(prompt, entry_point)):
        if example.name == entry_point:
            calls.setdefault(example.call, example)
    return tuple(calls.values())


def _doctests(prompt: str) -> Iterator[Example]:
    try:
        examples = doctest.DocTestParser().get_examples(prompt)
    except ValueError:  # what looks like doctests is indented in an impossible way
        return
    for example in examples:
        call = example.source.strip()
        with suppress(TaskError, ValueError, SyntaxError):
            if example.exc_msg is not None:
                yield Example(call=call, raises=example.exc_msg.partition(":")[0].strip())
            elif example.want:
                yield Example(call=call, expect=ast.literal_eval(example.want.strip()))


def _statements(prompt: str, entry_point: str) -> Iterator[Example]:
    """Yield calls that are followed by their result in the same line."""
    for start in re.finditer(rf"\b{re.escape(entry_point)}\(", prompt):
        line = prompt[start.start() :].partition("\n")[0]
        for end in (place.end() for place in re.finditer(r"\)", line)):
            result = _RESULT.match(line, end)
            if result is None:
                continue
            literal = _literal(line[result.end() :])
            if literal is not None:
                with suppress(TaskError):
                    yield Example(call=line[:end], expect=ast.literal_eval(literal))
            break


def _literal(text: str) -> str | None:
    """Return the longest beginning of `text` that is a literal, or None if none is.

    A comma ends it outside of brackets, as in "f(1) == 2, f(2) == 4".
    """
    text = text.partition("`")[0][:_LONGEST_LITERAL].strip()
    for end in range(len(text), 0, -1):
        with suppress(ValueError, SyntaxError):
            literal = ast.literal_eval(text[:end].strip())
            if _END.match(text, end) and (not isinstance(literal, tuple) or text.startswith("(")):
                return text[:end].strip()
    return None
