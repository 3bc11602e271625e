"""The language that a prompt asks for."""

from __future__ import annotations

import re

_NAMES = {
    "javascript": "javascript",
    "node.js": "javascript",
    "typescript": "typescript",
    "go": "go",
    "golang": "go",
    "c": "c",
    "c++": "cpp",
    "rust": "rust",
    "java": "java",
    "bash": "bash",
    "shell": "bash",
    "ruby": "ruby",
    "php": "php",
    "sql": "sql",
    "sqlite": "sql",
}
# Only at the start. "Write `quote(name)`, which quotes a SQL name" asks for Python.
_BEGINNING = (
    r"\W*(?:please\s+)?(?:write|create|implement|develop|build|give\s+me)\s+(?:me\s+)?"
    r"(?:an?|the)\s+"
)
_NAME = "|".join(map(re.escape, sorted(_NAMES, key=len, reverse=True)))
_REQUEST = re.compile(
    rf"{_BEGINNING}(?:\w+\s+)?({_NAME})\s+"
    r"(?:program|script|query|command-line|cli|tool)\b",
    re.IGNORECASE,
)
_CALLED_REQUEST = re.compile(
    rf"{_BEGINNING}(?:\w+\s+)?(javascript|node\.js|typescript)\s+"
    r"(?:(?:async|generator|arrow)\s+)?(?:function|class|module)\b",
    re.IGNORECASE,
)


def language_of_prompt(prompt: str) -> str:
    """Return the language if `prompt` begins like "Write a Go program", else an empty text.

    For the languages whose functions a check can call, it may also begin like "Write a TypeScript
    function".
    """
    match = _REQUEST.match(prompt) or _CALLED_REQUEST.match(prompt)
    return _NAMES[match[1].lower()] if match else ""
