"""The embedded model's training text: plain requests and the programs that answer them.

A request stands alone or between plain statements about an office and a day, as people send
requests. None of these shows an emotion or a persona. The model has therefore never seen the effect
of an emotion.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

FAMILIES = Path(__file__).with_name("tiny_families.yaml")

_REQUESTS = (
    "Write `{}`: ",
    "[Write|Implement|Define|Create] `{}`: ",
    "[Write|Implement|Define|Create] the function `{}`: ",
    "[Write|Implement|Define|Create] a [Python |]function `{}`. ",
    "[Please |][write|implement|define|create] `{}`. ",
    "[Provide|Give|Add] [a|the] function `{}`. ",
    "The task is to [write|implement] `{}`. ",
)
_REQUESTS_IN_A_MESSAGE = (
    *_REQUESTS,
    "[I need you to|I'd like you to|I would like you to|I ask you to] [write|implement] `{}`: ",
    "[Please|Could you|Can you|Would you|Would you be able to] [write|implement] `{}`: ",
    "[Could you please|Please could you|Can I ask you to|May I ask you to] write `{}`: ",
    "[Here's one for you|Over to you|The request|A request|What I need]: [write|implement] `{}`: ",
)
_STATEMENTS = (
    "[The|My|Our|This|That] <thing> [is|was] [in|on|near|under|behind] the <thing>.",
    "[The|My|Our|This] <thing> [has|needs|holds|shows] [a|one|no|the] <kind> <thing>.",
    "[The|A|My|Our] <thing> is <kind>[ today| this week| in the morning| at noon|].",
    "I [have|see|keep|use|take|carry|bring|like|know] [the|a|my|that] <thing>[ and a <thing>|].",
    "I [work|sit|walk|read|write|eat|wait|stay|live] [in|at|near|with|by] the <thing>.",
    "I am [in|at|near|with|by] the <thing>[, and the <thing> is <kind>| and the <thing>|].",
    "I'm the one [with|by|near|at] the <thing>.",
    "I've [had|seen|kept|used|taken|read] the <thing>[ for a while| for years| all week|].",
    "We [have|meet|keep|share|use] [a|the|one] <thing>[ and the <thing>|][ on Mondays| at lunch|].",
    "There is [a|one|no] <kind> <thing> [in|on|near] the <thing>.",
    "[It is|It's] [a|the] <kind> <thing>[, and here is the <thing>| again|].",
    "[This|That|Here] is [the|a|my|your] [next |last |first |]<thing>[ of the <thing>|].",
    "[Can|Could|Will|Would] you [take|have|see|keep|do] this[ one| <thing>| for me|]?",
    "[Can|Could|Would] you [please |]help me [here|out|with this]?",
    "I [need|could use|would like] [your|some] help[ here| with this|].",
    "[The|My] <thing> and [the|my] <thing>[, the <thing>|] [are|were] [in|on|by] the <thing>.",
    "<Kind> <thing>, <kind> <thing>.",
    "[Back|Over|Out|Here|Up] [to|at|by] the <thing>.",
    "[Thank you|Thanks|Hello|Hi|Good morning|Good day].",
)
_LABELS = (
    "Here is the <thing>:",
    "This is the [text|item|request|<thing>]:",
    "The [text|item|request|<thing>] [reads|is|says]:",
    "[From|Out of|Off] the <thing>:",
    "[Here it is|Below|As follows|In full|The rest]:",
)
_THINGS = """
    desk office list page table window door phone call meeting team room chair cup coffee tea
    lunch day week morning evening night train bus road house garden kitchen floor building
    lift board card note notebook paper book shelf folder letter mail message screen keyboard
    laptop cable lamp clock calendar plan item ticket line word text question answer name
    person friend colleague boss neighbour group company job work project client customer shop
    market school child family cat dog bird tree flower rain sun snow wind weather light bag
    box key coat shoe hat glass bottle plate bread cake apple stone river bridge street corner
    wall picture map song game ball bike car wheel engine tool hand head eye voice step minute
    hour month year summer winter holiday city town country language story idea thing part
    place side end start top chat badge hallway printer server report record stack pile inbox
    pen pencil
""".split()  # noqa: SIM905 - a list of words
_KINDS = """
    big small long round flat green blue red white grey warm cold dry wet open closed full new
    old young early late near far quiet plain square wooden paper local public common usual
    second next other own same whole clear dark light soft thick thin wide narrow heavy tall
    low daily weekly free busy fresh known main single double upper lower inner outer
""".split()  # noqa: SIM905 - a list of words
_MOST_STATEMENTS = 3
_FRAMES = (
    "",
    "",
    "",
    "[Use only|Use] the standard library.",
    "[Answer|Reply] with [the code|Python code|the function].",
    "[It|The function] is [part of|used in] a small [library|program|module].",
    "[Print nothing|Do not print anything].",
)
_BEFORE_FRAME = (" ", "\n", "\n\n")
_AT_THE_END = ("", "", "\n")
_LEADS = (
    "Here is the function:",
    "This function does what was asked for:",
)
_CHOICE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")


@dataclass(frozen=True, kw_only=True)
class Family:
    """A signature, its description sentence by sentence, its behaviours and its program.

    ``behaviours`` maps the words of each behaviour to its piece of the program.
    """

    signature: str
    sentences: tuple[tuple[str, ...], ...]
    behaviours: Mapping[str, str]
    program: str

    def solution(self, behaviour: str) -> str:
        """Return the program for one of the behaviours."""
        source = self.program.strip().replace("@def", f"def {self.signature}:")
        return source.replace("@it", self.behaviours[behaviour])


@dataclass(frozen=True, kw_only=True)
class Example:
    """One request and the answer to learn."""

    prompt: str
    answer: str


@cache
def families() -> tuple[Family, ...]:
    """Return all families, in the file's order."""
    return tuple(
        Family(
            signature=entry["signature"],
            sentences=tuple(tuple(sentence) for sentence in entry["sentences"]),
            behaviours=entry["behaviours"],
            program=entry["program"],
        )
        for entry in yaml.safe_load(FAMILIES.read_text(encoding="utf-8"))
    )


