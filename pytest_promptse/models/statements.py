"""Python source in pieces: which statements a program needs, and which only show it off."""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_BUILTINS = frozenset(dir(builtins))
# A call that changes what the whole interpreter does, so it counts though nothing names it.
_PROCESS_WIDE = frozenset({"setrecursionlimit", "set_int_max_str_digits"})


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement at the top level of a module.

    ``binds`` are the names it makes, ``touches`` those whose values it changes in place, ``uses``
    every name that it mentions. ``defines`` says that it is a function or class, ``hollow`` that
    it is one without a body of its own (docstring, imports, ``pass``, ``...``), ``finished`` that
    control cannot run off its end, ``essential`` that it matters though nothing refers to it.
    """

    source: str
    binds: frozenset[str]
    touches: frozenset[str]
    uses: frozenset[str]
    defines: bool
    hollow: bool
    finished: bool
    essential: bool


def parse(source: str) -> ast.Module | None:
    """Return the syntax tree of `source`, or None where it is not Python."""
    with warnings.catch_warnings():
        # An invalid escape in a model's string is no business of the user's warning filters.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None


@lru_cache(maxsize=16)
def statements(source: str) -> tuple[Sequence[Statement], Sequence[str]]:
    """Return the top-level statements of `source`, and those parts of it that are not Python."""
    tree = parse(source)
    if tree is not None:
        return tuple(_describe(source, tree)), ()
    good: list[Statement] = []
    broken: list[str] = []
    for chunk in chunks(source):
        tree = parse(chunk)
        if tree is None:
            broken.append(chunk)
        else:
            good.extend(_describe(chunk, tree))
    return tuple(good), tuple(broken)


def assemble(layers: Sequence[Sequence[Statement]], entry_point: str) -> list[Statement]:
    """Return what of `layers` a program needs that defines `entry_point`, in order.

    A later layer outranks the earlier ones, which only lend what it leaves out. What the entry
    point does not reach (tests, demonstrations, other functions) is left behind.
    """
    bound: set[str] = set()
    lent: list[list[Statement]] = []
    for layer in reversed(layers):
        new = [s for s in layer if not (s.binds | s.touches) or not s.binds | s.touches <= bound]
        lent.append(new)
        bound.update(name for s in new if not s.hollow for name in s.binds)
    candidates = [
        statement
        for layer in reversed(lent)
        for statement in layer
        if not (statement.hollow and statement.binds <= bound)
    ]
    return _reachable(candidates, entry_point)


def join(parts: Iterable[Statement]) -> str:
    """Return the source of a program made of `parts`."""
    ordered = sorted(parts, key=lambda part: not part.source.startswith("from __future__"))
    return "\n\n".join(part.source for part in ordered) + "\n"


def header(source: str) -> str | None:
    """Return a stub's definition up to what is to be written, or None where there is no function.

    The docstring is left out, so that a body in another indentation fits.
    """
    tree = parse(source)
    node = tree.body[-1] if tree is not None and tree.body else None
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    lines = source.split("\n")
    given = len(node.body)
    while given and _is_placeholder(node.body[given - 1]):
        given -= 1
    first = node.body[0 if given == len(node.body) else given]
    above = lines[: first.lineno - 1]
    before = lines[first.lineno - 1].encode()[: first.col_offset].decode()
    return "\n".join([*above, before] if before.strip() else above).rstrip()


def has_return(source: str) -> bool:
    """Whether `source` returns or yields outside any function: a body without its head."""
    tree = parse(source)
    leaves = (ast.Return, ast.Yield, ast.YieldFrom)
    return tree is not None and any(isinstance(node, leaves) for node in _own_scope(tree))


def indent(source: str, prefix: str) -> str:
    """Return `source` moved to the right by `prefix`, strings of several lines left as they are."""
    tree = parse(source)
    inside: set[int] = set()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        ):
            inside.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    return "\n".join(
        line if number in inside or not line.strip() else prefix + line
        for number, line in enumerate(source.split("\n"), start=1)
    )


_LEXEMES = re.compile(
    r"""\#.* | \"{3} | '{3} | "(?:\\.|[^"\\])*(?:"|$) | '(?:\\.|[^'\\])*(?:'|$)""", re.VERBOSE
)
_STRING_ENDS = {
    quotes: re.compile(rf"\\.|(?P<end>{quotes})", re.DOTALL) for quotes in ('"""', "'''")
}
_CONTINUES = re.compile(r"[)\]}\#]|(?:else|finally)\s*:|(?:elif|except)\b.*:\s*(?:\#.*)?$")
_STARTS_DEFINITION = re.compile(r"(?:async\s+def|def|class)\b")


def chunks(source: str) -> list[str]:
    """Cut `source` before every line that begins at the margin and starts something new.

    Unlike a parser it never fails: each sentence of prose is a chunk, and so is each function.
    Time is linear in the length of `source`.
    """
    cut: list[list[str]] = [[]]
    quotes: str | None = None
    decorated = False
    for line in source.split("\n"):
        at_margin = quotes is None and line[:1].strip() != ""
        if at_margin and not decorated and not _CONTINUES.match(line):
            cut.append([])
        if at_margin:
            starts = _STARTS_DEFINITION.match(line) is not None
            decorated = line.startswith("@") or (decorated and not starts)
        cut[-1].append(line)
        quotes = _open_string(line, quotes)
    return ["\n".join(lines) for lines in cut if any(line.strip() for line in lines)]


