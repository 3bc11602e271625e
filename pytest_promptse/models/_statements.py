"""Split Python source into top-level statements, and find the names that each one uses."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_SOURCE = 2**18
"""Longest source in characters that is parsed.

A syntax tree takes up to 500 bytes for each character of its source, for example for a list of
one-digit numbers. The limit therefore bounds the memory of one parse to about 130 MB.
"""

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_PRINTING = frozenset({"print", "pprint", "pp", "display"})
# Methods that do not modify their object. A call of another method counts as a possible change.
_READING = frozenset(
    """capitalize copy count decode encode endswith find format get index intersection issubset
    items join keys lower lstrip most_common replace rstrip split splitlines startswith strip
    title union upper values""".split()  # noqa: SIM905 - forty quoted words read worse
)
# The parser stores each beginning of a dotted name, which takes quadratic memory.
_LONG_NAME = re.compile(r"(?<!\w)(?:\w++[\s\\]*+\.[\s\\]*+){200}")
_SETS_A_MODULE_UP = re.compile(
    r"(?:set|seed|register|unregister|filterwarnings|simplefilter|basicConfig|install|insert"
    r"|append|extend|add|update|disable|enable|stack_size|putenv|signal$)"
)
_LOOKS_UP = frozenset({"globals", "eval", "exec", "__import__"})

Mark = Literal["reads_input", "leaves", "looks_up", "sets_up"]
"""Effects of a statement.

``reads_input``: reads standard input or arguments. ``leaves``: ends the process or starts a test
runner. ``looks_up``: finds names that are not in the source. ``sets_up``: configures a module.
"""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement at the top level of a module, with the effects that `_prune` needs to know.

    Attributes
    ----------
    source : str
        The source text of the statement.
    kind : {"function", "class", "import", "action"}
        An action is any statement that is neither a definition nor an import.
    binds : frozenset of str
        Names that the statement binds at module level.
    reads, changes, calls : frozenset of str
        Names that the statement mentions, names whose objects it may change, and names that it
        calls, when it is executed. For a function these come from its decorators, defaults and
        annotations.
    passes : frozenset of str
        Names whose objects the statement passes to functions, which may change them.
    later_reads, later_changes : frozenset of str
        The same for the bodies of the functions in the statement, which are executed when called.
    quoted : frozenset of str
        String constants that look like names, such as quoted annotations.
    marks, later_marks : frozenset of Mark
        Effects of the statement, and effects of calling its functions.
    is_data : bool
        True for assignments of constants, arithmetic with constants, containers and comprehensions,
        which cannot be called.
    hooked : bool
        True for a definition with decorators, base classes or a metaclass, which may register it.
    shows : bool
        True if the statement only demonstrates: an assertion, a call of ``print``, or an expression
        without a call.
    is_main_guard : bool
        True for ``if __name__ == "__main__"``.
    hollow : bool
        True for a definition of functions or classes whose body is empty: only a docstring,
        imports, ``pass`` or ``...``.
    finished : bool
        True if control cannot reach the end of the function without a ``return`` or ``raise``.
    always : bool
        True if the statement is needed although no name refers to it: a future import or a star
        import.
    """

    source: str
    kind: Literal["function", "class", "import", "action"]
    binds: frozenset[str]
    reads: frozenset[str]
    changes: frozenset[str]
    calls: frozenset[str]
    passes: frozenset[str]
    later_reads: frozenset[str]
    later_changes: frozenset[str]
    quoted: frozenset[str]
    marks: frozenset[Mark]
    later_marks: frozenset[Mark]
    is_data: bool
    hooked: bool
    shows: bool
    is_main_guard: bool
    hollow: bool
    finished: bool
    always: bool

    @property
    def defines(self) -> bool:
        """True for a function or a class."""
        return self.kind in ("function", "class")


def parse(source: str) -> ast.Module | None:
    """Return the syntax tree of `source`, or None if it or a name is too long, or not Python."""
    if len(source) > MAX_SOURCE or _LONG_NAME.search(source):
        return None
    with warnings.catch_warnings():
        # The user's warning filters must not apply to an invalid escape in a model's string.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None


