"""From what a model answered to the program in it."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from pytest_promptse.models.statements import (
    Statement,
    assemble,
    has_return,
    header,
    indent,
    join,
    parse,
    statements,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_promptse.models.base import FinishReason


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """A program, or why there is none; exactly one of the two fields is None."""

    program: str | None
    cause: Literal["no_code", "truncated"] | None


def extract(
    text: str,
    *,
    prompt: str,
    entry_point: str,
    form: Literal["chat", "completion"],
    finish_reason: FinishReason,
) -> Extraction:
    """Return the program in `text`, made whole with what `prompt` gave and `text` left out.

    Parameters
    ----------
    text
        What the model answered.
    prompt
        The wording that was sent. Where it holds a code stub, the stub lends its imports and
        helpers, and its signature to an answer that is only a body.
    entry_point
        The name the program must define.
    form
        ``completion`` where `text` goes on at the end of `prompt`, ``chat`` where it stands alone.
    finish_reason
        Why the model stopped. Only after ``length`` can an answer be ``truncated``.

    Returns
    -------
    Extraction
        A program is returned even where it has a syntax error or defines other names than
        `entry_point`, for that is the model's answer and the judge's to say. ``no_code`` means
        that there is nothing to judge; ``truncated`` that the token limit came before the entry
        point was complete.

    Notes
    -----
    The program is pruned to what the entry point reaches: example calls, self-made tests and
    functions written past the end are dropped. Of several definitions of the entry point the last
    complete one counts in a chat, where models correct themselves, and the first in a
    completion, which goes on past its end. Time is linear in the length of `text`.
    """
    answer = _spoken(text)
    stub = _read_stub(prompt, entry_point)
    found: list[_Found] = []
    if form == "completion":
        found += _continued(prompt, answer, stub, entry_point)
    if not any(candidate.whole for candidate in found):
        found += _found_in_chat(answer, stub, entry_point)
    if finish_reason == "length":
        found = [each for each in found if each.whole and not each.runs_to_the_end_of(answer)]
    best = next((each for each in found if each.whole), found[0] if found else None)
    if best is None:
        cause: Literal["truncated", "no_code"]
        cause = "truncated" if finish_reason == "length" else "no_code"
        return Extraction(program=None, cause=cause)
    return Extraction(program=best.source, cause=None)


@dataclass(frozen=True, kw_only=True)
class _Found:
    """A possible program; ``whole`` if it is Python and defines the entry point."""

    source: str
    whole: bool
    entry: Statement | None = None

    def runs_to_the_end_of(self, answer: str) -> bool:
        """Whether the answer stops inside the entry point, which might have gone on."""
        if self.entry is None or self.entry.finished:
            return False
        last = self.entry.source.rpartition("\n")[2].strip()
        return answer.rstrip().rpartition("\n")[2].strip() == last


@dataclass(frozen=True, kw_only=True)
class _Stub:
    """What the prompt lends: its statements, and the signature of the entry point."""

    statements: Sequence[Statement]
    header: str | None

    def repeated_by(self, statement: Statement) -> bool:
        """Whether `statement` stands in the prompt as it is, so that it answers nothing."""
        return any(statement.source == own.source for own in self.statements)


# Chat templates that a server did not strip.
_END_OF_ANSWER = ("<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|end_of_text|>", "<|end|>")
_THOUGHTS = (("<think>", "</think>"), ("<thinking>", "</thinking>"))


def _spoken(text: str) -> str:
    """Return `text` with plain line ends, without thoughts and whatever follows the answer."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    for opening, closing in _THOUGHTS:
        # Some templates put the opening tag into the prompt, so only the closing one is certain.
        text = text.rpartition(closing)[2]
        if text.lstrip().startswith(opening):
            return ""
    for token in _END_OF_ANSWER:
        text = text.partition(token)[0]
    return text


