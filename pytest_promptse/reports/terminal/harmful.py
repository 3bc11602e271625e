"""The wordings that did most harm: what changed in them, what went wrong, how to see it again."""

from __future__ import annotations

import posixpath
from shlex import quote
from typing import TYPE_CHECKING

from rich.text import Text

from pytest_promptse.reports.formatting import WIDE, probability, shortened, spoken
from pytest_promptse.variants.word_diff import word_diff

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from pytest_promptse.record.queries import Loss
    from pytest_promptse.record.schema import InvocationRecord, VariantRecord

SHOWN = 3
_CONTEXT_WORDS = 4
_INDENT = "    "


def harmful(
    worst: Sequence[Loss],
    *,
    console: Console,
    whole: bool,
    brief: bool = False,
    name_template: bool = False,
    invocation: InvocationRecord | None,
) -> Iterator[Text]:
    """Show the `worst` wordings, each with one failure, and the command that reruns them.

    Differences are cut to two lines, or one wide one, unless the `whole` of them is asked for.
    In `brief` each wording has one line, and no command follows; `name_template` names theirs.
    """
    if not worst:
        return
    yield Text("most harmful wordings", "bold")
    width = console.width
    for _, _, task, original, variant in worst:
        fall = f" {original.pass_rate:.2f} → {variant.pass_rate:.2f}"
        chance = f"  p {probability(variant.p_adjusted)}" if variant.p_adjusted is not None else ""
        template = f"{task.template} " if name_template and task.template else ""
        name = f"{template}{task.id} {variant.id}"
        room = min(len(name), width - len(fall) - len(chance) - 3)
        head = Text(f"  {shortened(name, room)} ", no_wrap=True, overflow="ignore")
        yield head.append(fall, "red").append(chance, "dim")
        if brief:
            continue
        changed = difference(original.prompt, variant.prompt)
        for line in _wrapped(changed, console=console, whole=whole):
            yield Text(_INDENT).append_text(line)
        yield from _failure(variant, width)
    nodes = [loss.variant.node for loss in worst if loss.variant.node is not None]
    if invocation is not None and nodes and not brief:
        yield Text()
        yield Text("run just these again", "bold")
        for text in command(nodes, invocation, width=width):
            yield Text(text, "cyan", no_wrap=True, overflow="ignore")


def _wrapped(text: Text, *, console: Console, whole: bool) -> list[Text]:
    width = console.width - len(_INDENT)
    lines = list(text.wrap(console, width))
    room = 1 if console.width >= WIDE else 2
    if not whole and len(lines) > room:
        lines = lines[:room]
        last = lines[-1]
        last.rstrip()
        if len(last) > width - 2:
            last.right_crop(len(last) - max(1, last.plain.rfind(" ", 0, width - 1)))
        last.append(" …", "dim")
    for line in lines:
        line.rstrip()
    return lines


def _failure(variant: VariantRecord, width: int) -> Iterator[Text]:
    """Show one sample's failure, of the most frequent cause."""
    if not variant.causes:
        return
    cause = max(variant.causes, key=lambda name: (variant.causes[name], name))
    detail = variant.details.get(cause, "").strip().partition("\n")[0]
    text = f"{variant.causes[cause]} of {variant.n} {spoken(cause)}" + (detail and f": {detail}")
    line = Text(f"{_INDENT}{text}", "dim")
    line.truncate(width, overflow="ellipsis")
    yield line


def difference(before: str, after: str) -> Text:
    """Return `after` with what is new marked ``[+…+]`` and what is gone ``[-…-]``, by words.

    The marks carry the meaning, colours only help; long unchanged stretches are shortened.
    """
    text = Text()
    for kind, part in word_diff(before, after):
        words = part.split()
        if kind == "gone":
            text.append("[-" + " ".join(words) + "-]", "red").append(" ")
        elif kind == "new":
            text.append("[+" + " ".join(words) + "+]", "green").append(" ")
        elif words:
            if len(words) > 2 * _CONTEXT_WORDS + 1:
                words = [*words[:_CONTEXT_WORDS], "…", *words[-_CONTEXT_WORDS:]]
            text.append(" ".join(words) + " ")
    return text


def command(nodes: Sequence[str], invocation: InvocationRecord, *, width: int) -> list[str]:
    """Return the shell command that runs `nodes` again with the same options, in short lines.

    A node id that is too long for one line is broken at its ``::``, which a shell joins again.
    """
    words = ["pytest"]
    for option in map(quote, invocation.options):
        if len(words[-1]) + len(option) + len("  \\") > width:
            words.append(f"  {option}")
        else:
            words[-1] += f" {option}"
    for node in nodes:
        path, _, name = node.partition("::")
        path = posixpath.relpath(path, invocation.directory)
        whole = "  " + quote(f"{path}::{name}")
        words.append(
            whole if len(whole) + 2 <= width else f"  {quote(path)}\\\n{quote(f'::{name}')}"
        )
    return " \\\n".join(words).split("\n")
