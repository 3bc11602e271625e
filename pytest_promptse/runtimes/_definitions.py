"""How a function is defined in the languages whose functions tests can call."""

from __future__ import annotations

import re

_JAVASCRIPT = (
    r"(?:export\s+)?(?:default\s+)?(?:(?:async\s+)?function\b[\s*]*|(?:const|let|var)\s+){name}\b"
)
# In C++ a call may look like a definition, but it has a semicolon and no brace.
_DEFINITIONS = {
    "bash": r"(?:function\s+{name}\b|{name}\s*\(\))",
    "cpp": r"[\w:<>,&* ]{{1,160}}[ &*]{name}\s*\((?=[^;\n]*(?:\{{|$))",
    "go": r"func\s+{name}\b",
    "javascript": _JAVASCRIPT,
    "php": r"function\s+{name}\b",
    "ruby": r"def\s+{name}\b",
    "rust": r"(?:pub\s+)?fn\s+{name}\b",
    "typescript": _JAVASCRIPT,
}


def definition_of(name: str, language: str) -> re.Pattern[str]:
    """Return the pattern of the beginning of a definition of `name`, at the start of a line."""
    pattern = _DEFINITIONS[language].format(name=re.escape(name))
    return re.compile(rf"^[^\S\n]*{pattern}", re.MULTILINE)
