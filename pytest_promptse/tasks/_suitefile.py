"""Suites without Python: ``*.promptse.yaml`` files of tasks with examples or a check.

.. code-block:: yaml

    promptse: 1
    settings: {min_auc_e: 0.6}
    tasks:
      - id: title-case
        prompt: Write `title_case(text)`, which makes each word start with a capital.
        reference: |
          def title_case(text):
              return " ".join(word.capitalize() for word in text.split(" "))
        examples:
          - {call: title_case("a b"), expect: A B}
          - {call: title_case(None), raises: AttributeError}
      - id: corners
        prompt: Write `corners(n)`, the set of the corners of a square of side n at the origin.
        check: |
          assert candidate(1) == {(0, 0), (0, 1), (1, 0), (1, 1)}
      - id: slug
        prompt: Write a TypeScript function `slugify(title: string): string`.
        check: slug.test.ts
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_promptse._suggestions import nearest
from pytest_promptse.config._options import LANGUAGES
from pytest_promptse.errors import TaskError
from pytest_promptse.runtimes._check_files import CheckFile, read_check_file
from pytest_promptse.runtimes._detect import language_of_prompt
from pytest_promptse.tasks import _plainyaml
from pytest_promptse.tasks._example import UNSET, Example
from pytest_promptse.tasks._task import Task

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_promptse.tasks._plainyaml import YamlNode

FORMAT = 1
_FILE_KEYS = ("promptse", "settings", "tasks")
_TASK_KEYS = ("id", "prompt", "entry_point", "language", "reference", "examples", "check")
# Python of this form does nothing.
_FILE_NAME = re.compile(r"[\w./-]+\.\w+")
_EXAMPLE_KEYS = ("call", "expect", "expect_code", "raises", "approx")


@dataclass(frozen=True, kw_only=True)
class SuiteFile:
    """The content of a suite file.

    Attributes
    ----------
    path
        The file.
    tasks
        Its tasks.
    settings
        The mark keywords in the file, not validated yet.
    settings_line
        The line of the settings, for errors about one of them.
    task_lines
        The line of each task, by its id.
    """

    path: Path
    tasks: tuple[Task, ...]
    settings: Mapping[str, Any]
    settings_line: int
    task_lines: Mapping[str, int]


def load_suite(path: Path, *, language: str = "") -> SuiteFile:
    """Read a suite file.

    Values follow the core schema of YAML 1.2, so ``no``, ``12:30`` and ``2024-01-01`` are text.

    Parameters
    ----------
    path
        The file, in UTF-8 with or without a byte order mark.
    language
        The language of tasks if neither they nor the file's settings give one.

    Raises
    ------
    TaskError
        If the file cannot be read or does not follow the format. The message names the file and
        line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(f"{path}:1: not UTF-8 text ({error.reason}); save it as UTF-8") from None
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}; check the path") from None
    document = _plainyaml.parse(text, path)
    fields = document.fields("a suite file", _FILE_KEYS)
    _check_format(document, fields.get("promptse"))
    settings = fields.get("settings")
    keywords = {} if settings is None else _settings(settings)
    if "tasks" not in fields:
        raise document.error("a suite file needs 'tasks', a list with at least one task")
    tasks, lines = _tasks(fields["tasks"], str(keywords.get("language") or language))
    return SuiteFile(
        path=path,
        tasks=tasks,
        settings=keywords,
        settings_line=document.line if settings is None else settings.line,
        task_lines=lines,
    )


def _check_format(document: YamlNode, version: YamlNode | None) -> None:
    if version is None:
        raise document.error(f"start a suite file with 'promptse: {FORMAT}', its format")
    number = version.value()
    if type(number) is not int or number != FORMAT:
        raise version.error(f"format {number!r} is not known here; write 'promptse: {FORMAT}'")


def _settings(place: YamlNode) -> dict[str, Any]:
    fields = place.fields("settings")
    if "language" in fields:
        _check_language(fields["language"])
    return {key: field.value() for key, field in fields.items()}


def _check_language(place: YamlNode) -> None:
    name = place.text("'language'")
    if name not in LANGUAGES:
        hint = nearest(name, LANGUAGES) or f"; there are {', '.join(LANGUAGES)}"
        raise place.error(f"there is no language {name!r}{hint}")


def _tasks(place: YamlNode, language: str) -> tuple[tuple[Task, ...], dict[str, int]]:
    tasks: list[Task] = []
    lines: dict[str, int] = {}
    for item in place.items("tasks"):
        task = _task(item, language)
        if task.id in lines:
            raise item.error(
                f"the task id {task.id!r} is taken by line {lines[task.id]}; give another"
            )
        lines[task.id] = item.line
        tasks.append(task)
    return tuple(tasks), lines


