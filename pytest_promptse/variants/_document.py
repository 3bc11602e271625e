"""The document model: a prompt as a sequence of typed spans that cover it exactly.

A rewriter may change only the request act, and it adds the writer's sentences at the places that a
`Document` offers. Every other span is part of the specification and is kept verbatim.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from pytest_promptse.tasks._task import parse_stub
from pytest_promptse.variants._lines import (
    PROSE,
    Line,
    begins_fence,
    begins_item,
    comment_sign,
    is_code_line,
    is_greeting,
    read_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.variants._lines import Kind

# A last line of these kinds cannot be followed by a sentence, since an answer is expected there.
_OPEN_ENDS: frozenset[Kind] = frozenset(
    {"code", "example", "heading", "marker", "placeholder", "signature"}
)

_GREETING_IN_LINE = re.compile(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|morning|hallo|moin)\b"
    r"(?:[ ]@?[\w'\u2019-]+){0,2}[,!.][ ]+\S",
    re.IGNORECASE,
)
_FRIENDS = "大家|各位|兄弟们?|哥们儿?|姐妹们?|朋友们|同学们|大佬们?|[哥姐]|师[兄姐弟妹傅]"
_NAME = (
    r"[小老阿](?![计结数时写组节师])[\u4e00-\u9fff]{1,2}|[\u4e00-\u9fff]{1,2}(?:老师|总|哥|姐|经理)"
    r"|[\u4e00-\u9fff]?[^\W\d_分加职员手施完开动人]工"
)
# A Chinese message that calls its reader: 在吗 @小李, 老张在不?, 师兄, and 哈喽大家,
_CALL = re.compile(
    rf"(?:(?:哈喽|嗨|hi[ ,\uff0c])?(?:{_FRIENDS}|{_NAME})?"
    r"(?:在[吗么不]|有空吗|方便吗|忙吗|救急|救命|哈喽|[你您大家]*好|嗨)(?:[,\uff0c!\uff01\u3002?\uff1f]+\s?|\s)"
    rf"|(?:哈喽|嗨|hi[ ,\uff0c])?(?:{_FRIENDS})(?:[,\uff0c!\uff01]\s?|\s)|(?:{_NAME})[,\uff0c]\s?"
    r"|@[\w.-]+[,\uff0c:]?\s+)+(?=\S)",
    re.IGNORECASE,
)
# A greeting without a mark, in a message without capitals: *hey can you write*.
_GREETING_UNMARKED = re.compile(
    r"(?:hi|hey|hello|hiya|yo)[ ](?:(?:there|all|team|everyone|everybody|guys|folks|again)[ ])?"
    r"(?=(?:can|could|would|will|i|im|i'm|i've|we|is|are|do|does|did|how|what|so|quick|need|please"
    r"|pls|got|anyone|any|my|our|the|have)\b)"
)
# A name at the start of a question to its bearer: *Sam, can you*.
_NAMED = re.compile(
    r"(?!(?:Please|Also|Now|Then|Next|Finally|First|Sorry|Well|Okay|Thanks|Today|Otherwise|However"
    r"|Here|Instead)\b)[A-Z][a-z]+,[ ](?=(?:can|could|would|will|please)[ ]\w)"
)
_MENTION = re.compile(
    r"(?:@(?:here|channel|all|everyone)\b[,:]?\s+|@[\w.-]+[,:]?[ ]+)+(?=\S)", re.IGNORECASE
)
_MENTION_OF_ALL = re.compile(r"@(?:here|channel|all|everyone)\b", re.IGNORECASE)
_MAIL_HEADER = re.compile(
    r"[*\s]*(?:from|to|cc|bcc|subject|date|sent|von|an|betreff|datum|gesendet"
    r"|主题|发件人|收件人|抄送|日期|发送时间)[*\s]*[:\uff1a]",
    re.IGNORECASE,
)
_FEWEST_HEADERS = 2
_EMOJI = re.compile(r"(?<!\S):[\w+-]+:$")
_GREETING_WORD = re.compile(r"(?:hi|hey|hello|hiya|yo|sup)\b(?!-)", re.IGNORECASE)
# Verbs by which an exercise, or somebody who asks, speaks of the reader's means.
_OF_EXERCISES = (
    "are|can|could|got|get|had|have|may|might|must|need|own|said|see|should|told|want|were|will"
    "|would"
)
_ROLE = re.compile(
    r"(?:you are|you're|act as|as an (?:ai|assistant)|your role is|(?:assume|take) (?:on )?the role"
    r"|(?:imagine|pretend) you(?:'re| are))"
    r"\b(?! given)|you will (?:be (?:given|shown|asked)|receive|act|play)\b"
    # *You translate ...*, unlike *You have a list*, *You can assume* and other exercises.
    rf"|you (?:(?:only|always|also) )?(?!(?:{_OF_EXERCISES})\b)[a-z]{{3,}}\b"
    r"|(?:always |only )?(?:answer|reply|respond) (?:always |only )?(?:in|with|as|to)\b"
    r"|(?:system|user|human|instructions?)\s*[:\uff1a]"
    r"|(?:你(?:现在|将|就)?是|您是|请?(?:你)?(?:要|将|来)?扮演|你(?:只|专门|主要)?负责"
    r"|(?:假设|假如|假定|假装|设想|想象|如果)[你您](?:现在)?是|请?(?:你)?(?:以|站在).{1,16}的(?:身份|角色|口吻|角度)"
    r"|(?:请)?(?:把|将)(?:你)?自己(?:当|想象)[成作做]"
    r"|作为(?:一[个名位])? ?(?:AI|人工智能|智能|编程助手)|(?:只|仅)(?:回答|回复|输出)"
    r"|你的(?:角色|职责|任务|工作)是|接下来你(?:会|将)|你(?:会|将)(?:收到|看到|得到))",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"\s*(?:(?:many |kind |best |warm )?(?:thanks|thank you|regards|wishes|cheers)\b.{0,40}"
    r"|best|sincerely|yours(?: \w+)?|thx|ty|vg|mfg|lg|(?:viele|beste|liebe) gr(?:ü|ue)(?:ß|ss)e"
    r"|(?:mit freundlichen gr(?:ü|ue)(?:ß|ss)en)|danke\b.{0,30}|谢谢.{0,10}|此致|祝好)"
    r"[,.!\uff01\u3002\uff0c]?\s*$",
    re.IGNORECASE,
)
_USER_TURN = re.compile(
    r"^(?:\[INST\][ \t]*|<\|(?!im_end|end)[^|>]*\|>[ \t]*(?:user)?[ \t]*\n"
    r"|#{0,4}[ \t]*(?:instructions?|user|human|question|prompt)[ \t]*:?[ \t]*\n)",
    re.IGNORECASE | re.MULTILINE,
)
_CONTEXT = re.compile(
    r"(?:we|our|i|i'm|i've|my|you are|you're|background|context)\b|(?:我们|我|你是|您是|背景)",
    re.IGNORECASE,
)

_PROTECTED = re.compile(
    r"(`+)(?!`).+?(?<!`)\1(?!`)|\"[^\"\n]{0,120}\"|\u201c[^\u201d\n]{0,120}\u201d"
    r"|\u300c[^\u300d]*\u300d|\([^()]*\)|\uff08[^\uff08\uff09]*\uff09|\[[^\[\]]*\]|\{[^{}]*\}"
    r"|(?<!\w)'[^'\n]{1,60}'(?!\w)",
    re.DOTALL,
)
_BOUNDARY = re.compile(
    r"[.!?]+[\"'\u2019\u201d)*_`]*(?=\s)|[\u3002\uff01\uff1f]+[\u300d\u300f\u201d\uff09]*"
    r"|[!?]+(?=[\u3400-\u9fff])"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|no|nr|fig|approx|resp|incl|excl|max|min|mr|mrs|ms|dr|st|z\.B|d\.h"
    r"|bzw|usw|ca)|(?<![A-Za-z])[A-Za-z]|\.\.)\.$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a prompt: characters ``[start, end)`` of one `kind`.

    A line that is not prose is one span, including its line break. In prose each sentence is one
    span, including the blanks and line breaks after it.
    """

    kind: Kind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Docstring:
    """The position of the docstring of a stub.

    ``start`` and ``end`` are the offsets of the text between its quotes. ``indent`` is the column
    of its opening quotes. ``raw`` is True if a prefix such as ``r`` precedes them.
    """

    start: int
    end: int
    indent: int
    raw: bool


