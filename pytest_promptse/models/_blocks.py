"""Unwrap a model's answer: find its blocks of code, and what the words beside them say of them.

Models wrap code in reasoning, JSON, markup, quotations, transcripts and patches, also in one
another. `readings` takes the wrappings off one by one.
"""

from __future__ import annotations

import html
import json
import re
import textwrap
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_promptse.models._statements import MAX_SOURCE, parse, statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, kw_only=True)
class Block:
    """A part of an answer that may be code.

    ``fenced`` is False for text around blocks. ``refused`` is True if the words before or after
    the block call it wrong. It then counts only if no other block has a program.
    """

    code: str
    language: str = ""
    refused: bool = False
    fenced: bool = True

    @property
    def may_be_python(self) -> bool:
        return self.language in _PYTHON | _UNNAMED

    @property
    def is_labelled_python(self) -> bool:
        return self.language in _PYTHON


_PYTHON = frozenset("python py python3 python2 py3 ipython ipython3 pycon".split())  # noqa: SIM905
_UNNAMED = frozenset({"", "code", "plaintext", "text", "txt"})

# Special tokens of chat templates that a server did not remove.
_END_OF_ANSWER = (
    "<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|end_of_text|>", "<|end|>", "<|return|>",
    "<end_of_turn>", "<|eom_id|>",
)  # fmt: skip
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_THOUGHTS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
)


