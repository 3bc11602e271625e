"""Small faults of the package, for ``mutation.py``: what they are, and how they are drawn.

A fault is one of these changes at one place:

- comparison: ``<`` to ``>=``, ``==`` to ``!=``, ``in`` to ``not in``, …
- boundary: ``<`` to ``<=``, ``>`` to ``>=``, and back
- constant: a number plus or minus one, ``True`` to ``False`` and back
- condition: ``and`` to ``or`` and back, a condition negated, a ``not`` removed
- return: ``return VALUE`` to ``return None``
- argument: a keyword or the last positional argument of a call dropped
- statement: a call, an assignment to an attribute or an item, ``raise``, ``break`` or ``continue``
  replaced by ``pass``
- arithmetic: ``+`` to ``-``, ``*`` to ``/`` and back, a sign dropped

Nothing is changed where no test could or should notice it: annotations, decorators and headers of
classes, blocks for type checkers, asserts, f-strings and all strings, what a raised error says,
``__repr__`` and ``__str__``, the arguments ``strict`` and ``encoding``, and ``return False`` to
``return None``. The same holds for seeds and numbers of draws, of which one is as good as the next
(`EFFORT`), and for the boundary of a comparison with a tolerance or with a random number. A fault
that does not compile, or whose bytecode is that of the original, is not counted.
"""

from __future__ import annotations

import ast
import random
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Fault:
    """A change of one place of a module.

    Attributes
    ----------
    path
        The module, relative to the project.
    kind
        One of those that the docstring of this script lists.
    start, end
        The bytes of the module that are replaced.
    text
        What replaces them.
    first, last
        The lines of the statement, from 1.
    at_import
        Whether the statement is in no function.
    before, after
        The lines that change, without indentation.
    """

    path: str
    kind: str
    start: int
    end: int
    text: str
    first: int
    last: int
    at_import: bool
    line: int = 0
    before: str = ""
    after: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What identifies the fault as long as its line stays the same."""
        return self.path, self.kind, self.before, self.after

    @property
    def folder(self) -> str:
        """The package of the module, such as ``scoring``."""
        return self.path.split("/")[1]

    def applied(self, source: bytes) -> bytes:
        """Return the source of the module with the fault."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def described(self, source: bytes) -> Fault:
        """Return the fault with the text of the lines that change."""
        line_begin = source.rfind(b"\n", 0, self.start) + 1
        line_end = source.find(b"\n", self.end)
        wrong = self.applied(source)
        return replace(
            self,
            line=source.count(b"\n", 0, self.start) + 1,
            before=plain(source[line_begin:line_end]),
            after=plain(wrong[line_begin : line_end + len(wrong) - len(source)]),
        )


def plain(text: bytes) -> str:
    """Return lines of source in one line."""
    return " ".join(text.decode().split())


def draw(folders: Sequence[str], seed: int, n_faults: int) -> list[Fault]:
    """Draw faults, the same number in each folder as far as possible."""
    turns = zip_longest(*(drawn_in(folder, seed) for folder in folders))
    faults = (fault for turn in turns for fault in turn if fault is not None)
    return [fault for fault, _ in zip(faults, range(n_faults), strict=False)]


def drawn_in(folder: str, seed: int) -> Iterator[Fault]:
    """Yield the faults of a folder in random order. The kinds take turns."""
    sources = {
        path: path.read_bytes()
        for path in sorted((ROOT / "pytest_promptse" / folder).rglob("*.py"))
    }
    originals = {path: compiled(str(path), source) for path, source in sources.items()}
    by_kind: defaultdict[str, list[tuple[Path, Fault]]] = defaultdict(list)
    for path, source in sources.items():
        for fault in Places(str(path.relative_to(ROOT)), source).faults:
            by_kind[fault.kind].append((path, fault))
    generator = random.Random(f"{seed} {folder}")  # noqa: S311 - no secret
    for kind in sorted(by_kind):
        generator.shuffle(by_kind[kind])
    seen = set()
    for path, fault in filter(None, chain.from_iterable(zip_longest(*by_kind.values()))):
        described = fault.described(sources[path])
        faulty = compiled(fault.path, fault.applied(sources[path]))
        if described.key not in seen and faulty not in (None, originals[path]):
            seen.add(described.key)
            yield described


def compiled(path: str, source: bytes) -> tuple[object, ...] | None:
    """Return what a module's bytecode does, or None if it does not compile."""
    try:
        return code(compile(source, path, "exec", dont_inherit=True))
    except SyntaxError:
        return None


