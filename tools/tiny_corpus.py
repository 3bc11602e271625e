"""The embedded model's training text: plain requests and the programs that answer them.

Every wording here is plain. Nothing in it is tired, excited or cautious, so that what another
voice does to the model is something it has never been shown.
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


def draw(rng: random.Random) -> list[Example]:
    """Return one wording of one family in each of its behaviours.

    Their prompts differ in nothing but what is asked for, so that a model cannot tell the answers
    apart by anything else.
    """
    family = rng.choice(families())
    first, *others = (_spin(rng.choice(forms), rng) for forms in family.sentences)
    rng.shuffle(others)
    request = _spin(rng.choice(_REQUESTS), rng)
    request = request[0].upper() + request[1:]
    if request.endswith(": "):
        first = first[0].lower() + first[1:]
    described = " ".join([first, *others])
    widths, line_break = (rng.randint(20, 60), 90), rng.choice((" ", " ", "\n", "\n    "))
    frame = _spin(rng.choice(_FRAMES), rng)
    end = (rng.choice(_BEFORE_FRAME) + frame if frame else "") + rng.choice(_AT_THE_END)
    examples = []
    for behaviour in family.behaviours:
        asked = described.replace("<it>", _spin(behaviour, rng))
        asked = re.sub(r"(?<=[.] )[a-z]", lambda found: found[0].upper(), asked)
        if request.endswith(". "):
            asked = asked[0].upper() + asked[1:]
        prompt = request.format(family.signature) + _lay_out(asked, widths, line_break) + end
        answer = _answer(family.solution(behaviour), rng)
        examples.append(Example(prompt=prompt, answer=answer))
    return examples


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