@lru_cache(maxsize=16)
def statements(source: str) -> tuple[Sequence[Statement], Sequence[str]]:
    """Return the top-level statements of `source`, and the parts of it that are not Python."""
    described = _read(source)
    if described is not None:
        return described, ()
    good: list[Statement] = []
    broken: list[str] = []
    for chunk in chunks(source):
        described = _read(chunk)
        if described is None:
            broken.append(chunk)
        else:
            good.extend(described)
    return tuple(good), tuple(broken)


def _read(source: str) -> tuple[Statement, ...] | None:
    tree = parse(source)
    if tree is None:
        return None
    try:
        return tuple(_describe(source, tree))
    except RecursionError:  # thousands of lambdas, each inside another
        return None


def join_sources(sources: Iterable[str]) -> str:
    """Return the source of a program made of the texts of statements."""
    ordered = sorted(sources, key=lambda source: not source.startswith("from __future__"))
    return "\n\n".join(ordered) + "\n"


def header(source: str) -> str | None:
    """Return a stub's definition down to its body, or None if there is no function.

    The docstring is left out, so that a body with other indentation fits.
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


def has_parameters(source: str) -> bool:
    """Return whether the last statement of `source` is a function with parameters."""
    tree = parse(source)
    node = tree.body[-1] if tree is not None and tree.body else None
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and bool(_arguments(node.args))


def has_return(source: str) -> bool:
    """Return whether `source` returns or yields outside any function, so that it is only a body."""
    tree = parse(source)
    leaves = ast.Return | ast.Yield | ast.YieldFrom
    return tree is not None and any(isinstance(node, leaves) for node in _own_scope(tree))


def indent(source: str, prefix: str) -> str:
    """Return `source` with `prefix` before each line that is not blank.

    The second and later lines of a multi-line string are unchanged.
    """
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

    Unlike a parser, this never fails: each sentence of prose and each function is one chunk. The
    time is linear in the length of `source`.
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
    """Return the triple quotes left open at the end of `line`, given those open at its start.

    The result is None if no string is open.
    """
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


def _own_scope(root: ast.AST) -> Iterator[ast.AST]:
    """Walk `root` without entering the scopes inside it, beginning with `root` itself."""
    pending: list[ast.AST] = [root]
    inner = (*_Definition.__args__, ast.Lambda, ast.comprehension)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, inner):
            pending.extend(ast.iter_child_nodes(node))


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
        scope = _scan(group)
        yield Statement(
            source="\n".join(span).rstrip(),
            kind=_kind(group),
            binds=frozenset(scope.binds),
            reads=frozenset(scope.reads),
            changes=frozenset(scope.changes),
            calls=frozenset(scope.calls),
            passes=frozenset(scope.passes),
            later_reads=frozenset(scope.later_reads),
            later_changes=frozenset(scope.later_changes),
            quoted=frozenset(scope.quoted),
            marks=frozenset(scope.marks),
            later_marks=frozenset(scope.later_marks),
            is_data=all(_assigns_data(node) for node in group),
            hooked=any(_is_hooked(node) for node in group),
            shows=all(_only_shows(node) for node in group) and not scope.binds,
            is_main_guard=all(_is_main_guard(node) for node in group),
            hollow=all(isinstance(node, _Definition) and _is_hollow(node.body) for node in group),
            finished=isinstance(last, ast.FunctionDef | ast.AsyncFunctionDef)
            and _leaves(last.body),
            always=any(_is_always_needed(node) for node in group),
        )


def _kind(group: Sequence[ast.stmt]) -> Literal["function", "class", "import", "action"]:
    if any(isinstance(node, ast.ClassDef) for node in group):
        return "class"
    if any(isinstance(node, _Definition) for node in group):
        return "function"
    if all(isinstance(node, ast.Import | ast.ImportFrom) for node in group):
        return "import"
    return "action"


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, _Definition) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


@dataclass(slots=True)
class _Scope:
    """The names that one scope uses.

    Names of the functions inside it have the prefix ``later_``.

    The other fields are those of `Statement`. ``quoted`` has names that occur as strings, and
    ``declared_global`` those of ``global`` statements.
    """

    binds: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    passes: set[str] = field(default_factory=set)
    later_reads: set[str] = field(default_factory=set)
    later_changes: set[str] = field(default_factory=set)
    quoted: set[str] = field(default_factory=set)
    marks: set[Mark] = field(default_factory=set)
    later_marks: set[Mark] = field(default_factory=set)
    declared_global: set[str] = field(default_factory=set)

    def add_function(self, inner: _Scope) -> None:
        """Add what a function does when it is called, except for its local names."""
        local = inner.binds - inner.declared_global
        self.later_reads |= (inner.reads | inner.later_reads) - local
        self.later_changes |= (inner.changes | inner.passes | inner.later_changes) - local
        self.later_changes |= inner.declared_global
        self.later_reads |= inner.declared_global
        self.quoted |= inner.quoted
        self.later_marks |= inner.marks | inner.later_marks

    def add_block(self, inner: _Scope) -> None:
        """Add a class body or a comprehension, which is executed at once."""
        local = inner.binds - inner.declared_global
        self.reads |= inner.reads - local
        self.changes |= (inner.changes - local) | inner.declared_global
        self.calls |= inner.calls - local
        self.passes |= inner.passes - local
        self.later_reads |= inner.later_reads
        self.later_changes |= inner.later_changes
        self.quoted |= inner.quoted
        self.marks |= inner.marks
        self.later_marks |= inner.later_marks


def _scan(nodes: Iterable[ast.AST], parameters: Iterable[ast.arg] = ()) -> _Scope:
    """Return the names that `nodes`, which share one scope, use.

    `parameters` are names that the scope binds before. Functions and classes inside are scanned as
    scopes of their own.
    """
    scope = _Scope(binds={parameter.arg for parameter in parameters})
    pending: list[ast.AST] = [*nodes]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            scope.binds.add(node.name)
            scope.changes |= _roots(node.decorator_list)
            pending += [*node.decorator_list, *_evaluated_at_definition(node)]
            scope.add_function(_scan(node.body, _arguments(node.args)))
        elif isinstance(node, ast.Lambda):
            pending += _defaults(node.args)
            scope.add_function(_scan([node.body], _arguments(node.args)))
        elif isinstance(node, ast.ClassDef):
            scope.binds.add(node.name)
            outside = [*node.bases, *(keyword.value for keyword in node.keywords)]
            # A base class may register its subclasses.
            scope.changes |= _roots([*node.decorator_list, *outside])
            pending += [*node.decorator_list, *outside]
            scope.add_block(_scan(node.body))
        elif isinstance(node, _Comprehension):
            scope.add_block(_scan(ast.iter_child_nodes(node)))
        else:
            _note(node, scope)
            pending.extend(ast.iter_child_nodes(node))
    return scope


def _evaluated_at_definition(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    annotations = [argument.annotation for argument in _arguments(node.args)]
    evaluated = [*annotations, node.returns, *_defaults(node.args)]
    return [expression for expression in evaluated if expression is not None]


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    return [node for node in ast.iter_child_nodes(arguments) if isinstance(node, ast.arg)]


def _defaults(arguments: ast.arguments) -> list[ast.expr]:
    return [node for node in ast.iter_child_nodes(arguments) if isinstance(node, ast.expr)]


def _note(node: ast.AST, scope: _Scope) -> None:
    """Add what `node` does to `scope`, without its children.

    `scope` collects names that are bound, read or changed.
    """
    if isinstance(node, ast.Name):
        (scope.reads if isinstance(node.ctx, ast.Load) else scope.binds).add(node.id)
    elif isinstance(node, ast.Attribute | ast.Subscript):
        _note_access(node, scope)
    elif isinstance(node, ast.Call):
        _note_call(node, scope)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str) and node.value.isidentifier():
            scope.quoted.add(node.value)
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        scope.reads.add(node.target.id)
    elif isinstance(node, ast.For) and _mentions(node.iter, "stdin"):
        scope.marks.add("reads_input")
    else:
        _note_binding(node, scope)


def _note_binding(node: ast.AST, scope: _Scope) -> None:
    """Add the names that `node` binds as plain strings rather than as `ast.Name`."""
    if isinstance(node, ast.Global):
        scope.declared_global.update(node.names)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        scope.binds.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        scope.binds |= {node.name} if node.name is not None else set()
    elif isinstance(node, ast.MatchMapping):
        scope.binds |= {node.rest} if node.rest is not None else set()


def _note_access(node: ast.Attribute | ast.Subscript, scope: _Scope) -> None:
    root = _root(node)
    if not isinstance(node.ctx, ast.Load) and root is not None:
        scope.changes.add(root)
        scope.marks.add("sets_up")
    if isinstance(node, ast.Attribute) and node.attr in ("modules", "__dict__"):
        scope.marks.add("looks_up")
    if isinstance(node, ast.Subscript) and _mentions(node.value, "argv"):
        scope.marks.add("reads_input")


def _note_call(node: ast.Call, scope: _Scope) -> None:
    root = _root(node.func)
    if root is not None:
        scope.calls.add(root)
    if isinstance(node.func, ast.Name):
        _note_function_call(node, node.func.id, scope)
    elif isinstance(node.func, ast.Attribute):
        _note_method_call(node.func, root, scope)


def _note_function_call(node: ast.Call, called: str, scope: _Scope) -> None:
    if called == "input":
        scope.marks.add("reads_input")
    if called in ("exit", "quit"):
        scope.marks.add("leaves")
    if called in _LOOKS_UP or (called in ("vars", "locals") and not node.args):
        scope.marks.add("looks_up")
    if called not in _PRINTING and called not in _PURE:
        scope.passes |= {arg.id for arg in node.args if isinstance(arg, ast.Name)}


def _note_method_call(called: ast.Attribute, root: str | None, scope: _Scope) -> None:
    if _mentions(called.value, "stdin"):
        scope.marks.add("reads_input")
    if root is None:
        return
    if called.attr not in _READING:
        scope.changes.add(root)
    if _SETS_A_MODULE_UP.match(called.attr):
        scope.marks.add("sets_up")
    if (root in _TEST_MODULES and called.attr in _RUNNERS) or (
        root in ("sys", "os") and called.attr in ("exit", "_exit")
    ):
        scope.marks.add("leaves")


_TEST_MODULES = frozenset({"unittest", "pytest", "doctest"})
_RUNNERS = frozenset({"main", "testmod", "run_docstring_examples", "TextTestRunner"})
_PURE = frozenset(
    """abs all any bin bool bytes callable chr complex dict divmod enumerate filter float format
    frozenset getattr hasattr hash hex id int isinstance issubclass iter len list map max min
    next oct ord pow range repr reversed round set slice sorted str sum tuple type
    zip""".split()  # noqa: SIM905 - likewise
)


def _root(node: ast.AST) -> str | None:
    """Return the name at the start of a chain of attributes, items and calls."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _roots(nodes: Iterable[ast.AST]) -> set[str]:
    return {root for node in nodes if (root := _root(node)) is not None}


