"""Where an exception of a check is in the check's source, and which blocks may end it.

The source is read as a syntax tree, in which the positions of the bytecode are found. Code without
source has no blocks.
"""

from __future__ import annotations

import builtins
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_promptse.sandbox._handle import EntryPoint, is_of_program
from pytest_promptse.sandbox._libraries import is_library
from pytest_promptse.sandbox.guest.unpatched import __builtins__, ast, inspect, itertools, linecache

if TYPE_CHECKING:
    from types import FrameType, TracebackType

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)
_OWN = "pytest_promptse.sandbox."
_WITH = (ast.With, ast.AsyncWith)
_TRY = (ast.Try, ast.TryStar)
_LEAVES = (ast.Return, ast.Break, ast.Continue)
_LITERALS = (
    *(ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Call, ast.keyword, ast.Subscript),
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.operator, ast.unaryop, ast.cmpop, ast.expr_context),
)


def last_entry(error: BaseException, file: str) -> TracebackType | None:
    """Return the last entry of the traceback of `error` that is in `file`, or None."""
    last, entry = None, error.__traceback__
    while entry is not None:
        last = entry if entry.tb_frame.f_code.co_filename == file else last
        entry = entry.tb_next
    return last


def may_suppress(error: BaseException, *, is_of_program: bool) -> bool:
    """Return whether ending `error` where its block is being left skips nothing of the check.

    The block is a ``with``, whose managers before the last are made by a library such as pytest, or
    a ``try`` whose ``finally`` runs. `error` must come
    from a ``raise`` of the block that no ``return``, ``break`` or ``continue`` can prevent, or be
    all that the last statement of the block computes. The latter must be an operation of the
    program if `is_of_program`, and otherwise consist of literals and names of `builtins`.
    """
    trace = error.__traceback__
    block, statement, path = _left(error)
    others = getattr(block, "items", [])[:-1]  # which end after the last
    if trace is None or not all(_is_of_library(item, trace.tb_frame) for item in others):
        return False
    if isinstance(statement, ast.Raise):
        before = itertools.chain(*map(ast.walk, block.body[: block.body.index(statement)]))
        return path[-1] is statement and not any(isinstance(node, _LEAVES) for node in before)
    if not isinstance(statement, ast.Expr) or statement is not block.body[-1]:
        return False
    value = statement.value
    if is_of_program:
        inner = trace.tb_next and trace.tb_next.tb_frame.f_globals.get("__name__")
        whole = (value, value.value if isinstance(value, ast.Await) else value)
        return path[-1] in whole and str(inner).startswith("pytest_promptse.")
    return trace.tb_next is None and all(
        isinstance(node, _LITERALS) or _is_builtin(node, trace.tb_frame) for node in ast.walk(value)
    )


def is_in_handler(error: BaseException) -> bool:
    """Return whether an ``except`` clause of the frame that has caught `error` is running."""
    return isinstance(_left(error)[0], ast.ExceptHandler)


