"""What the docs import is public, and everything public can be imported."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import pytest_promptse

ROOT = Path(__file__).parents[1]
PAGES = [
    path
    for pattern in ("*.md", "docs/**/*.md", "docs/**/*.py", "example_suites/**/*")
    for path in ROOT.glob(pattern)
    if path.suffix in (".md", ".py") and path.name not in ("CONTRIBUTING.md", "conf.py")
]
# Names in prose and in Sphinx's directives, as in `pytest_promptse.models.Backend`.
DOTTED = re.compile(r"(?<![\w/])pytest_promptse((?:\.\w+)+)")


def public_modules():
    """Return the modules whose `__all__` is the public API: packages, hookspecs and errors."""
    names = ["pytest_promptse", "pytest_promptse.hookspecs", "pytest_promptse.errors"]
    names += [
        module.name
        for module in pkgutil.walk_packages(pytest_promptse.__path__, "pytest_promptse.")
        if module.ispkg and module.name != "pytest_promptse.sandbox.guest"
    ]
    return [name for name in names if hasattr(importlib.import_module(name), "__all__")]


PUBLIC = {
    f"{module}.{name}"
    for module in public_modules()
    for name in importlib.import_module(module).__all__
}


def imported_in(source: str):
    """Yield the dotted names that the import statements in a page import from this package."""
    lines = source.splitlines()
    for number, line in enumerate(lines):
        if not re.match(r"\s*from pytest_promptse[\w.]* import", line):
            continue
        statement = line.strip()
        for more in lines[number + 1 :]:
            if "(" not in statement or ")" in statement:
                break
            statement += more.strip()
        [node] = ast.parse(statement).body
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_public_name_can_be_imported(name):
    module, _, attribute = name.rpartition(".")
    try:
        getattr(importlib.import_module(module), attribute)
    except AttributeError:
        importlib.import_module(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_names_only_public_things(page):
    source = page.read_text(encoding="utf-8")
    named = set(imported_in(source))
    for match in DOTTED.finditer(source):
        name = f"pytest_promptse{match[1]}"
        if f"from {name} import" not in source:
            named.add(name)
    # Modules stand in the pages as places of the API, and members as parts of public names.
    modules = {name.rpartition(".")[0] for name in PUBLIC}
    unknown = {
        name
        for name in named - PUBLIC - modules
        if not any(name.startswith(f"{public}.") for public in PUBLIC)
    }
    assert unknown == set()


def test_the_public_api_is_found():
    assert {"pytest_promptse.Task", "pytest_promptse.models.Backend"} <= PUBLIC
    assert any(set(imported_in(page.read_text(encoding="utf-8"))) for page in PAGES)
