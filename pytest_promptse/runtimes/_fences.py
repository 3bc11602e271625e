"""Find the program in an answer in a language other than Python, by its fences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from pytest_promptse.models._blocks import answer_in
from pytest_promptse.models._extract import Extraction
from pytest_promptse.runtimes._definitions import definition_of
from pytest_promptse.runtimes._scripts import called_program
from pytest_promptse.runtimes._syntax import is_valid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.models._base import FinishReason

Target: TypeAlias = Literal["program", "definition", "call"]

TAGS: dict[str, tuple[str, ...]] = {
    "python": ("python", "py", "python3"),
    "javascript": ("javascript", "js", "node", "mjs", "cjs", "jsx"),
    "typescript": ("typescript", "ts", "tsx", "mts"),
    "go": ("go", "golang"),
    "c": ("c", "h"),
    "cpp": ("cpp", "c++", "cc", "cxx", "hpp"),
    "rust": ("rust", "rs"),
    "java": ("java",),
    "bash": ("bash", "sh", "shell", "zsh"),
    "ruby": ("ruby", "rb"),
    "php": ("php",),
    "sql": ("sql", "sqlite", "sqlite3"),
}
# What a whole program has. A block without it is a fragment, a test or an example of use. Patterns
# take white space of one line, since they would read empty lines once from each of them.
_MAIN = {
    "go": re.compile(r"^[^\S\n]*func\s+main\s*\(", re.MULTILINE),
    "c": re.compile(r"\bmain\s*\("),
    "cpp": re.compile(r"\bmain\s*\("),
    "rust": re.compile(r"\bfn\s+main\s*\("),
    "java": re.compile(r"\bvoid\s+main\s*\("),
}
# In these languages prose is valid as well, so a program without a fence must show one of these.
_SIGNS = {
    "bash": re.compile(
        r"^#!|^[^\S\n]*\w+=|\$[\w({]|^[^\S\n]*(?:echo|printf|read|for|while|if)\b", re.MULTILINE
    ),
    "ruby": re.compile(r"^[^\S\n]*(?:puts|print|def|require)\b|\s=\s", re.MULTILINE),
    "php": re.compile(r"<\?(?:php|=)"),
}
_CONSOLE = re.compile(r"^\s*(?:\$|>|%|#)\s", re.MULTILINE)
_FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$", re.MULTILINE
)


@dataclass(frozen=True, kw_only=True)
class _Block:
    tag: str
    code: str
    closed: bool


def extract_fenced(
    text: str,
    *,
    language: str,
    form: Literal["chat", "completion"],
    finish_reason: FinishReason,
    target: Target = "program",
    entry_point: str = "",
    prompt: str = "",
) -> Extraction:
    """Return the program in `text`.

    The blocks with the language's own tag count, else those without a tag, else all. Without any
    fence, the program is the whole answer if that is valid. Among several blocks, one with ``main``
    counts more than one without, and a valid one more than one with syntax errors. A longer script
    counts more than a shorter one. Of two equal blocks the last counts, since models correct
    themselves.

    Parameters
    ----------
    text
        The model's answer.
    language
        The language of the program.
    form
        ``completion`` if `text` continues the prompt. The whole text is then the program if it has
        no fence.
    finish_reason
        Why the model stopped. A block without its end is cut off only after ``length``.
    target
        What the check needs. Of a ``program``, the beginning counts, such as ``main``. A block with
        the ``definition`` of the entry point, which tests in the same language call, counts more
        than any other. For a ``call`` from outside, it is joined with the blocks that it needs
        (`pytest_promptse.runtimes._scripts`).
    entry_point
        The name of the function or class. A program needs none.
    prompt
        The prompt. Its code may have names that a called function needs, or its beginning.
    """
    answer = answer_in(text)
    blocks = [block for block in _blocks(answer) if block.code.strip()]
    if finish_reason == "length":
        blocks = [block for block in blocks if block.closed]
    tagged = [block for block in blocks if block.tag in TAGS[language]]
    untagged = [block for block in blocks if not block.tag]
    candidates = [block.code for block in tagged or untagged or blocks]
    if not candidates and not _FENCE.search(answer) and finish_reason != "length":
        whole = answer.strip()
        sign = _SIGNS.get(language)
        is_program = is_valid(whole, language) and (sign is None or sign.search(whole) is not None)
        if whole and (form == "completion" or is_program):
            candidates = [whole + "\n"]
    if not candidates:
        return Extraction(
            program=None, cause="truncated" if finish_reason == "length" else "no_code"
        )
    program = None
    if target == "call" and entry_point:
        context = [block.code for block in _blocks(prompt)] or [prompt]
        call = partial(called_program, language=language, entry_point=entry_point)
        program = call(candidates, context=context)
        if program is None and form == "completion":
            program = call([context[-1] + candidates[-1]])
    is_named = target == "definition" and entry_point
    sought = definition_of(entry_point, language) if is_named else _MAIN.get(language)
    return Extraction(program=program or _best(candidates, language, sought), cause=None)


def _best(candidates: Sequence[str], language: str, main: re.Pattern[str] | None) -> str:

    def rank(place: int) -> tuple[bool, bool, bool, int, int]:
        code = candidates[place]
        # The size decides between scripts. Programs with `main` are complete at any size.
        size = 0 if main else len(code.strip().splitlines())
        return (
            main is not None and main.search(code) is not None,
            not _CONSOLE.match(code),
            len(candidates) == 1 or is_valid(code, language),
            size,
            place,
        )

    return candidates[max(range(len(candidates)), key=rank)]


def _blocks(answer: str) -> list[_Block]:
    """Return the fenced blocks, without the indentation of their fence."""
    blocks: list[_Block] = []
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(answer):
        if opening is None:
            opening = fence
            continue
        closes = not fence["info"].strip() and fence["mark"].startswith(opening["mark"])
        if closes:
            blocks.append(_block(answer, opening, fence.start(), closed=True))
            opening = None
    if opening is not None:
        blocks.append(_block(answer, opening, len(answer), closed=False))
    return blocks


def _block(answer: str, opening: re.Match[str], end: int, *, closed: bool) -> _Block:
    words = re.split(r"[\s{,:]", opening["info"].strip().lower())
    indent = opening["indent"]
    lines = answer[opening.end() + 1 : end].splitlines(keepends=True)
    code = "".join(line.removeprefix(indent) for line in lines)
    return _Block(tag=words[0], code=code, closed=closed)
