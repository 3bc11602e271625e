"""Find the program that a check calls among blocks of JavaScript or TypeScript, by tree-sitter.

A called program is loaded and not run, so what only runs is left out: tests, assertions and output
of the top level. A helper in a block of its own is joined with the block that uses it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_promptse.runtimes._syntax import parsed
from pytest_promptse.sandbox.guest.wire import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

_TEST_PACKAGES = words(
    "vitest vitest/config jest @jest/globals mocha chai jasmine node:test test ava tape uvu "
    "bun:test @playwright/test sinon should expect fast-check"
)
# Calls of the top level that begin with one of these test or print. Without a test runner, most
# are names that nothing defines, which would end the loading.
_RUNNERS = words(
    "describe test it suite expect assert beforeEach afterEach beforeAll afterAll before after "
    "vi jest console process chai"
)
_FUNCTIONS = words(
    "function_declaration generator_function_declaration class_declaration "
    "abstract_class_declaration enum_declaration internal_module"
)
_UNNAMED = words(
    "function_expression generator_function arrow_function class function_declaration "
    "generator_function_declaration class_declaration abstract_class_declaration"
)
_NAMES = frozenset(("identifier", "shorthand_property_identifier"))
_PATTERNS = words(
    "formal_parameters required_parameter optional_parameter array_pattern rest_pattern "
    "import_specifier import_clause namespace_import"
)


@dataclass(kw_only=True, eq=False)
class _Script:
    """A block: its statements without tests, and its names.

    ``defined`` are the names of the top level, ``missing`` those that it uses without declaring
    them, or imports from a file beside it. ``unnamed`` is True if it exports a function or class
    without a name. ``cuts`` are ranges of bytes to leave out, and ``imports`` those of imports from
    files beside it, with the names that they bring. ``defaults`` are ranges that make a default
    export.
    """

    code: bytes
    defined: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    unnamed: bool = False
    cuts: list[tuple[int, int]] = field(default_factory=list)
    imports: list[tuple[tuple[int, int], set[str]]] = field(default_factory=list)
    defaults: list[tuple[int, int]] = field(default_factory=list)

    def text(self, available: set[str], *, helper: bool) -> str:
        """Return the code without its tests and without imports of the names in `available`."""
        cuts = [*self.cuts, *(span for span, names in self.imports if names <= available)]
        if helper:
            # A module has one default export.
            cuts += self.defaults
        data, place = b"", 0
        for start, end in sorted(cuts):
            data += self.code[place:start]
            place = max(place, end)
        return (data + self.code[place:]).decode("utf-8", "replace")


def called_program(
    candidates: Sequence[str], *, language: str, entry_point: str, context: Sequence[str] = ()
) -> str | None:
    """Return the program that defines `entry_point`, or None if no candidate defines it.

    It is the last of the `candidates` that define the name, without tests and with the blocks whose
    names it needs. `context` is code of the prompt, which may have such names too.
    """
    scripts = [_script(code, language) for code in candidates]
    chosen = max(
        range(len(scripts)),
        key=lambda place: (_level(scripts[place], candidates[place], entry_point), place),
    )
    main = scripts[chosen]
    if not _level(main, candidates[chosen], entry_point):
        return None
    if main is None:
        return candidates[chosen]
    providers: dict[str, _Script] = {}
    before = scripts[:chosen][::-1]
    of_prompt = [_script(code, language) for code in context]
    for script in [*before, *scripts[chosen + 1 :], *of_prompt]:
        # What uses the function is a test or an example.
        if script is not None and entry_point not in script.missing | script.defined:
            for name in script.defined:
                providers.setdefault(name, script)
    helpers: list[_Script] = []
    names = set(main.defined)
    needed = list(main.missing)
    while needed:
        helper = providers.get(needed.pop())
        if helper is not None and helper not in helpers and not helper.defined & names:
            helpers.append(helper)
            names |= helper.defined
            needed += helper.missing
    parts = [
        script.text(names, helper=True)
        for script in [*of_prompt, *scripts]
        if script is not None and script in helpers
    ]
    return "\n".join([*parts, main.text(names, helper=False)])


def _level(script: _Script | None, code: str, name: str) -> int:
    """Return 2 for a script that defines `name`, and 1 if what it exports may be it."""
    if script is None:
        return 2 if _definition(name).search(code) else 0
    return 2 if name in script.defined else int(script.unnamed)


def _definition(name: str) -> re.Pattern[str]:
    """Return the pattern of a definition, for code that is not parsed."""
    word = rf"{re.escape(name)}(?![\w$])"
    return re.compile(
        rf"\b(?:function[\s*]*|class\s+|enum\s+|const\s+|let\s+|var\s+){word}"
        rf"|(?<![\w$.]){word}\s*=(?!=)|exports\.{word}\s*=|export\s+default\s+(?:async|function|class)"
        r"|module\.exports\s*=\s*(?:async|function|class)\b"
    )


def _script(code: str, language: str) -> _Script | None:
    """Return the names of a block. Without a grammar, or with syntax errors, return None."""
    root = parsed(code, language)
    if root is None or root.has_error:
        return None
    script = _Script(code=code.encode("utf-8", "replace"))
    kept = []
    for statement in root.named_children:
        source = _source(statement)
        if source in _TEST_PACKAGES or _first_name(statement) in _RUNNERS:
            script.cuts.append((statement.start_byte, statement.end_byte))
        elif source.startswith("."):
            names = {_text(node) for node, parent in _walk(statement) if _declares(node, parent)}
            script.imports.append(((statement.start_byte, statement.end_byte), names))
            script.missing |= names
        else:
            kept.append(statement)
    declared: set[str] = set()
    used: set[str] = set()
    for statement in kept:
        _define(statement, script)
        for node, parent in _walk(statement):
            if _declares(node, parent):
                declared.add(_text(node))
            elif node.type in _NAMES:
                used.add(_text(node))
    script.missing |= used - declared - script.defined
    return script


def _source(statement: Node) -> str:
    """Return what an import, or a declaration by ``require``, names; else an empty text."""
    if statement.type == "import_statement":
        source = statement.child_by_field_name("source")
        return _text(source)[1:-1] if source is not None else ""
    if statement.type in ("lexical_declaration", "variable_declaration"):
        for declarator in statement.named_children:
            value = declarator.child_by_field_name("value")
            while value is not None and value.type == "member_expression":
                value = value.child_by_field_name("object")
            if value is not None and value.type == "call_expression":
                callee, arguments = value.named_children[0], value.named_children[-1]
                if _text(callee) == "require" and arguments.named_child_count:
                    return _text(arguments.named_children[0])[1:-1]
    return ""


def _first_name(statement: Node) -> str:
    """Return the name with which a call begins, such as ``test`` in ``test.each(...)(...)``."""
    if statement.type != "expression_statement":
        return ""
    node, is_call = statement.named_children[0], False
    while node.named_child_count and node.type in (
        "await_expression",
        "call_expression",
        "member_expression",
    ):
        is_call |= node.type == "call_expression"
        node = node.named_children[0]
    return _text(node) if is_call and node.type == "identifier" else ""


def _define(statement: Node, script: _Script) -> None:
    """Add the names that a statement of the top level defines."""
    kind = statement.type
    if kind == "export_statement":
        _export(statement, script)
    elif kind in _FUNCTIONS:
        name = statement.child_by_field_name("name")
        if name is not None:
            script.defined.add(_text(name))
    elif kind in ("lexical_declaration", "variable_declaration"):
        for declarator in statement.named_children:
            name = declarator.child_by_field_name("name")
            if name is not None:
                script.defined |= {_text(node) for node, _ in _walk(name) if _is_name(node)}
    elif kind == "expression_statement":
        expression = statement.named_children[0]
        if expression.type in _FUNCTIONS:
            _define(expression, script)
        elif expression.type == "assignment_expression":
            _assign(expression, script)


def _export(statement: Node, script: _Script) -> None:
    is_default = any(child.type == "default" for child in statement.children)
    declaration = statement.child_by_field_name("declaration")
    if declaration is not None:
        _define(declaration, script)
        if is_default:
            script.defaults.append((statement.start_byte, declaration.start_byte))
    value = statement.child_by_field_name("value")
    if is_default and value is not None:
        script.defaults.append((statement.start_byte, statement.end_byte))
        script.unnamed |= value.type in _UNNAMED
    for node, _ in _walk(statement) if declaration is None and value is None else ():
        alias = node.child_by_field_name("alias") if node.type == "export_specifier" else None
        if alias is not None:
            script.defined.add(_text(alias))


def _assign(assignment: Node, script: _Script) -> None:
    """Add the names of ``exports.name = ...``, ``module.exports = {...}`` and ``name = ...``."""
    left = assignment.child_by_field_name("left")
    right = assignment.child_by_field_name("right")
    if left is None or right is None:
        return
    target = _text(left)
    if left.type == "identifier":
        script.defined.add(target)
    elif target == "module.exports":
        script.unnamed |= right.type in _UNNAMED
        for member in right.named_children if right.type == "object" else ():
            key = member.child_by_field_name("key") or member.child_by_field_name("name")
            if key is not None:
                script.defined.add(_text(key))
    elif re.fullmatch(r"(?:module\.)?exports\.[\w$]+", target):
        script.defined.add(target.rpartition(".")[2])


def _is_name(node: Node) -> bool:
    return node.type in ("identifier", "shorthand_property_identifier_pattern")


def _declares(node: Node, parent: Node) -> bool:
    """Return whether a node is the name of a variable, parameter, function, class or import."""
    if node.type == "shorthand_property_identifier_pattern":
        return True
    return node.type in ("identifier", "type_identifier") and (
        parent.type in _PATTERNS
        or parent.child_by_field_name("name") == node
        or parent.child_by_field_name("parameter") == node
        or (parent.type == "pair_pattern" and parent.child_by_field_name("value") == node)
        or (parent.type == "for_in_statement" and parent.child_by_field_name("left") == node)
    )


def _walk(top: Node) -> Iterator[tuple[Node, Node]]:
    """Yield a node and all below it, each with its parent (`top` with itself).

    Code may nest deeply, so this is no recursion, and does not ask a node for its parent, which
    tree-sitter searches from the root.
    """
    stack = [(top, top)]
    while stack:
        node, parent = stack.pop()
        yield node, parent
        stack += [(child, node) for child in node.named_children]


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
