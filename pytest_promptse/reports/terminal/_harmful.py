"""The most harmful variants: their changes, a failure of each, and the command to rerun them."""

from __future__ import annotations

import posixpath
from shlex import quote
from typing import TYPE_CHECKING

from rich.text import Text

from pytest_promptse.reports._formatting import WIDE, cause_words, probability, shortened
from pytest_promptse.variants._word_diff import word_diff

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from pytest_promptse.record._queries import Loss
    from pytest_promptse.record._schema import InvocationRecord, VariantRecord

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
    """Show the `worst` variants, each with one failure, and the command that reruns them.

    Parameters
    ----------
    worst
        The variants to show.
    console
        The console, whose width is that of the lines.
    whole
        True to show the whole difference instead of one or two lines.
    brief
        True to show one line per variant and no command.
    name_template
        True to name the prompt template of each variant.
    invocation
        The pytest command line; None omits the command.
    """
    if not worst:
        return
    yield Text("most harmful variants", "bold")
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
    """Show one failure with the most frequent cause.

    The line has at most `width` columns. Nothing is yielded if no sample of the variant failed.
    """
    if not variant.causes:
        return
    cause = max(variant.causes, key=lambda name: (variant.causes[name], name))
    detail = variant.details.get(cause, "").strip().partition("\n")[0]
    text = f"{variant.causes[cause]} of {variant.n} {cause_words(cause)}" + (
        detail and f": {detail}"
    )
    line = Text(f"{_INDENT}{text}", "dim")
    line.truncate(width, overflow="ellipsis")
    yield line


def difference(before: str, after: str, *, context: int | None = _CONTEXT_WORDS) -> Text:
    """Return `after` with new words in ``[+…+]`` and removed words in ``[-…-]``.

    The marks also work without colours.

    Parameters
    ----------
    before, after
        The original and the variant.
    context
        Unchanged parts are shortened to this number of words at each end. None keeps them whole,
        with their line breaks.
    """
    text = Text()
    for kind, part in word_diff(before, after):
        words = part.split()
        # Whole texts keep their lines, so white space belongs to the parts.
        if context is None and kind == "same":
            text.append(part)
        elif context is None and kind == "new":
            text.append(f"[+{part}+]", "green")
        elif kind == "gone":
            text.append("[-" + " ".join(words) + "-]", "red").append(" ")
        elif kind == "new":
            text.append("[+" + " ".join(words) + "+]", "green").append(" ")
        elif words:
            if context is not None and len(words) > 2 * context + 1:
                words = [*words[:context], "…", *words[-context:]]
            text.append(" ".join(words) + " ")
    return text


def command(nodes: Sequence[str], invocation: InvocationRecord, *, width: int) -> list[str]:
    """Return the shell command that reruns `nodes` with the same options, in short lines.

    A node id that is too long for one line is split at ``::``, and the shell joins the parts.
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