def in_message(of: FrameType | None = None) -> bool:
    """Return whether the message of an assertion, in the frame `of` or any, is being computed."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the only way to the callers
    while frame is not None:
        if frame is of or (of is None and not is_library(frame.f_globals.get("__name__", ""))):
            path = _path(frame, frame.f_lasti)
            if any(isinstance(a, ast.Assert) and b is a.msg for a, b in itertools.pairwise(path)):
                return True
        frame = frame.f_back
    return False


def catcher(error: BaseException) -> Any:
    """Return the block that names a class that catches `error`, in the code that it has reached.

    None stands for no such block. The function that exchanges messages with programs is none, and
    neither is a thread, which only warns of an exception.
    """
    trace = error.__traceback__
    module = "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")
    if trace is None or module == "threading" or module.startswith(_OWN):
        return None
    path = _path(trace.tb_frame, trace.tb_lasti)
    for block, statement in reversed(list(itertools.pairwise(path))):
        kinds = []
        if isinstance(block, _TRY) and statement in block.body:
            kinds = [handler.type for handler in block.handlers]
        elif isinstance(block, _WITH) and statement in block.body:
            kinds = [item.context_expr for item in block.items]
        if any(kind is None or _names(kind, error, trace.tb_frame) for kind in kinds):
            return block
    return None


def is_being_left(error: BaseException, block: Any) -> bool:
    """Return whether `error`, which `block` will catch, is still on its way there."""
    trace = error.__traceback__
    now = _path(trace.tb_frame, trace.tb_frame.f_lasti) if trace else []
    return dict(itertools.pairwise(now)).get(block) in block.body


def needs_class(error: BaseException, file: str) -> bool:
    """Return whether `error` shows that an entry point is used where only a class can be.

    That is ``except``, ``case`` and an assertion by ``is``, in the check's `file`.
    """
    trace = last_entry(error, file)
    if trace is None or (trace.tb_next is not None and not isinstance(error, AssertionError)):
        return False
    path: list[Any] = [None, *_path(trace.tb_frame, trace.tb_lasti)]
    parent, node = path[-2:] if len(path) > 1 else (None, None)
    if isinstance(parent, ast.ExceptHandler) and node is parent.type:
        node = parent
    places: list[ast.AST]
    if isinstance(error, AssertionError) and isinstance(node, ast.Assert):
        parts = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
        is_all = not isinstance(getattr(node.test, "op", None), ast.Or)
        places = [
            place
            for part in parts
            if is_all and isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Is)
            for place in (part.left, *part.comparators)
        ]
    elif isinstance(node, ast.ExceptHandler):
        places = [*ast.walk(node.type)] if node.type else []
    else:
        places = [node.cls] if isinstance(node, ast.MatchClass) else []
    return any(isinstance(_value(place, trace.tb_frame), EntryPoint) for place in places)


def _names(expression: ast.expr, error: BaseException, frame: FrameType) -> bool:
    """Return whether a part of `expression` is a class of `error`, or a tuple of such."""
    for node in ast.walk(expression):
        values = [_value(node, frame)]
        for value in values:
            if type(value) is tuple:
                values += value
            elif any(value is kind for kind in type(error).__mro__[:-1]):
                return True
    return False


def _value(node: ast.AST, frame: FrameType) -> Any:
    """Return the value of a name or an attribute without running code, and None for the rest."""
    if isinstance(node, ast.Attribute):
        return inspect.getattr_static(_value(node.value, frame), node.attr, None)
    if isinstance(node, ast.Name):
        return (vars(builtins) | frame.f_globals | frame.f_locals).get(node.id)
    return None


def _is_of_library(item: ast.withitem, frame: FrameType) -> bool:
    made = _value(getattr(item.context_expr, "func", item), frame)
    module = "" if is_of_program(made) else str(getattr(made, "__module__", ""))
    return is_library(module) and not module.startswith("pytest_promptse.")


def _is_builtin(node: ast.AST, frame: FrameType) -> bool:
    return (
        isinstance(node, ast.Name)
        and hasattr(builtins, node.id)
        and not (node.id in frame.f_globals or node.id in frame.f_locals)
    )


def _left(error: BaseException) -> tuple[Any, Any, list[ast.AST]]:
    """Return the innermost block that is being left with `error`, its statement, and the path.

    The block is an ``except`` clause if that is running. The path leads to where `error` was
    raised, or passed through the frame.
    """
    trace = error.__traceback__
    if trace is None:
        return None, None, []
    path = _path(trace.tb_frame, trace.tb_lasti)
    now = _path(trace.tb_frame, trace.tb_frame.f_lasti)
    then, running = dict(itertools.pairwise(path)), dict(itertools.pairwise(now))
    for block in reversed(now):
        statement, part = then.get(block), running.get(block)
        if statement not in getattr(block, "body", []):
            continue
        if isinstance(part, ast.ExceptHandler) and running.get(part) in part.body:
            return part, statement, path
        is_with = isinstance(block, _WITH) and part not in block.body
        if is_with or (isinstance(block, _TRY) and part in block.finalbody):
            return block, statement, path
    return None, None, path


def _path(frame: FrameType, offset: int) -> list[ast.AST]:
    """Return the nodes of the frame's function that contain an instruction, outermost first."""
    code = frame.f_code
    found: Any = next(itertools.islice(code.co_positions(), offset // 2, None), (None,))
    path: list[ast.AST] = []
    parts: list[ast.AST] = [_tree("".join(linecache.getlines(code.co_filename, frame.f_globals)))]
    while parts and None not in found:
        node: Any = parts.pop()
        if not hasattr(node, "lineno"):  # such as an item of a with block
            parts += ast.iter_child_nodes(node)
        elif (node.lineno, node.col_offset) <= (found[0], found[2]) and (
            (found[1], found[3]) <= (node.end_lineno, node.end_col_offset)
        ):
            path = [] if isinstance(node, _SCOPES) else [*path, node]
            parts = [*ast.iter_child_nodes(node)]
    return path


@lru_cache(maxsize=64)
def _tree(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return ast.Module([], [])