def _task(place: YamlNode, language: str) -> Task:
    fields = place.fields("a task", _TASK_KEYS)
    for key in ("id", "prompt"):
        if key not in fields:
            raise place.error(f"the task needs {key!r}")
    if ("examples" in fields) == ("check" in fields):
        raise place.error("the task needs either 'examples' or 'check', and not both")
    texts = {
        key: fields[key].text(f"the task's {key!r}")
        for key in ("id", "prompt", "entry_point", "language", "reference")
        if key in fields
    }
    if "language" in texts:
        _check_language(fields["language"])
    language = texts.get("language", "") or language or language_of_prompt(texts["prompt"])
    check_file = _check_file(fields["check"], language) if "check" in fields else None
    if "reference" in texts and language in ("", "python") and check_file is None:
        _parse_python(fields["reference"], texts["reference"])
    examples = (
        tuple(_example(item) for item in fields["examples"].items("examples"))
        if "examples" in fields
        else ()
    )
    tests = _check_function(fields["check"]) if "check" in fields and not check_file else None
    try:
        return Task(
            id=texts["id"],
            prompt=texts["prompt"],
            entry_point=texts.get("entry_point", ""),
            reference=texts.get("reference"),
            examples=examples,
            tests=tests,
            language=language,
            check_file=check_file,
        )
    except TaskError as error:
        raise place.error(str(error)) from None


def _example(place: YamlNode) -> Example:
    fields = place.fields("an example", _EXAMPLE_KEYS)
    if "call" not in fields:
        raise place.error("the example needs 'call', as in call: name(1, 2)")
    answers = [key for key in ("expect", "expect_code", "raises") if key in fields]
    if len(answers) != 1:
        raise place.error("the example needs one of 'expect', 'expect_code' and 'raises'")
    expect: Any = UNSET
    if "expect" in fields:
        expect = fields["expect"].value()
    elif "expect_code" in fields:
        expect = _literal(fields["expect_code"])
    call = fields["call"].text("the example's 'call'")
    raises = fields["raises"].text("the example's 'raises'") if "raises" in fields else None
    approx = _approx(fields)
    try:
        return Example(call=call, expect=expect, raises=raises, approx=approx)
    except TaskError as error:
        raise place.error(str(error), line=fields["call"].line) from None


def _approx(fields: Mapping[str, YamlNode]) -> float | None:
    if "approx" not in fields:
        return None
    value = fields["approx"].value()
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise fields["approx"].error(f"approx must be a number, not {value!r}")
    return float(value)


def _literal(place: YamlNode) -> Any:
    # Most unquoted literals are valid YAML values of another type, so the source text is read.
    node = place.node
    source = node.value if isinstance(getattr(node, "value", None), str) else None
    if source is None:
        raise place.error("expect_code must be text; quote it, as in expect_code: '{1, 2}'")
    try:
        return ast.literal_eval(source.strip())
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise place.error(
            f"expect_code {source.strip()!r} is not a Python literal; for a computed value use "
            "a check"
        ) from None


def _check_file(place: YamlNode, language: str) -> CheckFile | None:
    """Return the check file that a task names, or None if its check is Python."""
    name = place.text("the task's 'check'").strip()
    if not _FILE_NAME.fullmatch(name):
        return None
    try:
        return read_check_file(place.path.parent / name, language=language)
    except TaskError as error:
        raise place.error(str(error)) from None


def _check_function(place: YamlNode) -> str:
    source = place.text("the task's 'check'")
    tree = _parse_python(place, source)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used = [name for name in ("candidate", "program") if name in names]
    if len(used) != 1:
        raise place.error(
            "the check uses both 'candidate' and 'program'; take one of them"
            if used
            else "the check never uses 'candidate', so every program would pass it"
        )
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Compare):
            raise place.error(
                f"{ast.unparse(node)!r} compares without 'assert', so every program would pass it; "
                "write 'assert' before it",
                line=place.code_line(node.lineno),
            )
    # Built from the tree, since indenting the text would change what is in multi-line strings.
    function = ast.parse(f"def check({used[0]}): pass")
    [definition] = (node for node in function.body if isinstance(node, ast.FunctionDef))
    definition.body = tree.body
    try:
        compile(function, str(place.path), "exec")
    except SyntaxError as error:
        raise _python_error(place, error) from None
    return ast.unparse(function)


def _parse_python(place: YamlNode, source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise _python_error(place, error) from None
    except ValueError as error:
        raise place.error(f"not Python: {error}") from None


def _python_error(place: YamlNode, error: SyntaxError) -> TaskError:
    return place.error(f"not Python: {error.msg}", line=place.code_line(error.lineno or 1))
