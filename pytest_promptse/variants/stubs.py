"""The names that a prompt shows to a caller."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from pytest_promptse.tasks.task import parse_stub

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_INLINE = re.compile(r"`([^`\n]+)`")


def _signatures(prompt: str) -> ast.Module:
    """Return the calls and signatures in the inline code of an instruction as definitions."""
    found = []
    for code in _INLINE.findall(prompt):
        try:
            found.extend(ast.parse(f"def {code.removeprefix('def ').rstrip(':')}: pass").body)
        except SyntaxError:
            continue  # inline code that is no signature
    return ast.Module(body=found, type_ignores=[])


@lru_cache(maxsize=256)
def interface_names(prompt: str, entry_point: str) -> frozenset[str]:
    """Return the names a caller sees: functions, classes and their parameters.

    An instruction gives them in inline code, as in ```merge(a, b)```.
    """
    tree = parse_stub(prompt) or _signatures(prompt)
    names = {entry_point}
    for node in ast.walk(tree):
        if isinstance(node, _Definition):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return frozenset(names)
