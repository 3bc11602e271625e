"""Prompt templates: the text that a team puts around a task in its prompts.

A template is a Jinja2 file. Its ``user`` block is the user message, its optional ``system`` block
the system message. A file without blocks is the user message as a whole. A header in YAML between
two lines of ``---`` declares the variables of the template:

.. code-block:: jinja

    ---
    variables:
      python: "3.12"
    ---
    {% block system %}
    You write Python {{ python }} for a payments team.
    {% endblock %}
    {% block user %}
    {{ task.prompt }}
    {% endblock %}

The line breaks beside the block tags belong to the tags, so this user message is just the task's
text. A template has ``task.prompt`` (the original or variant text), ``task.id``,
``task.entry_point`` and ``task.is_stub``, but neither the solution nor the check.
"""

from __future__ import annotations

import glob
import hashlib
import os.path
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

from pytest_promptse._suggestions import nearest
from pytest_promptse.config._data_files import templates_dir
from pytest_promptse.errors import TaskError
from pytest_promptse.sandbox._causes import Cause
from pytest_promptse.tasks import _plainyaml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pytest_promptse.tasks._jinja import Parts
    from pytest_promptse.tasks._plainyaml import YamlNode
    from pytest_promptse.tasks._task import Task

SHIPPED = "shipped:"
"""Prefix of patterns for the templates of this package."""

_HEADER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MOST_TIMES = 64
CAUSES: tuple[Cause, ...] = get_args(Cause)


@dataclass(frozen=True, kw_only=True)
class Template:
    """A prompt template.

    Attributes
    ----------
    name
        The name in the header, or else the file's name without its suffix.
    path
        The file.
    place
        A pattern that matches this file only.
    source
        The text of the file.
    variables
        The variables that the header declares.
    max_tokens_times
        The factor of the settings' ``max_tokens``, at least 1.
    programs
        Number of completions per sample, at least 1. The first whose program passes the prompt's
        own examples is judged.
    helps
        The causes of failure that the template is meant for; empty for all.
    first
        The Jinja2 source of a request that is sent before, whose answer the body uses; empty for
        one request only.
    """

    name: str
    path: Path
    place: str
    source: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    max_tokens_times: int = 1
    programs: int = 1
    helps: tuple[Cause, ...] = ()
    first: str = ""

    @property
    def header(self) -> str:
        """The header with its lines ``---``, or an empty string if there is none."""
        header = _HEADER.match(self.source)
        return header[0] if header else ""

    @property
    def body(self) -> str:
        """The Jinja2 part of the source."""
        return self.source[len(self.header) :]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the source, as 64 hex digits."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    def with_body(self, body: str) -> Template:
        """Return this template with another body.

        Parameters
        ----------
        body
            The new body. Its Jinja2 statements and expressions must be those of this template,
            in the same order.

        Raises
        ------
        TaskError
            If something other than text differs. The message names the file and line.
        """
        changed = replace(self, source=self.header + body)
        changed._parts.validate()  # noqa: SLF001 - of the same class
        self._parts.require_same_code(changed._parts)  # noqa: SLF001 - of the same class
        return changed

    @cached_property
    def _parts(self) -> Parts:
        try:
            from pytest_promptse.tasks._jinja import Parts  # noqa: PLC0415 - needs the extra
        except ModuleNotFoundError as error:
            if error.name != "jinja2":
                raise
            raise TaskError(
                "prompt templates need Jinja2: pip install 'pytest-promptse[templates]'"
            ) from None
        above = self.header.count("\n")
        return Parts(
            path=self.path,
            body=self.body,
            above=above,
            variables=self.variables,
            takes_answer=bool(self.first),
        )

    @cached_property
    def _first_parts(self) -> Parts:
        above = self.source.partition("first:")[0].count("\n") + 1
        return replace(self._parts, body=self.first, above=above, takes_answer=False)


def anchored(pattern: str, folder: Path, root: Path) -> str:
    """Rewrite a pattern relative to `folder` as a pattern relative to `root`.

    Parameters
    ----------
    pattern
        A path, a glob or ``shipped:NAME``.
    folder
        The folder to which `pattern` is relative.
    root
        The folder to which the result is relative.
    """
    if pattern.startswith(SHIPPED):
        return pattern
    return os.path.relpath(folder / pattern, root).replace(os.sep, "/")