def _open_string(line: str, quotes: str | None) -> str | None:
    """Return the triple quotes left open at the end of `line`, given those open at its start."""
    position = 0
    while True:
        if quotes is None:
            lexeme = _LEXEMES.search(line, position)
            if lexeme is None:
                return None
            position = lexeme.end()
            quotes = lexeme[0] if lexeme[0] in _STRING_ENDS else None
        else:
            ends = _STRING_ENDS[quotes].finditer(line, position)
            end = next((match for match in ends if match["end"]), None)
            if end is None:
                return quotes
            position, quotes = end.end(), None


def _describe(source: str, tree: ast.Module) -> Iterator[Statement]:
    lines = source.split("\n")
    groups: list[list[ast.stmt]] = []
    for node in tree.body:
        if groups and _first_line(node) <= (groups[-1][-1].end_lineno or 0):
            groups[-1].append(node)
        else:
            groups.append([node])
    for group in groups:
        last = group[-1]
        span = lines[_first_line(group[0]) - 1 : last.end_lineno]
        scope = [node for statement in group for node in _own_scope(statement)]
        yield Statement(
            source="\n".join(span).rstrip(),
            binds=frozenset(name for node in scope for name in _bound(node)),
            touches=frozenset(name for node in scope for name in _touched(node)),
            uses=frozenset(name for node in group for name in _used(node)),
            defines=any(isinstance(node, _Definition) for node in group),
            hollow=all(isinstance(node, _Definition) and _is_hollow(node.body) for node in group),
            finished=isinstance(last, ast.FunctionDef | ast.AsyncFunctionDef)
            and _leaves(last.body),
            essential=any(_is_essential(node) for node in group),
        )


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, _Definition) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _own_scope(root: ast.AST) -> Iterator[ast.AST]:
    """Walk `root` without entering the scopes inside it; `root` itself comes first."""
    pending: list[ast.AST] = [root]
    inner = (*_Definition.__args__, ast.Lambda, ast.comprehension)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, inner):
            pending.extend(ast.iter_child_nodes(node))


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, _Definition):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id


def _touched(node: ast.AST) -> Iterator[str]:
    root: ast.AST | None = None
    if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
        root = node.value
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        root = node.value.func
    while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
        root = root.func if isinstance(root, ast.Call) else root.value
    if isinstance(root, ast.Name):
        yield root.id


def _used(root: ast.AST) -> Iterator[str]:
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant):
            # Annotations in quotes, and names looked up in globals().
            if isinstance(node.value, str) and node.value.isidentifier():
                yield node.value
        elif isinstance(node, ast.Global):
            yield from node.names
        else:
            # What ast.walk() does, at half the time: most nodes are operators and contexts.
            for field in node._fields:
                value = getattr(node, field, None)
                if isinstance(value, list):
                    pending += [item for item in value if isinstance(item, ast.AST)]
                elif isinstance(value, ast.AST) and value._fields:
                    pending.append(value)


def _is_hollow(body: list[ast.stmt]) -> bool:
    return all(
        isinstance(node, ast.Import | ast.ImportFrom) or _is_placeholder(node) for node in body
    )


def _is_placeholder(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise) and node.exc is not None:
        return "NotImplementedError" in set(_used(node.exc))
    is_constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_constant or isinstance(node, ast.Pass)


def _leaves(body: list[ast.stmt]) -> bool:
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _leaves(last.body) and _leaves(last.orelse)
    if isinstance(last, ast.With | ast.AsyncWith):
        return _leaves(last.body)
    # A bare `return` at the end of a text may have lost its value.
    return isinstance(last, ast.Raise) or (isinstance(last, ast.Return) and last.value is not None)


def _is_essential(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__" or any(alias.name == "*" for alias in node.names)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = node.value.func
        return isinstance(called, ast.Attribute) and called.attr in _PROCESS_WIDE
    return False


def _reachable(candidates: list[Statement], entry_point: str) -> list[Statement]:
    makers: dict[str, list[int]] = {}
    for number, statement in enumerate(candidates):
        for name in statement.binds:
            makers.setdefault(name, []).append(number)
    kept: set[int] = set()

    def keep(pending: list[int]) -> None:
        while pending:
            number = pending.pop()
            if number not in kept:
                kept.add(number)
                names = candidates[number].uses | candidates[number].binds
                pending.extend(maker for name in names for maker in makers.get(name, ()))

    keep([*makers.get(entry_point, ()), *(n for n, s in enumerate(candidates) if s.essential)])
    known = {name for number in kept for name in candidates[number].binds}
    keep(
        [
            number
            for number, statement in enumerate(candidates)
            if statement.touches & known
            and entry_point not in statement.uses
            and statement.uses <= known | statement.binds | _BUILTINS
        ]
    )
    return [candidates[number] for number in sorted(kept)]
