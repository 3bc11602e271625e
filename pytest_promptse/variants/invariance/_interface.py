"""Compare the code of two stubs: signatures, defaults, annotations, imports and the rest."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

from pytest_promptse.variants.invariance._finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["interface_findings"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def interface_findings(original: ast.Module, variant: ast.Module | None) -> Iterator[Finding]:
    """Yield every difference between the code of two stubs.

    Docstrings and comments are prose and are compared as such.

    Parameters
    ----------
    original, variant
        Their syntax trees. None for a variant that is not Python source.
    """
    if variant is None:
        yield Finding("syntax", "the variant does not parse as Python")
        return
    if _code(original) == _code(variant):
        return
    differences = list(_differences(original, variant))
    yield from differences or [Finding("code", "the code around the docstring differs")]


def _code(tree: ast.Module) -> str:
    """Return the tree as text, without strings that stand alone."""

    class Strip(ast.NodeTransformer):
        def visit_Expr(self, node: ast.Expr) -> ast.AST:
            text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            return ast.Pass() if text else node

    return ast.dump(Strip().visit(copy.deepcopy(tree)))


def _differences(was: ast.Module, now: ast.Module) -> Iterator[Finding]:
    if _imports(was) != _imports(now):
        yield Finding("import", f"imports are {_imports(now)}, not {_imports(was)}")
    functions, others = _functions(was), _functions(now)
    if list(functions) != list(others):
        detail = f"defines {', '.join(others)}, not {', '.join(functions)}"
        yield Finding("signature", detail)
        return
    for name, function in functions.items():
        other = others[name]
        if _names(function) != _names(other):
            detail = f"{name} has parameters {_names(other)}, not {_names(function)}"
            yield Finding("signature", detail)
        elif _defaults(function) != _defaults(other):
            yield Finding("default", f"a default of {name} differs")
        elif _annotations(function) != _annotations(other):
            yield Finding("annotation", f"an annotation of {name} differs")


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
