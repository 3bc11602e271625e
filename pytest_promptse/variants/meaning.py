"""Words that carry an instruction: negation, obligation, limits, and opposites of each other."""

from __future__ import annotations

import re
from collections import Counter

_CLASSES: dict[str, str] = {
    "negation": r"not|no|never|nor|neither|without|nothing|nobody|nowhere",
    "obligation": r"must|shall|mandatory|obligatory|(?:have|has|need|needs|required|obliged) to",
    "recommendation": r"should|ought to|supposed to",
    "permission": r"may|might|allowed|optional|optionally",
    "restriction": r"only|solely|exclusively|exactly|except|unless|merely",
    "limit": r"at least|at most|minimum of|maximum of|no more than|up to",
}
_ANY = re.compile(
    r"(?<![\w'\u2019\-])(?:"
    + "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _CLASSES.items())
    + r")(?![\w\-])",
    re.IGNORECASE,
)

# Turns of phrase in which such a word does not count.
_IDIOM = re.compile(
    r"\b(?:in (?:any|all) other cases?|at all|after all|first of all|whether or not"
    r"|at the same time|in the same way)\b",
    re.IGNORECASE,
)

# Words whose exchange turns a task into another one. Each line is one term with its synonyms.
_TERMS = """
ascending increasing
descending decreasing
even
odd
first
last
positive
negative
largest biggest greatest highest maximum max
smallest lowest littlest minimum min
longest
shortest
inclusive
exclusive
greater larger bigger more higher above
less smaller fewer lower below
before
after
empty
sorted
unsorted
unique
duplicate duplicates
same identical
reverse reversed
vowel vowels
consonant consonants
uppercase upper
lowercase lower
row rows
column columns
prefix prefixes
suffix suffixes postfix
sum
product
average mean
median
true
false
none
prime primes
palindrome palindromes palindromic
left
right
divisible
all every each
any
two
three
four
five
six
seven
eight
nine
ten
zero
second seconds
minute minutes
hour hours
"""
_TERM = {word: line.split()[0] for line in _TERMS.strip().splitlines() for word in line.split()}
_CONTRACTED = re.compile(r"(?:n['\u2019]t|(?<=\bcan)not)\b", re.IGNORECASE)
_PLAIN = re.compile(r"[a-z]+")

_PROGRAM_VERBS = (
    "return|returns|print|raise|raises|throw|sort|ignore|skip|avoid|handle|include|exclude|ensure"
    "|validate|cache|log|use|add|remove|write|implement|create|define|check|make|keep|limit"
    "|round|convert|assume|optimi[sz]e|document|annotate|test|support|accept|reject|treat|replace"
    "|count|compute|calculate|import|call|name|rename|split|merge|read|open|save|store|do"
)
_PARTS = frozenset(re.findall(r"[a-z]{2,}", " ".join(_CLASSES.values()))) | {"can"}
_IMPERATIVE = re.compile(
    rf"(?:^|[.!?;:—\u2013]\s+|,\s+(?:and|but|so)\s+|\b(?:please|also|then|just|always)\s+)"
    rf"(?:please\s+|also\s+|then\s+|just\s+|always\s+|do\s+not\s+|don't\s+|never\s+)*"
    rf"(?:{_PROGRAM_VERBS})\b",
    re.IGNORECASE,
)


def instruction_words(text: str) -> Counter[str]:
    """Count the words of negation, obligation, permission and restriction in `text`, by class."""
    found: Counter[str] = Counter()
    for match in _ANY.finditer(_spelt_out(text)):
        found[match.lastgroup or ""] += 1
    return found


def terms(text: str) -> Counter[str]:
    """Count the words of `text` that have an opposite or are a quantity, by term."""
    told = _IDIOM.sub(" ", text.lower())
    return Counter(_TERM[word] for word in _PLAIN.findall(told) if word in _TERM)


def carries_meaning(word: str) -> bool:
    """Return whether `word` is an instruction word, a part of one, or has an opposite."""
    return word.lower() in _TERM or word.lower() in _PARTS


def changes_meaning(text: str) -> str:
    """Say which word of `text`, put into a sentence of the task, would change it; else ``""``."""
    match = _ANY.search(_spelt_out(text))
    return f"{match[0]!r} is a word of {match.lastgroup}" if match else ""


def _spelt_out(text: str) -> str:
    return _CONTRACTED.sub(" not", _IDIOM.sub(" ", text))


def adds_instruction(text: str) -> str:
    """Say which words of `text`, standing beside the task, tell the program something; else ``""``.

    A sentence beside the task may say what its asker does not know or cannot do, so that negation
    alone is no instruction.
    """
    for match in _ANY.finditer(_spelt_out(text)):
        if match.lastgroup in ("obligation", "recommendation", "limit"):
            return f"{match[0]!r} is a word of {match.lastgroup}"
    told = _IMPERATIVE.search(text)
    return f"{told[0].strip()!r} is an instruction" if told else ""
