"""Tests in the language of a program, which run in the program's own process."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_promptse.runtimes._definitions import definition_of

_GO_HEAD = re.compile(r'^package .*$|^import \([^)]*\)|^import ".*"$', re.MULTILINE)
_GO_PACKAGE = re.compile(r'^\s*(?:import\s+)?("[\w/.]+")\s*$', re.MULTILINE)

_EXPORT = re.compile(
    r"^export\s+(?:default\s+)?(?=(?:async|function|class|const|let|var|enum)\b)", re.MULTILINE
)


@dataclass(frozen=True, kw_only=True)
class ProgramTests:
    """Tests that are appended to a program, which begins with the prompt.

    The verdict is the exit status of the whole. A program can end with the status of success
    before its tests, so it could forge the verdict.

    Parameters
    ----------
    language
        The language of the program.
    prompt
        The beginning of the program: its imports, a comment and the signature of the function.
    name
        The name of the function.
    text
        The tests. They begin with a closing brace if they end the function.
    stops
        Texts that end a continuation of the prompt.
    """

    language: str
    prompt: str
    name: str
    text: str
    stops: tuple[str, ...]

    def appended_to(self, program: str) -> str:
        """Return `program` with the tests.

        `program` has the whole function, or continues the prompt. Of a whole function, what
        precedes it is kept, as are the packages that it imports. What follows it is kept unless the
        tests end the function.
        """
        head, _, signature = self.prompt.rstrip().rpartition("\n")
        head = f"{head}\n" if head else ""
        # The last definition, since a declaration may precede it.
        definitions = list(definition_of(self.name, self.language).finditer(program))
        if definitions:
            start = definitions[-1].start()
            before, function = program[:start], program[start:].lstrip("\n")
            if self.language in ("javascript", "typescript"):
                # The tests are a script, in which nothing can be exported.
                before, function = _EXPORT.sub("", before), _EXPORT.sub("", function)
            if self.language == "go":
                head = _with_imports(head, before)
                before = _GO_HEAD.sub("", before)
            before = before.replace("<?php", "")
            head = f"{head}{before.strip()}\n" if before.strip() else head
            if self.text.lstrip().startswith("}"):
                # The closing brace of the function, which may be written in one line.
                end = function.find("\n}")
                if end < 0 and "\n" not in function.strip():
                    end = function.rfind("}")
                function = function[:end] if end >= 0 else function
        else:
            function = f"{signature}\n{_cut(program, self.stops)}"
        return f"{head}{function.rstrip()}\n{self.text}"


def _cut(text: str, stops: tuple[str, ...]) -> str:
    """Return `text` up to the first of the `stops`."""
    return text[: min((place for stop in stops if (place := text.find(stop)) >= 0), default=None)]


def _with_imports(head: str, before: str) -> str:
    """Add the packages that `before` imports to the imports of a Go file."""
    added = [name for name in _GO_PACKAGE.findall(before) if name not in head]
    return head.replace("import (\n", "\n    ".join(["import (", *added]) + "\n", 1)
