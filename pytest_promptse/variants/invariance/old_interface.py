"""The code of a stub, compared: signatures, defaults, annotations, imports, and all the rest."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_promptse.tasks.task import parse_stub
from pytest_promptse.variants.stubs import docstrings

if TYPE_CHECKING:
    from collections.abc import Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def interface_findings(original: str, reworded: str, entry_point: str) -> Iterator[tuple[str, str]]:
    """Yield ``(rule, detail)`` for every way in which the code around the docstring differs.

    Nothing for a prompt that is no stub: its code stands in fences, which are kept by line.
    """
    outside = _outside(original, entry_point)
    if outside is None:
        return
    changed = _outside(reworded, entry_point)
    if changed is None:
        yield "syntax", "the wording does not parse as Python"
        return
    if changed == outside:
        return
    yield from _differences(original, reworded) or [
        ("code", "the code around the docstring differs")
    ]


@lru_cache(maxsize=64)
def _outside(prompt: str, entry_point: str) -> str | None:
    """Return the source outside the task's docstrings, None where it is no stub."""
    places = docstrings(prompt, entry_point)
    if places is None:
        return None
    pieces, last = [], 0
    for place in places:
        pieces.append(prompt[last : place.start])
        last = place.end
    return "\0".join([*pieces, prompt[last:]])


def _differences(original: str, reworded: str) -> list[tuple[str, str]]:
    was, now = parse_stub(original), parse_stub(reworded)
    assert was is not None
    assert now is not None
    found: list[tuple[str, str]] = []
    if _imports(was) != _imports(now):
        found.append(("import", f"imports are {_imports(now)}, not {_imports(was)}"))
    functions, others = _functions(was), _functions(now)
    if list(functions) != list(others):
        found.append(("signature", f"defines {', '.join(others)}, not {', '.join(functions)}"))
        return found
    for name, function in functions.items():
        other = others[name]
        if _names(function) != _names(other):
            found.append(
                ("signature", f"{name} has parameters {_names(other)}, not {_names(function)}")
            )
        elif _defaults(function) != _defaults(other):
            found.append(("default", f"a default of {name} differs"))
        elif _annotations(function) != _annotations(other):
            found.append(("annotation", f"an annotation of {name} differs"))
    return found


def _imports(tree: ast.Module) -> list[str]:
    return [ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]


def _functions(tree: ast.Module) -> dict[str, _Function]:
    return {node.name: node for node in ast.walk(tree) if isinstance(node, _Function)}


def _names(function: _Function) -> list[str]:
    arguments = function.args
    groups = (arguments.posonlyargs, arguments.args, arguments.kwonlyargs)
    names = [argument.arg for group in groups for argument in group]
    return names + [extra.arg for extra in (arguments.vararg, arguments.kwarg) if extra]


def _defaults(function: _Function) -> list[str]:
    given = [*function.args.defaults, *function.args.kw_defaults]
    return [ast.dump(default) if default else "" for default in given]


def _annotations(function: _Function) -> list[str]:
    arguments = function.args
    groups = (arguments.posonlyargs, arguments.args, arguments.kwonlyargs)
    nodes = [argument.annotation for group in groups for argument in group]
    return [ast.dump(node) if node else "" for node in (*nodes, function.returns)]