def load_templates(patterns: Sequence[str], root: Path) -> tuple[Template, ...]:
    """Return the templates that match `patterns`, in this order, each file once.

    Parameters
    ----------
    patterns
        Paths or globs relative to `root` (``prompts/*.j2``; ``**`` matches folders at any depth).
        ``shipped:NAME`` or ``shipped:*`` means those of this package.
    root
        The folder that relative patterns start from.

    Raises
    ------
    TaskError
        If a pattern matches no file, two templates have the same name, or Jinja2 is missing. Also
        if a template is not UTF-8, is not valid Jinja2, uses undeclared names, or never uses
        ``task.prompt``. The message names the file and line.
    """
    paths = {path: place for pattern in patterns for path, place in _matches(pattern, root)}
    templates: dict[str, Template] = {}
    for path, place in paths.items():
        template = _load(path, place)
        if template.name in templates:
            raise TaskError(
                f"{path}: the template name {template.name!r} is taken by "
                f"{templates[template.name].path}; write a line 'name: …' into the header of one"
            )
        templates[template.name] = template
    return tuple(templates.values())


def render_first(template: Template, task: Task, text: str) -> tuple[str | None, str]:
    """Render the first of two requests of a template, as `render` does the template."""
    return template._first_parts.render(task, text)  # noqa: SLF001 - two halves of one module


def render(template: Template, task: Task, text: str, *, first: str = "") -> tuple[str | None, str]:
    """Render a template for a task. Return the system message, or None, and the user message.

    Parameters
    ----------
    template
        The template.
    task
        The task of the prompt.
    text
        The text of the original or variant, available in the template as ``task.prompt``.
    first
        The answer to the first request, for a template of two requests.

    Raises
    ------
    TaskError
        If rendering fails, the template does not use `text`, or the user message is empty.
    """
    return template._parts.render(task, text, first)  # noqa: SLF001 - two halves of one module


def _matches(pattern: str, root: Path) -> list[tuple[Path, str]]:
    """Return each matching file with a pattern that matches only this file.

    `pattern` is a glob pattern relative to `root`, or names a shipped template.
    """
    folder, wanted = root, pattern
    if pattern.startswith(SHIPPED):
        folder, wanted = templates_dir() / "team", f"{pattern.removeprefix(SHIPPED)}.j2"
    names = sorted(glob.glob(wanted, root_dir=folder, recursive=True))  # noqa: PTH207 - takes absolute patterns too
    paths = [
        (folder / name, name if folder == root else SHIPPED + name.removesuffix(".j2"))
        for name in names
        if (folder / name).is_file()
    ]
    if not paths:
        shipped = ", ".join(sorted(path.stem for path in (templates_dir() / "team").glob("*.j2")))
        raise TaskError(
            f"template {pattern!r} matches no file in {folder}; shipped ones are written "
            f"{SHIPPED}NAME, with NAME one of {shipped}"
        )
    return paths


def _load(path: Path, place: str) -> Template:
    try:
        source = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(f"{path}:1: not UTF-8 text ({error.reason}); save it as UTF-8") from None
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}; check the path") from None
    template = Template(
        **{"name": path.stem} | _header(source, path), path=path, place=place, source=source
    )
    template._parts.validate()  # noqa: SLF001 - two halves of one module
    if template.first:
        template._first_parts.validate()  # noqa: SLF001 - two halves of one module
    return template


def _header(source: str, path: Path) -> dict[str, Any]:
    """Return the fields of the template that its header sets."""
    header = _HEADER.match(source)
    if header is None and source.startswith("---"):
        raise TaskError(f"{path}:1: the header that starts here is never closed by a line '---'")
    if header is None or not header[1].strip():
        return {}
    nodes = _plainyaml.parse(header[1], path, first_line=2).fields("the header", _FIELDS)
    return {key: _FIELDS[key](node) for key, node in nodes.items()}


def _name(node: YamlNode) -> str:
    name = node.text("the template's name")
    if any(part in name for part in ("[", "]", "::", "\n")):
        raise node.error(f"the name {name!r} must not contain '[', ']' or '::'")
    return name


def _variables(node: YamlNode) -> dict[str, Any]:
    variables: dict[str, Any] = {}
    for key, value in node.fields("variables").items():
        if key == "task" or not key.isidentifier():
            raise value.error(f"{key!r} cannot be the name of a variable; give another")
        variables[key] = value.value()
    return variables


def _times(node: YamlNode) -> int:
    times = node.value()
    if type(times) is not int or not 1 <= times <= _MOST_TIMES:
        raise node.error(f"{times!r} is not a whole number from 1 to {_MOST_TIMES}")
    return times


def _causes(node: YamlNode) -> tuple[Cause, ...]:
    causes: list[Cause] = []
    for item in node.items("helps"):
        name = item.text("a cause of failure")
        if name not in CAUSES:
            raise item.error(f"{name!r} is not a cause of failure{nearest(name, CAUSES)}")
        causes.append(name)
    return tuple(causes)


_FIELDS: Mapping[str, Callable[[YamlNode], Any]] = {
    "name": _name,
    "variables": _variables,
    "max_tokens_times": _times,
    "programs": _times,
    "helps": _causes,
    "first": lambda node: node.text("the first request"),
}
"""The keys of the header, each a field of `Template`, with the function that reads its value."""
