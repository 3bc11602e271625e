"""The most harmful variants: their changes, a failure of each, and the command to rerun them."""

from __future__ import annotations

import posixpath
from shlex import quote
from typing import TYPE_CHECKING

from rich.text import Text

from pytest_promptse.reports._formatting import cause_words, probability, shortened
from pytest_promptse.variants._word_diff import word_diff

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from pytest_promptse.record._queries import Losses
    from pytest_promptse.record._schema import InvocationRecord
    from pytest_promptse.store._measured_variant import VariantRecord

SHOWN = 3
_CONTEXT_WORDS = 4
_INDENT = "    "


def harmful(
    losing: Losses,
    *,
    console: Console,
    whole: bool,
    brief: bool = False,
    name_template: bool = False,
    invocation: InvocationRecord | None,
) -> Iterator[Text]:
    """Show the worst of the variants that lose, why they fail, and how to run them again.

    Parameters
    ----------
    losing
        The variants to show, and how many lose.
    console
        The console, whose width is that of the lines.
    whole
        True to show the whole differences, and the command that reruns all of the variants instead
        of the worst.
    brief
        True to show one line per variant and no command.
    name_template
        True to name the prompt template of each variant.
    invocation
        The pytest command line; None omits the command.
    """
    worst = losing.worst
    if not worst:
        return
    width = console.width
    more = f", of {losing.n} that lose" if losing.n > len(worst) else ""
    hint = "" if whole else " (-v: all, by cause, emotion and persona)"
    yield Text("most harmful variants", "bold").append(f"{more}{hint}", "not bold dim")
    failures = [_failure(loss.variant) for loss in worst]
    # What all of them fail by is said once.
    common = failures[0] if not brief and len(set(failures)) == 1 and len(worst) > 1 else ""
    if common:
        yield _cut(f"  each fails by {common}", width)
    for (_, _, task, original, variant), failure in zip(worst, failures, strict=True):
        fall = f" {original.pass_rate:.2f} → {variant.pass_rate:.2f}"
        chance = f"  p {probability(variant.p_adjusted)}" if variant.p_adjusted is not None else ""
        template = f"{task.template} " if name_template and task.template else ""
        name = f"{template}{task.id} {variant.id}"
        room = min(len(name), width - len(fall) - len(chance) - 3)
        head = Text(f"  {shortened(name, room)} ", no_wrap=True, overflow="ignore")
        yield head.append(fall, "red").append(chance, "dim")
        if brief:
            continue
        changed = difference(original.text, variant.text)
        for line in _wrapped(changed, console=console, whole=whole):
            yield Text(_INDENT).append_text(line)
        if failure and not common:
            yield _cut(f"{_INDENT}{failure}", width)
    rerun = worst if whole else worst[:1]
    nodes = [loss.variant.node for loss in rerun if loss.variant.node is not None]
    if invocation is not None and nodes and not brief:
        if whole:
            yield Text()
        yield Text("run just these again" if whole else "run the worst again", "bold")
        for text in command(nodes, invocation, width=width):
            yield Text(text, "cyan", no_wrap=True, overflow="ignore")


def _wrapped(text: Text, *, console: Console, whole: bool) -> list[Text]:
    width = console.width - len(_INDENT)
    lines = list(text.wrap(console, width))
    if not whole and len(lines) > 1:
        last = lines[0]
        lines = [last]
        last.rstrip()
        if len(last) > width - 2:
            last.right_crop(len(last) - max(1, last.plain.rfind(" ", 0, width - 1)))
        last.append(" …", "dim")
    for line in lines:
        line.rstrip()
    return lines


def _failure(variant: VariantRecord) -> str:
    """Return one failure with the most frequent cause, or nothing if no sample failed."""
    if not variant.causes:
        return ""
    cause = max(variant.causes, key=lambda name: (variant.causes[name], name))
    detail = variant.details.get(cause, "").strip().partition("\n")[0]
    count = f"{variant.causes[cause]} of {variant.n}"
    return f"{count} {cause_words(cause)}" + (detail and f": {detail}")


def _cut(text: str, width: int) -> Text:
    line = Text(text, "dim")
    line.truncate(width, overflow="ellipsis")
    return line


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
