"""Parse, check and render prompt templates with Jinja2's sandboxed environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, zip_longest
from typing import TYPE_CHECKING, Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, nodes, pass_context
from jinja2 import Template as JinjaTemplate
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import TaskError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from jinja2.runtime import Context

    from pytest_promptse.tasks._task import Task

_BLOCKS = ("system", "user")
# A template for people and models to read needs far less.
_MOST_TURNS = 100_000
_LONGEST_PART = 2**20
ANSWER = "first"
"""The name of the answer to the first request in a template of two requests."""
_SEEN = ("prompt", "id", "entry_point", "is_stub")


@dataclass
class TaskView:
    """The fields of a task that a template can use.

    ``_used`` becomes True when the template reads the prompt.
    """

    id: str
    entry_point: str
    is_stub: bool
    _text: str
    _used: bool = field(default=False, init=False)

    @property
    def prompt(self) -> str:
        self._used = True
        return self._text


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The body of a template.

    Attributes
    ----------
    path
        The file.
    body
        The Jinja2 source.
    above
        Number of lines in the file above the body.
    variables
        The variables that the header declares.
    takes_answer
        True if the body uses the answer to an earlier request as ``first``. It may then leave out
        the task, which the earlier request has.
    """

    path: Path
    body: str
    above: int
    variables: Mapping[str, Any]
    takes_answer: bool = False

    def validate(self) -> None:
        """Check the body without a task.

        Raises
        ------
        TaskError
            If the body is invalid. The message names the file and line.
        """
        _ = self._compiled  # finds unknown filters and tests
        tree = self._tree
        self._check_blocks(tree)
        for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
            raise self._error("a template stands alone; write out what it includes", node.lineno)
        declared = {"task", *self.variables, *self._environment.globals}
        if self.takes_answer:
            declared.add(ANSWER)
        undeclared = find_undeclared_variables(tree)
        for name in sorted(undeclared - declared):
            line = next(node.lineno for node in tree.find_all(nodes.Name) if node.name == name)
            hint = nearest(name, declared) or "; declare it in the header under 'variables'"
            if name in _SEEN:
                hint = f"; write {{{{ task.{name} }}}}"
            raise self._error(f"{name!r} is not declared{hint}", line)
        seen = list(_attributes_of_task(tree))
        for attribute, line in seen:
            if attribute not in _SEEN:
                hint = nearest(attribute, _SEEN)
                raise self._error(
                    f"a template cannot see task.{attribute}{hint}; there are "
                    f"{', '.join(f'task.{name}' for name in _SEEN)}",
                    line,
                )
        if self.takes_answer:
            if ANSWER not in undeclared:
                raise self._error(f"does not use the first answer; put {{{{ {ANSWER} }}}} in", 1)
        elif "prompt" not in dict(seen):
            raise self._error("does not use the task; put {{ task.prompt }} where it belongs", 1)

    def require_same_code(self, changed: Parts) -> None:
        """Check that `changed` has the same tags and expressions in the same order.

        Raises
        ------
        TaskError
            If the tags or expressions differ. The message names the file and line.
        """
        for ours, theirs in zip_longest(self._code, changed._code):
            if ours is None or theirs is None or ours[1:] != theirs[1:]:
                line = (theirs or self._code[-1])[0]
                raise self._error("the template's own code differs from the original's", line)

    @cached_property
    def _code(self) -> list[tuple[int, str, str]]:
        """All tokens except text, with their lines."""
        tokens = self._environment.lex(self.body)
        return [token for token in tokens if token[1] not in ("data", "whitespace")]

    def render(self, task: Task, text: str, answer: str = "") -> tuple[str | None, str]:
        """Return the system message, or None, and the user message.

        `answer` is that to the earlier request, if the body takes it.

        Raises
        ------
        TaskError
            If an expression fails, the text is not used, or the user message is empty.
        """
        view = TaskView(task.id, task.entry_point, task.is_stub, text)
        given = {**self.variables, "task": view, ANSWER: answer, _TURNS: count()}
        context = self._compiled.new_context(given)
        if self._compiled.blocks:
            system = self._part("system", context) if "system" in self._compiled.blocks else ""
            user = self._part("user", context)
        else:
            system, user = "", self._part(None, context)
        if not (view._used or self.takes_answer):  # noqa: SLF001 - hidden from templates, not from here
            raise TaskError(f"{self.path}: does not use task.prompt for the task {task.id!r}")
        if not user.strip():
            raise TaskError(f"{self.path}: the user message is empty for the task {task.id!r}")
        return (system if system.strip() else None), user

    def _part(self, block: str | None, context: Any) -> str:
        template = self._compiled
        function = template.root_render_func if block is None else template.blocks[block]
        try:
            return "".join(_bounded(function(context)))
        except Exception as error:  # noqa: BLE001 - whatever an expression in the file raises
            line = self._line_of(error)
            message = " ".join(str(error).split())
            raise self._error(f"{type(error).__name__}: {message}", line) from None

    def _line_of(self, error: Exception) -> int:
        line, trace = 1, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == str(self.path):
                line = self._compiled.get_corresponding_lineno(trace.tb_lineno)
            trace = trace.tb_next
        return line

    @cached_property
    def _environment(self) -> ImmutableSandboxedEnvironment:
        environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
        )
        # The same text must always give the same prompt.
        del environment.globals["lipsum"], environment.filters["random"]
        environment.filters[_TURNS] = _counted
        return environment

    @cached_property
    def _tree(self) -> nodes.Template:
        try:
            tree = self._environment.parse(self.body)
        except TemplateSyntaxError as error:
            raise self._error(error.message or "not Jinja2", error.lineno) from None
        for block in tree.find_all(nodes.Block):
            _drop_last_line_break(block)
        # The sandbox limits one loop, but not loops inside loops.
        for loop in tree.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, _TURNS, [], [], None, None, lineno=loop.iter.lineno)
        return tree

    @cached_property
    def _compiled(self) -> JinjaTemplate:
        environment = self._environment
        try:
            code = environment.compile(self._tree, filename=str(self.path))
        except TemplateSyntaxError as error:
            raise self._error(error.message or "not Jinja2", error.lineno) from None
        except TemplateError as error:
            raise self._error(str(error), 1) from None
        return JinjaTemplate.from_code(environment, code, environment.make_globals(None))

    def _check_blocks(self, tree: nodes.Template) -> None:
        blocks = list(tree.find_all(nodes.Block))
        if not blocks:
            return
        for block in blocks:
            if block.name not in _BLOCKS:
                hint = nearest(block.name, _BLOCKS)
                raise self._error(
                    f"there is no part {block.name!r}{hint}; blocks are named system and user",
                    block.lineno,
                )
            if block not in tree.body:
                raise self._error(f"the block {block.name!r} stands inside another", block.lineno)
        if "user" not in {block.name for block in blocks}:
            raise self._error("has no user block; put {{ task.prompt }} into one", 1)
        for node in tree.body:
            if isinstance(node, nodes.Output) and not _is_blank(node):
                raise self._error(
                    "text outside the blocks is not sent; move it into a block",
                    _first_line_of_text(node),
                )

    def _error(self, message: str, line: int) -> TaskError:
        return TaskError(f"{self.path}:{line + self.above}: {message}")