@dataclass(frozen=True, kw_only=True)
class Document:
    """A prompt as typed spans. Their texts together are the prompt.

    Parameters
    ----------
    text
        The prompt.
    spans
        The spans in order, without gaps. For a stub these are the spans of its docstring, between
        spans of code.
    head
        The offset before which nothing may be inserted. Role markers and front matter precede it.
    body
        The offset at which the body begins: `head`, or after a greeting.
    tail
        The offset at which sentences may follow, before the closing of an e-mail. None if the
        prompt ends in a signature, an example, a label or a placeholder, since a sentence after it
        would seem to be part of it.
    comment
        The sign that starts a comment line, ``"#"`` for a Python stub. Empty for a prompt in prose.
    docstring
        The docstring of a Python stub's last definition, or None without one.
    """

    text: str
    spans: tuple[Span, ...]
    head: int
    body: int
    tail: int | None
    comment: str = ""
    docstring: Docstring | None = None

    @property
    def is_stub(self) -> bool:
        """True if the prompt is source code to complete."""
        return bool(self.comment)

    @cached_property
    def sentences(self) -> tuple[Span, ...]:
        """The spans of prose in order, including list items."""
        return tuple(span for span in self.spans if span.kind in PROSE)

    @cached_property
    def prose(self) -> str:
        """The sentences, one per line."""
        return "\n".join(" ".join(self.content(span).split()) for span in self.sentences)

    @cached_property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of span that occur."""
        return frozenset(span.kind for span in self.spans)

    @cached_property
    def gives_a_role(self) -> bool:
        """True if the prompt begins with a role or a rule for the model that answers."""
        spans = (span for span in self.spans if span.start >= self.body)
        first = next((span for span in spans if span.kind not in ("blank", "heading")), None)
        return first is not None and _ROLE.match(self.text, first.start) is not None

    @cached_property
    def addresses_a_model(self) -> bool:
        """True if tags or markers divide the prompt, or it begins with a role for the model."""
        return (
            not self.kinds.isdisjoint(("tag", "marker"))
            or (self.head > 0 and not self.is_stub)
            or self.gives_a_role
        )

    @cached_property
    def ends_in_data(self) -> bool:
        """True if the last block of the prompt has a line that is not plain prose.

        Such lines are list items, tables, examples, code, fences, headings, tags and tracebacks. A
        paragraph after the block would be read as part of it. A closing and blank lines are
        ignored. A blank line ends the block.
        """
        last = [span for span in self.spans if span.kind != "closing"]
        while last and last[-1].kind == "blank":
            last.pop()
        if not last:
            return False
        lines = last[-1:]
        for span in reversed(last[:-1]):
            if span.kind == "blank" or (span.kind in PROSE and lines[-1].kind not in PROSE):
                break
            lines.append(span)
        return any(span.kind not in ("specification", "context", "greeting") for span in lines)

    @cached_property
    def greets_in_its_sentence(self) -> bool:
        """True if the greeting and the body are one sentence or one line.

        Either the body begins with a small letter after *Hi Anna,*, or its first line begins with
        *hey!*. Sentences between greeting and body would then cut the writer's own text.
        """
        body = self.text[self.body :].lstrip()
        if self.body > self.head:
            return body[:1].islower()
        return self.salutation is not None or _GREETING_WORD.match(body) is not None

    @cached_property
    def salutation(self) -> int | None:
        """Return the offset after a greeting such as *hey!*, *@here* or *Sam,*, or None."""
        if self.body > self.head:
            return None
        start = len(self.text) - len(self.text[self.head :].lstrip())
        line = self.text[start:].partition("\n")[0]
        mention = _MENTION.match(self.text, start)
        if mention and (_MENTION_OF_ALL.match(line) or not is_code_line(line)):
            start = mention.end()
        call = _CALL.match(self.text, start)
        if call and not line.isascii():
            return call.end()
        greeting = _GREETING_IN_LINE.match(self.text, start)
        if greeting:
            return greeting.end() - 1
        unmarked = _GREETING_UNMARKED.match(self.text, start)
        if unmarked:
            return unmarked.end()
        named = _NAMED.match(self.text, start)
        if named:
            return named.end()
        return mention.end() if mention and start == mention.end() else None

    @cached_property
    def has_mail_headers(self) -> bool:
        """True if the prompt begins with header lines of an e-mail, such as *From:* and *To:*.

        One header line is enough if a greeting is in the next line that is not blank.
        """
        lines = self.text[self.head :].strip().splitlines()
        filled = [line for line in lines[: _FEWEST_HEADERS + 1] if line.strip()]
        if len(filled) < _FEWEST_HEADERS or not _MAIL_HEADER.match(filled[0]):
            return False
        if is_greeting(filled[1]):
            return True
        return all(map(_MAIL_HEADER.match, lines[:_FEWEST_HEADERS]))

    def content(self, span: Span) -> str:
        """Return the text of `span` without the blanks around it."""
        return self.text[span.start : span.end].strip()


@lru_cache(maxsize=256)
def read_document(prompt: str, entry_point: str = "") -> Document:
    """Return the document model of `prompt`.

    Parameters
    ----------
    prompt
        Any text.
    entry_point
        The function whose docstring is read in a stub. The default is the last one defined.
    """
    tree = parse_stub(prompt)
    if tree is not None:
        return _stub(prompt, tree, entry_point)
    comment = comment_sign(prompt)
    if comment:
        return Document(
            text=prompt,
            spans=(Span("code", 0, len(prompt)),),
            head=_above_code(prompt),
            body=_above_code(prompt),
            tail=None,
            comment=comment,
        )
    return _prose(prompt)


# -- stubs -----------------------------------------------------------------------------------------

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_OPENING = re.compile(r"([A-Za-z]*)(\"\"\"|''')")


def _stub(prompt: str, tree: ast.Module, entry_point: str) -> Document:
    docstring = _docstring(prompt, tree, entry_point)
    return Document(
        text=prompt,
        spans=tuple(_stub_spans(prompt, docstring)),
        head=_above_code(prompt),
        body=_above_code(prompt),
        tail=None,
        comment="#",
        docstring=docstring,
    )


def _stub_spans(prompt: str, docstring: Docstring | None) -> Iterator[Span]:
    """Yield the code around the docstring, and the spans of the text between its quotes.

    `docstring` has the range of the text in `prompt`, or is None. The spans cover the whole prompt,
    as character offsets.
    """
    if docstring is None:
        yield Span("code", 0, len(prompt))
        return
    yield Span("code", 0, docstring.start)
    inside = prompt[docstring.start : docstring.end]
    for span in _spans(inside, list(read_lines(inside))):
        yield Span(span.kind, span.start + docstring.start, span.end + docstring.start)
    yield Span("code", docstring.end, len(prompt))


def _above_code(prompt: str) -> int:
    """Return where comments may start.

    That is after blank lines, a shebang, an encoding line and the opening tag of PHP.
    """
    heading = re.match(
        r"(?:[ \t]*\r?\n)*(?:#!.*\n)?(?:#.*coding[:=].*\n)?(?:<\?php[ \t]*\r?\n)?", prompt
    )
    return heading.end() if heading else 0


def _docstring(prompt: str, tree: ast.Module, entry_point: str) -> Docstring | None:
    definitions = [node for node in tree.body if isinstance(node, _Definition)]
    named = [node for node in definitions if node.name == entry_point]
    if not definitions:
        return None
    for statement in (named or definitions)[-1].body:
        if not (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, str)
        ):
            continue
        node = statement.value
        start = _offset(prompt, node.lineno, node.col_offset)
        end = _offset(prompt, node.end_lineno or node.lineno, node.end_col_offset or 0)
        opening = _OPENING.match(prompt, start)
        if opening is None:
            return None
        return Docstring(
            opening.end(), end - len(opening[2]), node.col_offset, raw=bool(opening[1])
        )
    return None


def _offset(text: str, line: int, column: int) -> int:
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
    begin = starts[line - 1]
    return begin + len(text[begin:].encode()[:column].decode(errors="ignore"))


# -- prose -----------------------------------------------------------------------------------------


def _prose(prompt: str) -> Document:
    lines = _closed(prompt, list(read_lines(prompt)))
    spans = tuple(_spans(prompt, lines))
    head = _head(prompt)
    body = head
    for line in lines:
        if line.start < head or line.kind == "blank":
            continue
        if line.kind == "greeting" and line.end < len(prompt.rstrip()):
            body = line.end
        break
    return Document(text=prompt, spans=spans, head=head, body=body, tail=_tail(prompt, lines))


def _closed(prompt: str, lines: list[Line]) -> list[Line]:
    """Mark the end of an e-mail: a phrase such as *Thanks,* with at most two short lines.

    `lines` are the classified lines of `prompt`. They are returned unchanged if there is no such
    phrase near the end.
    """
    filled = [number for number, line in enumerate(lines) if line.kind != "blank"]
    for place in reversed(filled[1:][-3:]):
        line = lines[place]
        if (
            _CLOSING.match(prompt[line.start : line.end])
            and all(
                len(prompt[after.start : after.end].split()) <= 5  # noqa: PLR2004 - a name
                for after in lines[place + 1 :]
            )
        ):
            return [
                *lines[:place],
                *(
                    after if after.kind == "blank" else Line("closing", after.start, after.end)
                    for after in lines[place:]
                ),
            ]
    return lines


def _spans(prompt: str, lines: Sequence[Line]) -> Iterator[Span]:
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.kind not in PROSE:
            yield Span(line.kind, line.start, line.end)
            number += 1
            continue
        last = number
        while (
            last + 1 < len(lines)
            and lines[last + 1].kind == line.kind
            and not (line.kind == "item" and begins_item(prompt[lines[last + 1].start :]))
        ):
            last += 1
        end = lines[last].end
        for start, stop in split_sentences(prompt, line.start, end):
            kind = line.kind
            if kind == "specification" and _CONTEXT.match(prompt[start:stop].lstrip()):
                kind = "context"
            yield Span(kind, start, stop)
        number = last + 1


def split_sentences(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Return the offsets of the sentences in ``text[start:end]``, without gaps.

    Nothing is split inside inline code, quotation marks or brackets, or after an abbreviation. In
    case of doubt two sentences stay one.
    """
    end = len(text) if end is None else end
    part = text[start:end]
    protected = [match.span() for match in _PROTECTED.finditer(part)]
    sentences: list[tuple[int, int]] = []
    begin = 0
    for match in _BOUNDARY.finditer(part):
        if any(low < match.start() < high for low, high in protected):
            continue
        following = part[match.end() :]
        after = following.lstrip()
        if not after:
            break
        if match[0][0] in ".!?" and (
            _ABBREVIATION.search(part[: match.start() + 1])
            or not re.match(r"[^\W\d_a-z]|[`\"'(\[{*_<$-]|\d", after)
        ):
            continue
        stop = match.end() + len(following) - len(after)
        sentences.append((start + begin, start + stop))
        begin = stop
    sentences.append((start + begin, end))
    return sentences


