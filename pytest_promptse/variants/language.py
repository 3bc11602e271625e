"""Whether a text is in English, told by its small words."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_ENGLISH = frozenset(
    """the a an and or of to in on is are be it that this with for from by as at if not which you
    your given return returns write function takes all each when than into have has""".split()  # noqa: SIM905 - a list of words
)
# Small words of German, French, Spanish, Portuguese, Italian, Dutch, Polish and Turkish that
# English does not have.
_OTHER = frozenset(
    """der das und ist nicht ein eine einer eines mit für von auf dem den zu wird aus wenn
    les des une est dans pour avec qui que sur et pas du
    el los las una para con por del
    uma não com dos das ou
    il gli che di è per della sono
    het een van niet met voor
    jest nie się oraz że
    ve bir bu için ile""".split()  # noqa: SIM905 - a list of words
)
_MOST_FOREIGN_LETTERS = 0.3
_FEWEST = 2


def is_english(text: str) -> bool:
    """Return whether `text` passes for English.

    Text of too few small words to tell passes: *Return n-th Fibonacci number.* has none.
    """
    found = [word.lower() for word in _WORD.findall(text)]
    letters = "".join(found)
    foreign = sum(1 for letter in letters if ord(letter) > 0x24F)  # noqa: PLR2004 - past Latin
    if letters and foreign > _MOST_FOREIGN_LETTERS * len(letters):
        return False
    english = sum(word in _ENGLISH for word in found)
    other = sum(word in _OTHER for word in found)
    return other < _FEWEST or english > other