def _mentions(node: ast.AST, name: str) -> bool:
    """Return whether `name` is a link of a chain of attributes, items and calls.

    `node` is the end of the chain. Arguments and indices do not count.
    """
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Attribute) and node.attr == name:
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(node, ast.Name) and node.id == name


def _assigns_data(node: ast.stmt) -> bool:
    data = (
        ast.Constant,
        ast.List,
        ast.Tuple,
        ast.Set,
        ast.Dict,
        ast.JoinedStr,
        *_Comprehension.__args__,
    )
    arithmetic = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    return isinstance(node.value, data) or all(
        isinstance(part, arithmetic) for part in ast.walk(node.value)
    )


def _is_hooked(node: ast.stmt) -> bool:
    if isinstance(node, ast.ClassDef):
        return bool(node.decorator_list or node.bases or node.keywords)
    return isinstance(node, _Definition) and bool(node.decorator_list)


def _only_shows(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        if not isinstance(value, ast.Call):
            return True
        return isinstance(value.func, ast.Name) and value.func.id in _PRINTING
    return isinstance(node, ast.Assert)


def _is_main_guard(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and any(
            isinstance(part, ast.Name) and part.id == "__name__"
            for part in (node.test.left, *node.test.comparators)
        )
    )


def _is_hollow(body: list[ast.stmt]) -> bool:
    return all(
        isinstance(node, ast.Import | ast.ImportFrom) or _is_placeholder(node) for node in body
    )


def _is_placeholder(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise) and node.exc is not None:
        return _mentions(node.exc, "NotImplementedError")
    is_constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_constant or isinstance(node, ast.Pass)


def _leaves(body: list[ast.stmt]) -> bool:
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _leaves(last.body) and _leaves(last.orelse)
    if isinstance(last, ast.With | ast.AsyncWith):
        return _leaves(last.body)
    # A bare `return` at the end of a cut-off text may have lost its value.
    return isinstance(last, ast.Raise) or (isinstance(last, ast.Return) and last.value is not None)


def _is_always_needed(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (
        node.module == "__future__" or any(alias.name == "*" for alias in node.names)
    )