def answer_in(text: str) -> str:
    """Return the answer in `text`: no reasoning before it, no tokens after it, plain line ends.

    The strings of a JSON value become text and blocks.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    text = text.rpartition(_FINAL_CHANNEL)[2]
    for opening, closing in _THOUGHTS:
        # Some templates put the opening tag into the prompt, so only the closing one is certain.
        text = text.rpartition(closing)[2]
        if text.lstrip().startswith(opening):
            return ""
    for token in _END_OF_ANSWER:
        text = text.partition(token)[0]
    return _json_as_text(text)


_FENCED_VALUE = re.compile(r"`{3,}\w*\n(.*)\n`{3,}", re.DOTALL)


def _json_as_text(text: str) -> str:
    bare = text.strip()
    fenced = _FENCED_VALUE.fullmatch(bare)
    bare = fenced[1].strip() if fenced is not None else bare
    if not bare.startswith(("{", "[", '"')) or len(bare) > MAX_SOURCE:
        return text
    try:
        return "\n\n".join(_strings_of(json.loads(bare))) or text
    except (ValueError, RecursionError):
        return text


def _strings_of(value: object, name: str = "") -> Iterator[str]:
    """Give the strings in a JSON `value`: code as blocks below its `name`, all else as text.

    A list of lines is one string. The outputs of a notebook are left out.
    """
    if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        value = ("" if any(line.endswith("\n") for line in value) else "\n").join(value)
    if isinstance(value, str):
        inner = answer_in(value)
        if inner != value or "```" in value or not re.search(r"\n|\bdef\b|=", value):
            yield inner
        else:
            yield f"{name}:\n```python\n{value}\n```"
    elif isinstance(value, list):
        for item in value:
            yield from _strings_of(item, name)
    elif isinstance(value, dict) and value.get("cell_type", "code") == "code":
        for key, item in value.items():
            yield from _strings_of(item, key) if key != "outputs" else ()


def readings(answer: str, entry_point: str) -> Iterator[Sequence[Block]]:
    """Give the ways to read `answer`, the plainest first, each as its blocks in their order.

    1. The fenced blocks that may be Python. 2. The text around them. 3. The text without markup,
    whose strings of three quotes are fences. 4. Indented lines and the blocks of other languages.
    5. Code in a sentence.
    """
    blocks, around = blocks_of(answer)
    yield [block for block in blocks if block.may_be_python]
    yield [_around(around)]
    bare = _without_markup(answer)
    if bare != answer:
        bare_blocks, bare_around = blocks_of(bare)
        yield [block for block in bare_blocks if block.may_be_python]
        yield [_around(bare_around)]
    others = [block.code for block in blocks if not block.may_be_python]
    yield [
        *(_around(text) for text in _indented(bare, entry_point)),
        *(_around(text) for text in others if _defines(text, entry_point)),
    ]
    yield [
        Block(code=quoted)
        for quoted in _QUOTED.findall(around)
        if entry_point in quoted and parse(quoted) is not None
    ]


def _defines(text: str, name: str) -> bool:
    return any(name in part.binds for part in statements(text)[0])


def _around(text: str) -> Block:
    return Block(code=_as_plain_code(text), fenced=False)


_QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_MARKUP = re.compile(
    r"<!\[CDATA\[|\]\]>|</?(?P<tag>[A-Za-z][\w:.-]*)(?:\s[^<>\n]*)?/?>|\[/?[A-Z]+\]"
)
# Tags that colour words inside a line of code.
_INLINE_TAGS = frozenset({"a", "b", "em", "font", "i", "mark", "span", "strong", "u"})
_QUOTES_AS_FENCE = re.compile(r"^(?:'''|\"{3})(?=(?:python|py)?[ \t]*$)", re.MULTILINE)


def _without_markup(text: str) -> str:
    text = _MARKUP.sub(lambda tag: "" if tag["tag"] in _INLINE_TAGS else "\n", text)
    return _QUOTES_AS_FENCE.sub("```", html.unescape(text))


def _indented(text: str, entry_point: str) -> Iterator[str]:
    """Give the runs of indented lines that are code for Markdown or YAML, moved to the margin.

    A run begins after a blank line, or holds a definition of `entry_point`.
    """
    lines = text.split("\n")
    definition = re.compile(rf"[ \t]+(?:async\s+def|def|class)\s+{re.escape(entry_point)}\b")
    after = 0
    for number, line in enumerate(lines):
        begins = line[:1] in (" ", "\t") and number > 0 and not lines[number - 1].strip()
        if number < after or not line.strip() or not (begins or definition.match(line)):
            continue
        margin = line[: len(line) - len(line.lstrip())]
        first = number
        while first > after and _is_inside(lines[first - 1], margin):
            first -= 1
        after = number
        while after < len(lines) and _is_inside(lines[after], margin):
            after += 1
        yield textwrap.dedent("\n".join(lines[first:after]))


def _is_inside(line: str, margin: str) -> bool:
    return not line.strip() or line.startswith(margin)


def blocks_of(text: str) -> tuple[list[Block], str]:
    """Return the fenced blocks of `text`, and the text around them. Patches are applied."""
    blocks: list[Block] = []
    around: list[str] = []
    parts = [*_parts_of(text)]
    for index, part in enumerate(parts):
        if part.language is None:
            around.append(part.text)
            continue
        before, after = (
            parts[near].text if 0 <= near < len(parts) and parts[near].language is None else ""
            for near in (index - 1, index + 1)
        )
        language, code = part.language, part.text
        if language in _DIFFS or _IS_DIFF.match(code):
            # The patched block takes the place of the block that it patches.
            patched = blocks.pop() if blocks else Block(code="")
            code, language = _patched(patched.code, code), "python"
        refused = is_called_wrong(above=_last_line(before), below=_first_line(after))
        blocks.append(Block(language=language, code=code, refused=refused))
    blocks = [replace(block, code=_as_plain_code(block.code)) for block in blocks]
    return blocks, "\n".join(around)


@dataclass(frozen=True)
class _Part:
    """A fenced block, or text between blocks, whose `language` is None."""

    text: str
    language: str | None = None


# https://spec.commonmark.org/0.31.2/#fenced-code-blocks
_MOST_INDENTATION = 3
_FENCE = re.compile(r"(?P<margin>[ \t]*(?:> ?)*[ \t]*)(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_FENCE_AFTER_TEXT = ("```python", "```py")
_STARTS_CODE = re.compile(r"(?:async\s+def|def|class|import|from)\s")
_DIFFS = frozenset({"diff", "patch"})
_IS_DIFF = re.compile(r"--- .*\n\+\+\+ .*\n@@")


def _parts_of(text: str) -> Iterator[_Part]:
    """Cut `text` into fenced blocks and the text between them.

    A block of Markdown is no block of code: its parts are parts of the answer.
    """
    lines: list[str] = []
    opened: re.Match[str] | None = None
    language = ""
    depth = 0
    for line in text.split("\n"):
        fence = _FENCE.match(line.rstrip())
        if opened is None:
            if fence is None and line.rstrip().endswith(_FENCE_AFTER_TEXT):
                before, ticks, info = line.rpartition("```")
                lines.append(before)
                fence = _FENCE.match(ticks + info.rstrip())
            if fence is None:
                lines.append(line)
                continue
            yield _Part("\n".join(lines))
            info = fence["info"].strip()
            if info.endswith(fence["fence"]):
                language, _, inline = info.removesuffix(fence["fence"]).partition(" ")
                yield _Part(inline, language.lower())
                lines = []
            else:
                language, _, rest = info.strip("{.}").partition(" ")
                opened, language, depth = fence, language.lower(), 0
                lines = [rest] if _STARTS_CODE.match(rest) else []
            continue
        margin = len(opened["margin"])
        inside = line[margin:] if not line[:margin].strip(" \t>") else line
        if fence is not None and language in _MARKDOWN and _nests(fence, depth):
            depth += 1 if fence["info"] else -1
        elif fence is not None and _closes(fence, opened):
            yield from _block_parts("\n".join(lines), language)
            opened, lines = None, []
            continue
        elif fence is None and inside.endswith(opened["fence"]):
            yield from _block_parts(
                "\n".join([*lines, inside.removesuffix(opened["fence"])]), language
            )
            opened, lines = None, []
            continue
        lines.append(inside)
    text = "\n".join(lines)
    yield from [_Part(text)] if opened is None else _block_parts(text, language)


_MARKDOWN = frozenset({"markdown", "md"})


def _nests(fence: re.Match[str], depth: int) -> bool:
    return bool(fence["info"]) or depth > 0


def _block_parts(text: str, language: str) -> Iterator[_Part]:
    yield from _parts_of(text) if language in _MARKDOWN else [_Part(text, language)]


def _closes(closing: re.Match[str], opened: re.Match[str]) -> bool:
    """Return whether a line ends a block. A fence that is indented further is in a docstring."""
    is_plain = closing["fence"].startswith(opened["fence"]) and not closing["info"]
    return is_plain and len(closing["margin"]) <= len(opened["margin"]) + _MOST_INDENTATION


_NEAR = 200  # characters of a line whose words are about the block beside it


def _last_line(text: str) -> str:
    return text.rstrip().rpartition("\n")[2][-_NEAR:]


def _first_line(text: str) -> str:
    return text.lstrip().partition("\n")[0][:_NEAR]


_WRONG = re.compile(
    r"\b(?:wrong|incorrect|buggy|bugs?|broken|do not|don't|never|avoid|bad|anti-?pattern|mistakes?"
    r"|not recommended|instead of|falsch|schlecht|nicht so|mauvais|faux|ne faites pas|incorrecto"
    r"|mal ejemplo|no hagas)\b|错误|不要|不推荐|[❌✗✘⛔🚫👎]",
    re.IGNORECASE,
)
_RIGHT = re.compile(
    r"\b(?:correct|corrected|fix|fixed|instead(?! of)|right|now|use|better|improved)\b|[✅✓]",
    re.IGNORECASE,
)
_FAILS = re.compile(
    r"\b(?:this|that|it|version|one|code|function)\b.*?"
    r"\b(?:is|was|does not work|doesn't work|fails|won't work)\b",
    re.IGNORECASE,
)
_FAILED = re.compile(r"\b(?:does not|doesn't|won't) work\b|\bfails\b", re.IGNORECASE)


def is_called_wrong(*, above: str, below: str = "") -> bool:
    """Return whether the line above or below a block calls its code wrong.

    Words that praise outweigh words that warn, since "Avoid this bug: use" introduces good code.
    """
    above, below = (re.sub(r"[*_`]", "", line).translate(_TYPOGRAPHY) for line in (above, below))
    if _WRONG.search(above) and not _RIGHT.search(above):
        return True
    return bool(_FAILS.search(below) and (_FAILED.search(below) or _WRONG.search(below)))


_SHELL_PROMPT = re.compile(r"(?:>>>|In \[\d+\]:)(?: |$)")
_CONTINUATION_PROMPT = re.compile(r"(?:\.\.\.| +\.\.\.:)(?: |$)")
# No line has a longer number, and Python refuses to read one of over 4,300 digits.
_NUMBERED = re.compile(r"[ \t]*(\d{1,9})(?:[.:|)]| +\||(?=\s|$)) ?")
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000", " ")
    | dict.fromkeys("\u200b\ufeff", "")
    | dict.fromkeys("“”„", '"')
    | dict.fromkeys("\u2018\u2019", "'")
)


def _as_plain_code(code: str) -> str:
    """Return `code` without line numbers, prompts of a shell and the characters of a typesetter."""
    code = _without_prompts(_without_numbers(code))
    plain = code.translate(_TYPOGRAPHY)
    # In a string of a program, each of these characters is right.
    return code if plain == code or parse(code) is not None else plain


def _without_numbers(code: str) -> str:
    """Return `code` without the numbers of its lines, if each line that is not blank has one."""
    lines = [line for line in code.split("\n") if line.strip()]
    numbers = [_NUMBERED.match(line) for line in lines]
    values = [int(number[1]) for number in numbers if number is not None]
    if not values or values != [*range(values[0], values[0] + len(lines))]:
        return code
    rests = (line[number.end() :] for line, number in zip(lines, numbers, strict=True) if number)
    return textwrap.dedent("\n".join(rests))


def _without_prompts(code: str) -> str:
    """Return the input lines of `code` if it is the transcript of an interactive session."""
    if not _SHELL_PROMPT.match(code.lstrip("\n")):
        return code
    typed = []
    for line in code.split("\n"):
        prompt = _SHELL_PROMPT.match(line) or _CONTINUATION_PROMPT.match(line)
        if prompt is not None:
            typed.append(line[prompt.end() :])
    return "\n".join(typed)


def _patched(code: str, patch: str) -> str:
    """Return `code` with `patch` applied, or the added lines if the context is not in `code`.

    `patch` is a unified diff. Only the text of its hunks matters, not their line numbers.
    """
    hunks: list[list[str]] = [[]]
    for line in patch.split("\n"):
        if line.startswith("@@"):
            hunks.append([])
        elif not line.startswith(("--- ", "+++ ", "diff ", "index ", "\\ ")):
            hunks[-1].append(line)
    fresh = []
    for hunk in hunks:
        old = "\n".join(line[1:] for line in hunk if not line.startswith("+")).strip("\n")
        new = "\n".join(line[1:] for line in hunk if not line.startswith("-")).strip("\n")
        if old and old in code:
            code = code.replace(old, new, 1)
        else:
            fresh.append(new)
    return code if code and not any(fresh) else "\n".join(fresh)
