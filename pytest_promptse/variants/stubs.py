"""Where the natural language of a code stub stands, and what of its code may never change."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache

from pytest_promptse.tasks.task import parse_stub

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_INLINE = re.compile(r"`([^`\n]+)`")
_OPENING = re.compile(r"[A-Za-z]*(\"\"\"|'''|\"|')")


@dataclass(frozen=True)
class Place:
    """A docstring: offsets of what is between its quotes, and the column its lines start in."""

    start: int
    end: int
    indent: int


@lru_cache(maxsize=64)
def docstrings(prompt: str, entry_point: str) -> tuple[Place, ...] | None:
    """Return the places of the docstrings of `entry_point`, None where `prompt` is no stub.

    Any string that stands alone as a statement counts, so that one below an import is found too.
    Those of a class include its methods'; those of helpers beside it do not count.
    """
    tree = parse_stub(prompt)
    if tree is None:
        return None
    target = _target(tree, entry_point)
    if target is None:
        return ()
    starts = _line_starts(prompt)

    def offset(line: int, column: int) -> int:
        begin = starts[line - 1]
        text = prompt[begin : starts[line]] if line < len(starts) else prompt[begin:]
        return begin + len(text.encode()[:column].decode())

    places = []
    for node in _alone(target):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = offset(node.lineno, node.col_offset)
        end = offset(node.end_lineno, node.end_col_offset)
        opening = _OPENING.match(prompt, start)
        if opening is None or opening[0][:1] in "rRuUbBfF" or len(opening[1]) == 1:
            continue  # a raw or one-line string cannot take what is put between its quotes
        places.append(Place(opening.end(), end - len(opening[1]), node.col_offset))
    return tuple(places)


def _signatures(prompt: str) -> ast.Module:
    """Return the calls and signatures in the inline code of an instruction as definitions."""
    found = []
    for code in _INLINE.findall(prompt):
        try:
            found.extend(ast.parse(f"def {code.removeprefix('def ').rstrip(':')}: pass").body)
        except SyntaxError:
            continue  # inline code that is no signature
    return ast.Module(body=found, type_ignores=[])


def _target(tree: ast.Module, entry_point: str) -> _Definition | None:
    found = [node for node in tree.body if isinstance(node, _Definition)]
    named = [node for node in found if node.name == entry_point]
    return (named or found)[-1]


def _alone(target: _Definition) -> list[ast.Constant]:
    scopes = [node for node in ast.walk(target) if isinstance(node, _Definition)]
    strings = [
        statement.value
        for scope in scopes
        for statement in scope.body
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    ]
    return sorted(strings, key=lambda node: (node.lineno, node.col_offset))


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]


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