def code(of: CodeType) -> tuple[object, ...]:
    """Return what a code object does, without the places of its instructions."""
    constants = [
        code(value) if isinstance(value, type(of)) else repr(value) for value in of.co_consts
    ]
    return (
        *(of.co_code, of.co_names, of.co_varnames, of.co_flags),
        *(of.co_argcount, of.co_kwonlyargcount, of.co_exceptiontable),
        constants,
    )


NEGATED = {
    ast.Lt: ("<", ">="),
    ast.GtE: (">=", "<"),
    ast.Gt: (">", "<="),
    ast.LtE: ("<=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
}
MOVED = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
SWAPPED = {
    ast.Add: (r"\+", "+", "-"),
    ast.Sub: ("-", "-", "+"),
    ast.Mult: (r"\*", "*", "/"),
    ast.Div: ("/", "/", "*"),
}
# Arguments that state what holds anyway, or on which the machine decides.
KEPT_ARGUMENTS = ("strict", "encoding")
TEXTS = ("__repr__", "__str__")
# Seeds, and numbers that trade time and memory for precision.
EFFORT = re.compile(
    r"seed|resamples|permutations|maxfev|(_|MOST_)?DRAWS|_(RE)?RUNS|_RESAMPLES|_DEALS|_SHUFFLES"
    r"|_GRID|_SUITES|_STEPS|_HELD|_CELLS(_OF_\w+)?"
)
TOLERANCES = ("TIE", "_TIE", "_CONVERGED", "_EXACT", "_ROUNDING", "_SPAN")
# Smaller numbers are tolerances for rounding.
LEAST_FIGURE = 1e-6
# Calls for type checkers.
DECLARATIONS = ("cast", "TypeVar", "NewType", "ParamSpec")


class Places(ast.NodeVisitor):
    """Collects the faults of a module."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source = path, source
        self.faults: list[Fault] = []
        self._line_starts = [0, *(match.end() for match in re.finditer(rb"\n", source))]
        self._statement: tuple[int, int] = (1, 1)
        self._functions = 0
        self.visit(ast.parse(source))

    def visit(self, node: ast.AST) -> None:
        """Visit a node, and remember the lines of the statement, without those of its blocks."""
        if not isinstance(node, ast.stmt):
            super().visit(node)
            return
        outside = self._statement
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
        self._statement = node.lineno, max(last, node.lineno)
        super().visit(node)
        self._statement = outside

    def _add(self, kind: str, start: int, end: int, text: str) -> None:
        place = (*self._statement, self._functions == 0)
        self.faults.append(Fault(self.path, kind, start, end, text, *place))

    def _start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._line_starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._line_starts[node.end_lineno - 1] + node.end_col_offset

    def _between(self, kind: str, start: int, end: int, old: str, new: str) -> None:
        """Replace the operator between two operands."""
        gap = self.source[start:end].decode()
        found = re.search(old if "#" not in gap else "(?!)", gap)
        if found:
            self._add(kind, start + found.start(), start + found.end(), new)

    # What is left out.

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave out texts."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave out invariants."""

    def visit_arguments(self, node: ast.arguments) -> None:
        """Leave out annotations, seeds and numbers of draws."""
        positional = [*node.posonlyargs, *node.args]
        with_default = positional[len(positional) - len(node.defaults) :]
        parameters = [*with_default, *node.kwonlyargs]
        for parameter, default in zip(parameters, [*node.defaults, *node.kw_defaults], strict=True):
            if default is not None and not EFFORT.fullmatch(parameter.arg):
                self.visit(default)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave out the annotation."""
        self._assignment(node, [node.target])
        if node.value is not None:
            self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Leave out the header."""
        for statement in node.body:
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Leave out decorators and annotations, and functions that only make texts."""
        if node.name not in TEXTS:
            self.visit(node.args)
            self._functions += 1
            for statement in node.body:
                self.visit(statement)
            self._functions -= 1

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Do the same."""
        self.visit_FunctionDef(node)

    def visit_If(self, node: ast.If) -> None:
        """Leave out blocks for type checkers."""
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self._condition(node.test)
            self.generic_visit(node)

    # What is changed.

    def visit_Compare(self, node: ast.Compare) -> None:
        """Negate comparisons, and move boundaries."""
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            place = self._end(left), self._start(right)
            self._between("comparison", *place, *NEGATED[type(operator)])
            if type(operator) in MOVED and not (has_no_boundary(left) or has_no_boundary(right)):
                self._between("boundary", *place, *MOVED[type(operator)])
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Change numbers and booleans. Strings stay."""
        place = self._start(node), self._end(node)
        if isinstance(node.value, bool):
            self._add("constant", *place, str(not node.value))
        elif isinstance(node.value, int | float):
            for step in (1, -1):
                value = node.value + step
                self._add("constant", *place, f"({value})" if value < 0 else str(value))

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Swap ``and`` and ``or``."""
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between("condition", self._end(left), self._start(right), old, new)
        self.generic_visit(node)

    def _condition(self, test: ast.expr) -> None:
        """Negate a condition for which no other fault does so."""
        if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            start, end = self._start(test), self._end(test)
            self._add("condition", start, end, f"not ({self.source[start:end].decode()})")

    def visit_While(self, node: ast.While) -> None:
        """Negate the condition."""
        self._condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Negate the condition."""
        self._condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Negate the conditions."""
        for test in node.ifs:
            self._condition(test)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Drop ``not`` and a sign."""
        place = self._start(node), self._start(node.operand)
        if isinstance(node.op, ast.Not):
            self._between("condition", *place, r"not\s*", "")
        elif isinstance(node.op, ast.USub):
            self._between("arithmetic", *place, r"-\s*", "")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Swap operators of numbers."""
        swapped = SWAPPED.get(type(node.op))
        if swapped and not (is_sequence(node.left) or is_sequence(node.right)):
            pattern, _, new = swapped
            self._between("arithmetic", self._end(node.left), self._start(node.right), pattern, new)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Swap the operator, or remove the statement."""
        self._removed(node)
        swapped = SWAPPED.get(type(node.op))
        if swapped and not is_sequence(node.value):
            pattern, _, new = swapped
            self._between(
                "arithmetic", self._end(node.target), self._start(node.value), pattern, new
            )
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        """Return None."""
        value = node.value
        if value is not None:
            if not (isinstance(value, ast.Constant) and value.value in (None, False)):
                self._add("return", self._start(node), self._end(node), "return None")
            self.visit(value)

    def visit_Call(self, node: ast.Call) -> None:
        """Drop arguments."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        if name in DECLARATIONS:
            return
        arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        given = sorted(arguments, key=self._start)
        for number, argument in enumerate(given):
            if isinstance(argument, ast.keyword):
                droppable = argument.arg is not None and argument.arg not in KEPT_ARGUMENTS
            else:
                is_last = argument is node.args[-1]
                droppable = is_last and not isinstance(argument, ast.Starred | ast.GeneratorExp)
            if droppable:
                start, end = self._start(argument), self._end(argument)
                if number > 0:
                    start = self._end(given[number - 1])
                elif len(given) > 1:
                    end = self._start(given[1])
                self._add("argument", start, end, "")
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        """Leave out what an argument says that states what holds anyway."""
        is_effort = node.arg and EFFORT.fullmatch(node.arg) and isinstance(node.value, ast.Constant)
        if node.arg not in KEPT_ARGUMENTS and not is_effort:
            self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        """Leave out numbers of draws."""
        for key, value in zip(node.keys, node.values, strict=True):
            if not (isinstance(key, ast.Constant) and EFFORT.fullmatch(str(key.value))):
                if key is not None:
                    self.visit(key)
                self.visit(value)

    def _removed(self, node: ast.stmt) -> None:
        self._add("statement", self._start(node), self._end(node), "pass")

    def visit_Expr(self, node: ast.Expr) -> None:
        """Remove a statement that is not a docstring."""
        if not isinstance(node.value, ast.Constant):
            self._removed(node)
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Remove an assignment whose absence is no NameError."""
        names = [name.id for name in ast.walk(node.targets[0]) if isinstance(name, ast.Name)]
        if names == ["__all__"] or all(EFFORT.fullmatch(name) for name in names):
            return
        self._assignment(node, node.targets)
        self.generic_visit(node)

    def _assignment(self, node: ast.stmt, targets: Sequence[ast.expr]) -> None:
        valued = getattr(node, "value", None) is not None
        if valued and all(isinstance(target, ast.Attribute | ast.Subscript) for target in targets):
            self._removed(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Raise nothing. What the error says is left out."""
        self._removed(node)

    def visit_Break(self, node: ast.Break) -> None:
        """Go on with the loop."""
        self._removed(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        """Go on with this turn of the loop."""
        self._removed(node)


def has_no_boundary(node: ast.expr) -> bool:
    """Return whether an operand is a tolerance or random, so that nothing lies on the boundary."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, float):
            if 0.0 < part.value < LEAST_FIGURE:
                return True
        elif (isinstance(part, ast.Name) and part.id in TOLERANCES) or (
            isinstance(part, ast.Attribute) and part.attr == "random"
        ):
            return True
    return False


def is_sequence(node: ast.expr) -> bool:
    """Return whether an operand is plainly no number."""
    text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return text or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp)
