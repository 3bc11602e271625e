"""Find the program in a model's answer."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from pytest_promptse.models._blocks import Block, answer_in, blocks_of, is_called_wrong, readings
from pytest_promptse.models._prune import assemble, is_standard
from pytest_promptse.models._statements import (
    MAX_SOURCE,
    Statement,
    has_parameters,
    has_return,
    header,
    indent,
    parse,
    statements,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_promptse.models._base import FinishReason


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """A program, or the reason why there is none. Exactly one of the two fields is None."""

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
    """Return the program in `text`, completed with the parts of `prompt` that `text` left out.

    Parameters
    ----------
    text : str
        The model's answer.
    prompt : str
        The variant that was sent. If it contains a code stub, the stub's imports and helpers are
        added where the answer lacks them. If the answer is only a body, the stub's signature is
        added too.
    entry_point : str
        The name that the program must define.
    form : {"chat", "completion"}
        ``completion`` if `text` continues `prompt`, ``chat`` if it stands alone.
    finish_reason : FinishReason
        Why the model stopped. An answer can be ``truncated`` only after ``length``.

    Returns
    -------
    Extraction
        A program is returned even if it has a syntax error or does not define `entry_point`; the
        judge decides about such programs. ``no_code`` means that there is nothing to judge.
        ``truncated`` means that the token limit came before the entry point was complete.

    Notes
    -----
    The program can be imported and run. On import it executes what the entry point needs and no
    demonstrations. Demonstrations are bare assertions, calls of ``print``, and statements that read
    standard input or call the entry point. They are kept below ``if __name__ == "__main__"`` for a
    run as a script, unless the prompt is a stub whose function has parameters. Functions that
    nothing uses are left out.

    If the entry point is defined several times, a chat answer counts by its last complete
    definition, since models correct themselves. A completion counts by the first one, since it may
    continue past its end. The time is linear in the length of `text`. An answer of more than
    `MAX_SOURCE` characters is not parsed; its longest block is the program.
    """
    answer = answer_in(text)
    if len(answer) > MAX_SOURCE:
        return _unparsed(answer, finish_reason)
    stub = _read_stub(prompt, entry_point)
    candidates: list[_Found] = []
    if form == "completion":
        candidates += _continued(prompt, answer, stub, entry_point)
    if not any(candidate.whole for candidate in candidates):
        candidates += _found_in_chat(answer, stub, entry_point)
    if finish_reason == "length":
        candidates = [
            candidate
            for candidate in candidates
            if (candidate.whole or candidate.closed) and not candidate.runs_to_the_end_of(answer)
        ]
    best = next(
        (candidate for candidate in candidates if candidate.whole),
        candidates[0] if candidates else None,
    )
    if best is None:
        cause: Literal["truncated", "no_code"]
        cause = "truncated" if finish_reason == "length" else "no_code"
        return Extraction(program=None, cause=cause)
    return Extraction(program=best.source, cause=None)


def _unparsed(answer: str, finish_reason: FinishReason) -> Extraction:
    if finish_reason == "length":
        return Extraction(program=None, cause="truncated")
    blocks, _ = blocks_of(answer)
    return Extraction(
        program=max((block.code for block in blocks), key=len, default=answer), cause=None
    )


@dataclass(frozen=True, kw_only=True)
class _Found:
    """A possible program.

    ``whole`` is True if the program is Python and defines the entry point. ``closed`` is True if it
    is a script in a fence that was closed.
    """

    source: str
    whole: bool
    entry: Statement | None = None
    closed: bool = False

    def runs_to_the_end_of(self, answer: str) -> bool:
        """Return whether `answer` ends inside the entry point, so that it may be cut off."""
        if self.entry is None or self.entry.finished:
            return False
        last = self.entry.source.rpartition("\n")[2].strip()
        return answer.rstrip().rpartition("\n")[2].strip() == last


@dataclass(frozen=True, kw_only=True)
class _Stub:
    """Code in the prompt: its statements, and the signature of the entry point.

    ``requested`` has the words of the prompt that the prompt does not define itself. The names that
    it requests are among them. ``is_function`` is True if the prompt shows the head of a function
    with parameters, so that it does not request a script.
    """

    statements: Sequence[Statement]
    header: str | None
    requested: frozenset[str]
    is_function: bool

    def repeated_by(self, statement: Statement) -> bool:
        """Return whether the prompt contains `statement` already, so that it is no answer."""
        return any(statement.source == part.source for part in self.statements)


_WORD = re.compile(r"[^\W\d]\w*")


@lru_cache(maxsize=64)
def _read_stub(prompt: str, entry_point: str) -> _Stub:
    if parse(prompt) is not None:
        sources = [prompt]
    else:
        blocks, around = blocks_of(prompt)
        sources = [block.code for block in blocks] + [around]
    given: list[Statement] = []
    for source in sources:
        good, broken = statements(source)
        given += good
        for chunk in broken:
            if chunk.rstrip().endswith(":"):
                given += statements(f"{chunk.rstrip()} ...")[0]
    stubs = [s for s in given if s.defines and entry_point in s.binds]
    heads = [header(s.source) for s in stubs]
    for quoted in prompt.split("`")[1::2]:
        signature = quoted.strip().removeprefix("def ").rstrip(": ")
        if signature.startswith(f"{entry_point}("):
            heads.append(header(f"def {signature}: ..."))
    return _Stub(
        statements=given,
        header=next((head for head in heads if head), None),
        requested=frozenset(_WORD.findall(prompt)) - {name for s in given for name in s.binds},
        is_function=any(s.kind == "function" and has_parameters(s.source) for s in stubs),
    )


def _continued(prompt: str, text: str, stub: _Stub, entry_point: str) -> list[_Found]:
    """Return the program that `prompt` and `text` make together.

    `stub` is the parsed `prompt`, and `entry_point` the name of the function. The list is empty if
    `text` does not continue the prompt.
    """
    if not text.strip():
        return []
    damaged: list[_Found] = []
    for whole in (prompt + text, f"{prompt.rstrip()}\n{text}"):
        good, broken = statements(whole)
        entry = next((s for s in good if s.defines and entry_point in s.binds), None)
        if entry is not None:
            if entry.source in prompt:
                return []
            program = assemble(
                [_first_of_each(good)],
                entry_point,
                requested=stub.requested,
                keep_script=not stub.is_function,
            )
            return [_Found(source=program, whole=True, entry=entry)]
        damaged += [_damaged(good, chunk) for chunk in broken if _names(chunk, entry_point)]
    # Lines at the margin end the body.
    body = re.split(r"\n(?=\S)", text, maxsplit=1)[0] if text[:1].isspace() else text
    return [*_bodies([body], stub, entry_point), *damaged[:1]]


def _first_of_each(parts: Iterable[Statement]) -> list[Statement]:
    """Leave out functions and classes that an earlier one of the same name replaces."""
    seen: set[str] = set()
    first: list[Statement] = []
    for part in parts:
        if part.defines and part.binds <= seen:
            continue
        seen |= part.binds if part.defines and not part.hollow else frozenset()
        first.append(part)
    return first


def _found_in_chat(answer: str, stub: _Stub, entry_point: str) -> list[_Found]:
    """Return the programs of the first reading of `answer` that has a whole one.

    If no reading has one, return the programs of all readings, or else the first script.
    """
    partial: list[_Found] = []
    for blocks in readings(answer, entry_point):
        programs = _found_in(blocks, stub, entry_point)
        if any(program.whole for program in programs):
            return programs
        partial += programs
        scripts = [block.code for block in blocks if not partial and _is_code(block, stub)]
        if scripts:
            closed = not answer.rstrip().endswith(scripts[-1].rstrip())
            source = _script_of(scripts, stub, entry_point)
            partial.append(_Found(source=source, whole=False, closed=closed))
    return partial


def _script_of(scripts: Sequence[str], stub: _Stub, entry_point: str) -> str:
    """Return the script in blocks of which none defines the entry point.

    The last block with at least half the size of the largest one is the script. The other blocks
    add what it lacks. A block that is not Python is returned as well, and the judge then rejects
    it.
    """
    size = max(map(len, scripts)) / 2
    number = max(index for index, script in enumerate(scripts) if len(script) >= size)
    parts = [statements(_at_margin(script)) for script in scripts]
    if any(broken for _, broken in parts):
        return "\n\n".join(scripts).strip() + "\n"
    layers = _one_module([good for good, _ in parts])
    others = [layer for index, layer in enumerate(layers) if index != number]
    main = _with_following_actions(layers, number)
    lent = [part for part in stub.statements if entry_point not in part.binds]
    return assemble([lent, *others, main], entry_point, keep_script=not stub.is_function)


def _one_module(layers: Sequence[Sequence[Statement]]) -> Sequence[Sequence[Statement]]:
    """Leave out imports of names that other blocks define, so that files form one program."""
    defined = {
        name for layer in layers for part in layer if part.kind != "import" for name in part.binds
    }
    return [
        [part for part in layer if not (part.kind == "import" and _is_of(defined, part))]
        for layer in layers
    ]


def _is_of(defined: set[str], part: Statement) -> bool:
    return part.source.startswith("from ") and part.binds <= defined and not is_standard(part)


def _with_following_actions(
    layers: Sequence[Sequence[Statement]], number: int
) -> Sequence[Statement]:
    """Return a layer.

    If it has only definitions, add the actions of the next layer with actions.

    `number` is the index of the layer.
    """
    chosen = layers[number]
    if any(part.kind == "action" and (part.calls or part.is_main_guard) for part in chosen):
        return chosen
    for layer in layers[number + 1 :]:
        actions = [part for part in layer if part.kind == "action"]
        if actions:
            return [*chosen, *actions]
    return chosen


def _is_code(block: Block, stub: _Stub) -> bool:
    """Return whether a block is code, and not output or a repetition of the prompt.

    `stub` is the parsed prompt.
    """
    good, broken = statements(_at_margin(block.code))
    new = [part for part in good if not stub.repeated_by(part)]
    if not block.fenced:
        return any(part.binds for part in new)
    return any(part.binds or part.calls for part in new) or (
        bool(broken) and (block.is_labelled_python or any(map(_STARTS_CODE.match, broken)))
    )


_STARTS_CODE = re.compile(r"(?:async\s+def|def|class|import|from)\s")


def _found_in(blocks: Sequence[Block], stub: _Stub, entry_point: str) -> list[_Found]:
    """Return the programs in code that is complete by itself, the likeliest first.

    `blocks` are in their order in the response, and `stub` is the parsed prompt. A program must
    define `entry_point`, and not as the prompt does.
    """
    parts = [statements(_at_margin(block.code)) for block in blocks]
    layers = _one_module([_without_trials(good, entry_point) for good, _ in parts])
    entries = [
        (number, statement)
        for number, layer in enumerate(layers)
        for statement in layer
        if entry_point in statement.binds and not stub.repeated_by(statement)
    ]
    solid = [(number, entry) for number, entry in entries if not entry.hollow]
    bodies: list[_Found] = []
    if not solid:
        bodies = _bodies((block.code for block in reversed(blocks)), stub, entry_point)
    if any(body.whole for body in bodies):
        return [body for body in bodies if body.whole]
    programs: list[_Found] = []
    ranked = sorted(
        solid or entries, key=lambda numbered: not _is_refused(blocks[numbered[0]], numbered[1])
    )
    # Only the last definition can have been cut off, so one complete definition before it is
    # enough.
    for number, entry in reversed(ranked[-2:]):
        # An assignment such as `f = cache(f)` builds on the definition before it.
        layer = [
            part
            for part in _with_following_actions(layers, number)
            if part is entry or entry_point not in part.binds or not entry.defines or part.hooked
        ]
        others = [
            layer
            for index, layer in enumerate(layers)
            if index != number and not blocks[index].refused
        ]
        program = assemble(
            [stub.statements, *others, layer],
            entry_point,
            requested=stub.requested,
            keep_script=not stub.is_function,
        )
        programs.append(_Found(source=program, whole=True, entry=entry))
    damaged = [
        _damaged(good, chunk)
        for good, broken in parts
        for chunk in broken
        if _names(chunk, entry_point)
    ]
    return [*programs, *damaged, *bodies] if solid else [*damaged, *bodies, *programs]


def _without_trials(layer: Sequence[Statement], entry_point: str) -> Sequence[Statement]:
    """Keep results of the entry point, such as ``f = f(1)`` or ``f = [2]``, from replacing it."""
    return [
        replace(part, binds=part.binds - {entry_point})
        if entry_point in part.binds
        and part.kind == "action"
        and (part.is_data or entry_point in part.calls)
        else part
        for part in layer
    ]


def _is_refused(block: Block, entry: Statement) -> bool:
    """Return whether words beside a block, or a comment above a definition in it, call it wrong."""
    above = block.code[: max(block.code.find(entry.source), 0)].rstrip().rpartition("\n")[2]
    return is_called_wrong(above=above) if above.lstrip().startswith("#") else block.refused


def _bodies(sources: Iterable[str], stub: _Stub, entry_point: str) -> list[_Found]:
    """Return the functions made of the stub's signature and each body in `sources`.

    A body that was cut off gives a program that is not whole. The list is empty if the prompt has
    no signature.
    """
    if stub.header is None:
        return []
    functions: list[_Found] = []
    for source in sources:
        body = _as_body(source)
        if body is None:
            continue
        function = f"{stub.header}\n{body}"
        good, _ = statements(function)
        entry = next((s for s in good if s.defines and entry_point in s.binds), None)
        if entry is None or parse(function) is None:
            functions.append(_Found(source=f"{function}\n", whole=False))
        else:
            program = assemble([stub.statements, good], entry_point, keep_script=False)
            functions.append(_Found(source=program, whole=True, entry=entry))
    return functions


def _as_body(source: str) -> str | None:
    """Return `source` indented as the body of a function, or None if it is not a body."""
    lines = source.strip("\n").rstrip().split("\n")
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    if lines[0][:1] in (" ", "\t"):
        dedented = textwrap.dedent("\n".join(lines))
        is_body = parse(dedented) is None or not any(s.defines for s in statements(dedented)[0])
        return "\n".join(lines) if is_body or has_return(dedented) else None
    if has_return("\n".join(lines)):
        return indent("\n".join(lines), "    ")
    if margins and min(margins) > 0:
        # The server stripped the answer, so the first line has lost its indentation.
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