def draw(rng: random.Random, *, messages: float = 0.0) -> list[Example]:
    """Return one text of one family for each of its behaviours.

    The prompts differ only in the requested behaviour, so a model cannot use any other difference.

    Parameters
    ----------
    messages
        The share of requests that stand between other statements, in [0, 1].
    """
    family = rng.choice(families())
    first, *others = (_spin(rng.choice(forms), rng) for forms in family.sentences)
    rng.shuffle(others)
    message = messages > 0 and rng.random() < messages
    request = _spin(rng.choice(_REQUESTS_IN_A_MESSAGE if message else _REQUESTS), rng)
    request = request[0].upper() + request[1:]
    if request.endswith(": "):
        first = first[0].lower() + first[1:]
    described = " ".join([first, *others])
    widths = rng.randint(20, 60), rng.randint(30, 90)
    line_break = rng.choice((" ", "\n", "\n", "\n    "))
    frame = _spin(rng.choice(_FRAMES), rng)
    end = (rng.choice(_BEFORE_FRAME) + frame if frame else "") + rng.choice(_AT_THE_END)
    around = _around(rng) if message else None
    examples = []
    for behaviour in family.behaviours:
        sentence = described.replace("<it>", _spin(behaviour, rng))
        sentence = re.sub(r"(?<=[.] )[a-z]", lambda found: found[0].upper(), sentence)
        if request.endswith(". "):
            sentence = sentence[0].upper() + sentence[1:]
        prompt = request.format(family.signature) + _lay_out(sentence, widths, line_break) + end
        if around is not None:
            prompt = around.put(prompt)
        answer = _answer(family.solution(behaviour), rng)
        examples.append(Example(prompt=prompt, answer=answer))
    return examples


@dataclass(frozen=True, kw_only=True)
class _Around:
    """Paragraphs before and after a request, and the mark that separates the request from them."""

    before: str
    after: str
    block: str

    def put(self, prompt: str) -> str:
        """Return the message."""
        if self.block == "inline":
            return f"{self.before} {prompt}".strip()
        text = prompt.strip()
        if self.block == "quote":
            text = "\n".join(f"> {line}" for line in text.splitlines())
        elif self.block == "rule":
            text = f"---\n\n{text}\n\n---"
        elif self.block == "bullets":
            text = "\n".join(f"- {part}" for part in re.split(r"(?<=[.])\s+", text))
        return "\n\n".join(part for part in (self.before, text, self.after) if part)


def _around(rng: random.Random) -> _Around:
    block = rng.choice(("inline", "paste", "paste", "paste", "rule", "quote", "bullets"))
    if block == "inline":
        return _Around(before=_statements(rng, rng.randint(1, 2)), after="", block=block)
    before = _statements(rng, rng.randint(0, _MOST_STATEMENTS))
    if block != "paste" or rng.random() < 1 / 3:
        before = f"{before} {_filled(rng.choice(_LABELS), rng)}".strip()
    after = _statements(rng, rng.randint(0, _MOST_STATEMENTS))
    return _Around(before=before, after=after, block=block)


def _statements(rng: random.Random, count: int) -> str:
    """Return plain statements in a row; some without capitals, some without full stops."""
    said = [_filled(rng.choice(_STATEMENTS), rng) for _ in range(count)]
    manner = rng.random()
    if manner < 0.15:  # noqa: PLR2004
        return ", ".join(sentence[:-1] for sentence in said).lower()
    if manner < 0.3:  # noqa: PLR2004
        mark = rng.choice(("!", "...", "; "))
        return " ".join(sentence.replace(".", mark.strip()) for sentence in said)
    return " ".join(said)


def _filled(text: str, rng: random.Random) -> str:
    text = _spin(text, rng)
    text = re.sub("<thing>", lambda _: rng.choice(_THINGS), text)
    text = re.sub("<kind>", lambda _: rng.choice(_KINDS), text)
    return re.sub("<Kind>", lambda _: rng.choice(_KINDS).capitalize(), text)


def _spin(text: str, rng: random.Random) -> str:
    while choice := _CHOICE.search(text):
        picked = rng.choice(choice[1].split("|"))
        text = text[: choice.start()] + picked + text[choice.end() :]
    return text


def _lay_out(text: str, widths: tuple[int, int], line_break: str) -> str:
    """Fold `text`, its first line to ``widths[0]`` characters and the others to ``widths[1]``."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) > widths[len(lines) > 1]:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return line_break.join(lines)


def _answer(program: str, rng: random.Random) -> str:
    fenced = f"```python\n{program}\n```"
    return f"{rng.choice(_LEADS)}\n\n{fenced}" if rng.random() < 1 / 3 else fenced