def _head(prompt: str) -> int:
    """Return where text may begin: after front matter and the role markers of the user's turn.

    The heading *Instructions* below a role for a model begins a part of the role, not a turn.
    """
    offset = 0
    front = re.match(r"---\s*\n.*?\n---\s*\n", prompt, re.DOTALL)
    if front:
        offset = front.end()
    has_role = _ROLE.match(prompt[offset:].lstrip()) is not None
    turns = [
        turn.end()
        for turn in _USER_TURN.finditer(prompt)
        if not (has_role and "instruction" in turn[0].lower())
    ]
    return max([offset, *turns[-1:]])


def _tail(prompt: str, lines: Sequence[Line]) -> int | None:
    filled = [line for line in lines if line.kind != "blank"]
    while filled and filled[-1].kind == "closing":
        filled.pop()
    if not filled:
        return None
    last = filled[-1]
    text = prompt[last.start : last.end].rstrip()
    closed_fence = sum(1 for line in lines if line.kind == "fence" and _is_rule(prompt, line)) % 2
    if last.kind == "fence" and (closed_fence or not _is_rule(prompt, last)):
        return None
    if last.kind in _OPEN_ENDS or (
        text.endswith((":", "\uff1a", ",", "\uff0c", "\\", "→", "->", "=>"))
        and not _EMOJI.search(text)
    ):
        return None
    if last.kind == "tag" and not text.startswith("</") and "</" not in text:
        return None
    if re.search(r"(?:\{\{[^}]*\}\}|\{%[^}]*%\}|\{[\w.:]*\}|\$\{\w+\}|%s)$", text):
        return None
    return last.start + len(text)


def _is_rule(prompt: str, line: Line) -> bool:
    return begins_fence(prompt[line.start : line.end])