def _bounded(pieces: Iterable[str]) -> Iterator[str]:
    length = 0
    for piece in pieces:
        length += len(piece)
        if length > _LONGEST_PART:
            raise ValueError(f"the prompt has more than {_LONGEST_PART:,} characters")
        yield piece


_TURNS = "promptse_turns"


@pass_context
def _counted(context: Context, items: Iterable[Any]) -> Iterator[Any]:
    """Give the items of a loop, and count them together with those of all other loops."""
    turns = context[_TURNS]
    for item in items:
        if next(turns) >= _MOST_TURNS:
            raise ValueError(f"the loops take more than {_MOST_TURNS:,} iterations")
        yield item


def _drop_last_line_break(block: nodes.Block) -> None:
    last = block.body[-1] if block.body else None
    if not isinstance(last, nodes.Output):
        return
    text = last.nodes[-1]
    if isinstance(text, nodes.TemplateData):
        text.data = text.data.removesuffix("\n")


def _is_blank(output: nodes.Output) -> bool:
    return all(
        isinstance(node, nodes.TemplateData) and not node.data.strip() for node in output.nodes
    )


def _first_line_of_text(output: nodes.Output) -> int:
    first = next(
        node
        for node in output.nodes
        if not isinstance(node, nodes.TemplateData) or node.data.strip()
    )
    if not isinstance(first, nodes.TemplateData):
        return first.lineno
    blank = first.data[: len(first.data) - len(first.data.lstrip())]
    return first.lineno + blank.count("\n")


def _attributes_of_task(tree: nodes.Template) -> Iterator[tuple[str, int]]:
    for dotted in tree.find_all(nodes.Getattr):
        if isinstance(dotted.node, nodes.Name) and dotted.node.name == "task":
            yield dotted.attr, dotted.lineno
    for item in tree.find_all(nodes.Getitem):
        if isinstance(item.node, nodes.Name) and item.node.name == "task":
            name = item.arg.value if isinstance(item.arg, nodes.Const) else "[…]"
            yield str(name), item.lineno