def _blocks_of(text: str) -> tuple[list[tuple[str, str]], str]:
    """Return the fenced blocks of `text` as (language, code), and the text around them."""
    blocks: list[tuple[str, str]] = []
    around: list[str] = []
    code: list[str] | None = None
    fence = language = ""
    margin = 0
    for line in text.split("\n"):
        opening = _FENCE.match(line.rstrip())
        if code is None:
            if opening is None:
                around.append(line)
                continue
            fence, info = opening["fence"], opening["info"].strip()
            margin = len(opening["margin"])
            if info.endswith(fence):
                language, _, inline = info.removesuffix(fence).partition(" ")
                blocks.append((language.lower(), inline))
            else:
                language, code = info.strip("{.}").partition(" ")[0].lower(), []
        elif opening is not None and opening["fence"].startswith(fence) and not opening["info"]:
            blocks.append((language, "\n".join(code)))
            code = None
        else:
            inside = line[margin:] if not line[:margin].strip() else line
            if inside.endswith(fence) and opening is None:
                blocks.append((language, "\n".join([*code, inside.removesuffix(fence)])))
                code = None
            else:
                code.append(inside)
    if code is not None:
        blocks.append((language, "\n".join(code)))
    return blocks, "\n".join(around)


_FENCE = re.compile(r"(?P<margin>[ \t]*)(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_PYTHON = frozenset({"python", "py", "python3", "python2", "py3", "ipython", "ipython3"})
_UNNAMED = frozenset({"", "code", "plaintext", "text", "txt"})


def _indented_blocks(text: str) -> list[str]:
    """Return Markdown's other blocks of code: indented lines after a blank one."""
    runs: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip() and line[0] not in " \t":
            runs.append([line])
        else:
            runs[-1].append(line)
    first, *others = runs
    blocks = [first, *(run[1:] for run in others if run[1:] and not run[1].strip())]
    return ["\n".join(block) for block in blocks if any(line.strip() for line in block)]


@lru_cache(maxsize=64)
def _read_stub(prompt: str, entry_point: str) -> _Stub:
    if parse(prompt) is not None:
        sources = [prompt]
    else:
        blocks, around = _blocks_of(prompt)
        sources = [code for _, code in blocks] + [around]
    known: list[Statement] = []
    for source in sources:
        good, broken = statements(source)
        known += good
        for chunk in broken:
            if chunk.rstrip().endswith(":"):
                known += statements(f"{chunk.rstrip()} ...")[0]
    heads = [header(s.source) for s in known if s.defines and entry_point in s.binds]
    for quoted in prompt.split("`")[1::2]:
        signature = quoted.strip().removeprefix("def ").rstrip(": ")
        if signature.startswith(f"{entry_point}("):
            heads.append(header(f"def {signature}: ..."))
    return _Stub(statements=known, header=next((head for head in heads if head), None))


def _continued(prompt: str, text: str, stub: _Stub, entry_point: str) -> list[_Found]:
    """Return the program that `prompt` and `text` make together."""
    if not text.strip():
        return []
    found: list[_Found] = []
    for whole in (prompt + text, f"{prompt.rstrip()}\n{text}"):
        good, broken = statements(whole)
        entry = next((s for s in good if s.defines and entry_point in s.binds), None)
        if entry is not None:
            if entry.source in prompt:
                return []
            program = assemble([_first_of_each(good)], entry_point)
            return [_Found(source=join(program), whole=True, entry=entry)]
        found += [_damaged(good, chunk) for chunk in broken if _names(chunk, entry_point)]
    body = _indented_blocks(text)[:1]
    return [*_bodies(body, stub, entry_point), *found[:1]]


def _first_of_each(parts: Iterable[Statement]) -> list[Statement]:
    """Leave out functions and classes that an earlier one of the same name makes superfluous."""
    seen: set[str] = set()
    first: list[Statement] = []
    for part in parts:
        if part.defines and part.binds <= seen:
            continue
        seen |= part.binds if part.defines and not part.hollow else frozenset()
        first.append(part)
    return first


def _found_in_chat(answer: str, stub: _Stub, entry_point: str) -> list[_Found]:
    blocks, around = _blocks_of(answer)
    labels = _PYTHON | _UNNAMED
    fenced = [(language, code) for language, code in blocks if language in labels]
    found = _found_in([code for _, code in fenced], stub, entry_point)
    if not found:
        other = [code for language, code in fenced if _is_code(code, stub, language)]
        if other:
            found.append(_Found(source="\n\n".join(other).strip() + "\n", whole=False))
    for sources in ([around], _indented_blocks(around)):
        if any(each.whole for each in found):
            break
        found += _found_in(sources, stub, entry_point)
        good = [part for source in sources for part in statements(source)[0] if part.defines]
        new = [part for part in good if not stub.repeated_by(part)]
        if new and not found:
            found.append(_Found(source=join(new), whole=False))
    return found


def _is_code(code: str, stub: _Stub, language: str) -> bool:
    """Whether a block is an answer, be it the wrong one, rather than output or a repetition."""
    good, broken = statements(_at_margin(code))
    if any(part.binds and not stub.repeated_by(part) for part in good):
        return True
    return bool(broken) and (language in _PYTHON or any(map(_STARTS_CODE.match, broken)))


_STARTS_CODE = re.compile(r"(?:async\s+def|def|class|import|from)\s")


def _found_in(sources: Sequence[str], stub: _Stub, entry_point: str) -> list[_Found]:
    """Return the programs in code that stands by itself, the likeliest first."""
    parts = [statements(_at_margin(source)) for source in sources]
    layers = [good for good, _ in parts]
    entries = [
        (number, statement)
        for number, layer in enumerate(layers)
        for statement in layer
        if entry_point in statement.binds and not stub.repeated_by(statement)
    ]
    solid = [(number, entry) for number, entry in entries if not entry.hollow]
    bodies = [] if solid else _bodies(reversed(sources), stub, entry_point)
    if any(body.whole for body in bodies):
        return [body for body in bodies if body.whole]
    found: list[_Found] = []
    # Only the very last one can have been cut off, so the one before it is spare enough.
    for number, entry in reversed((solid or entries)[-2:]):
        # An assignment such as `f = cache(f)` builds on the definition before it.
        layer = [
            part
            for part in layers[number]
            if part is entry or entry_point not in part.binds or not entry.defines
        ]
        others = [layer for index, layer in enumerate(layers) if index != number]
        program = assemble([stub.statements, *others, layer], entry_point)
        found.append(_Found(source=join(program), whole=True, entry=entry))
    damaged = [
        _damaged(good, chunk)
        for good, broken in parts
        for chunk in broken
        if _names(chunk, entry_point)
    ]
    return [*found, *damaged, *bodies] if solid else [*damaged, *bodies, *found]


def _bodies(sources: Iterable[str], stub: _Stub, entry_point: str) -> list[_Found]:
    """Return the functions made of the stub's signature and each of `sources` that is a body."""
    if stub.header is None:
        return []
    found: list[_Found] = []
    for source in sources:
        body = _as_body(source)
        if body is None:
            continue
        function = f"{stub.header}\n{body}"
        good, _ = statements(function)
        entry = next((s for s in good if s.defines and entry_point in s.binds), None)
        if entry is None or parse(function) is None:
            found.append(_Found(source=f"{function}\n", whole=False))
        else:
            program = join(assemble([stub.statements, good], entry_point))
            found.append(_Found(source=program, whole=True, entry=entry))
    return found


def _as_body(source: str) -> str | None:
    """Return `source` indented as a function's body, or None where it is something else."""
    lines = source.strip("\n").rstrip().split("\n")
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    if lines[0][:1] in (" ", "\t"):
        dedented = textwrap.dedent("\n".join(lines))
        is_body = parse(dedented) is None or not any(s.defines for s in statements(dedented)[0])
        return "\n".join(lines) if is_body or has_return(dedented) else None
    if has_return("\n".join(lines)):
        return indent("\n".join(lines), "    ")
    if margins and min(margins) > 0:
        # The server stripped the answer, and with it the first line's indentation.
        shifted = " " * min(margins) + "\n".join(lines)
        return shifted if has_return(textwrap.dedent(shifted)) else None
    return None


def _at_margin(source: str) -> str:
    return textwrap.dedent(source) if source.strip("\n")[:1] in (" ", "\t") else source


def _damaged(good: Sequence[Statement], chunk: str) -> _Found:
    kept = [part.source for part in good if part.binds]
    return _Found(source="\n\n".join([*kept, chunk.strip("\n")]) + "\n", whole=False)


def _names(chunk: str, entry_point: str) -> bool:
    definition = rf"(?:async\s+def|def|class)\s+{re.escape(entry_point)}\b"
    return re.search(rf"^{definition}", chunk, re.MULTILINE) is not None
