"""One variant in full: its changes, its outcomes with programs, and the command to rerun it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pytest_promptse._redaction import escape_controls
from pytest_promptse.reports._formatting import cause_words, console, printed
from pytest_promptse.reports.terminal._harmful import command, difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_promptse.record._schema import InvocationRecord
    from pytest_promptse.store._measured_variant import SampleRecord, VariantRecord

_INDENT = "  "


def render_variant(
    original: str | None,
    variant: VariantRecord,
    *,
    texts: Mapping[str, str],
    invocation: InvocationRecord | None,
    width: int,
    colours: bool,
    most: int | None = None,
) -> str:
    """Return the prompt of a variant with its changes, its outcomes, and the command to rerun it.

    Parameters
    ----------
    original
        The original prompt. Changes from it are marked ``[+…+]`` and ``[-…-]``. None shows the
        prompt without marks.
    variant
        The measured prompt to show.
    texts
        Program, or completion without a program, by the key that samples refer to.
    invocation
        The pytest command line; None omits the command.
    width, colours
        Columns of the terminal, and whether it shows ANSI colours.
    most
        Largest number of outcomes to show, failures first. None shows all recorded outcomes.
    """
    failures_first = sorted(variant.samples, key=lambda sample: (sample.cause is None, -sample.n))
    lines = [*_prompt(original, variant)]
    for sample in failures_first[:most]:
        lines += [Text(), *_outcome(sample, variant.n, texts)]
    if invocation is not None and variant.node is not None:
        lines += [Text(), Text("run it again", "bold")]
        lines += [
            Text(part, "cyan", no_wrap=True, overflow="ignore")
            for part in command([variant.node], invocation, width=width)
        ]
    out = console(width=width, colours=colours)
    for line in lines:
        out.print(line, crop=False)
    return printed(out)


def _prompt(original: str | None, variant: VariantRecord) -> Iterator[Text]:
    prompt = escape_controls(variant.text)
    if original is None or original == variant.text:
        yield Text("prompt", "bold")
        yield Text(prompt)
    else:
        yield Text("prompt, with its changes from the original", "bold")
        yield difference(escape_controls(original), prompt, context=None)


def _outcome(sample: SampleRecord, n: int, texts: Mapping[str, str]) -> Iterator[Text]:
    word = "pass" if sample.cause is None else cause_words(sample.cause)
    style = "bold green" if sample.cause is None else "bold red"
    yield Text(f"{sample.n} of {n} completions: {word}", style)
    for line in escape_controls(sample.detail).strip().splitlines():
        yield Text(_INDENT + line, "red")
    text = texts.get(sample.text)
    if text is not None:
        kind = "completion without a program" if sample.cause == "no_code" else "program"
        yield Text(f"{_INDENT}the {kind}:", "dim")
        for line in escape_controls(text).splitlines():
            yield Text(_INDENT * 2 + line)
