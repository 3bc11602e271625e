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
_REQUEST = re.compile(
    r"\W*(?:please\s+)?(?:write|create|implement|develop|build|give\s+me)\s+(?:me\s+)?"
    r"(?:an?|the)\s+(?:\w+\s+)?"
    rf"({'|'.join(map(re.escape, sorted(_NAMES, key=len, reverse=True)))})\s+"
    r"(?:program|script|query|command-line|cli|tool)\b",
    re.IGNORECASE,
)


def language_of_prompt(prompt: str) -> str:
    """Return the language if `prompt` begins like "Write a Go program", else an empty text."""
    match = _REQUEST.match(prompt)
    return _NAMES[match[1].lower()] if match else ""
