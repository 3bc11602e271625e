"""What the docs import is public, and everything public can be imported."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    path
    for pattern in ("*.md", "docs/**/*.md", "docs/**/*.py", "example_suites/**/*")
    for path in ROOT.glob(pattern)
    if path.suffix in (".md", ".py") and path.name not in ("CONTRIBUTING.md", "conf.py")
]
# Names in prose and in Sphinx's directives, as in `pytest_promptse.models.Backend`.
DOTTED = re.compile(r"(?<![\w/])pytest_promptse((?:\.\w+)+)")


# Modules without an underscore: users and plugin authors import from them.
PUBLIC_MODULES = {
    "pytest_promptse.errors",
    "pytest_promptse.hookspecs",
    "pytest_promptse.tasks.humaneval",
    "pytest_promptse.tasks.multipl_e",
}
# These run in the jail, which receives them by folder and name.
GUEST = "pytest_promptse.sandbox.guest"


def modules_in(package):
    """Return the dotted names of all modules in a package, and those of its packages apart."""
    names = [
        ".".join(path.relative_to(package.parent).with_suffix("").parts)
        for path in package.rglob("*.py")
    ]
    packages = {name.removesuffix(".__init__") for name in names if name.endswith(".__init__")}
    return {name for name in names if not name.endswith(".__init__")}, packages


def without_underscore(modules):
    """Return the modules whose name says that they are public."""
    return {
        name
        for name in modules
        if not name.rpartition(".")[2].startswith("_") and not name.startswith(f"{GUEST}.")
    }


MODULES, PACKAGES = modules_in(ROOT / "pytest_promptse")
PUBLIC = {
    f"{module}.{name}"
    for module in PUBLIC_MODULES | PACKAGES
    for name in getattr(importlib.import_module(module), "__all__", ())
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
        assert isinstance(node, ast.ImportFrom)
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_only_public_modules_have_no_underscore():
    assert without_underscore(MODULES) == PUBLIC_MODULES


def test_a_new_module_without_underscore_is_found(tmp_path):
    package = tmp_path / "pytest_promptse"
    for name in ("__init__", "errors", "variants/__init__", "variants/_rules", "variants/rules"):
        path = package / f"{name}.py"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.touch()
    modules, packages = modules_in(package)
    assert without_underscore(modules) - PUBLIC_MODULES == {"pytest_promptse.variants.rules"}
    assert packages == {"pytest_promptse", "pytest_promptse.variants"}


@pytest.mark.parametrize("module", sorted(PUBLIC_MODULES))
def test_a_public_module_defines_no_other_public_names(module):
    source = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    names = {
        name
        for node in ast.parse(source).body
        for name in defined_by(node)
        if not name.startswith("_")
    }
    assert names == set(importlib.import_module(module).__all__)


def defined_by(statement):
    """Return the names that a statement at the top level of a module defines."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def test_the_reference_documents_all_public_names_and_no_others():
    pages = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("docs/reference/*.md"))
    named = {
        f"pytest_promptse.{path}"
        for paths in re.findall(r"^<!-- from code: api (.+) -->$", pages, re.MULTILINE)
        for path in paths.split()
    }
    # A module in `__all__` of its package stands in the reference as its names.
    assert named | PUBLIC_MODULES == PUBLIC | PUBLIC_MODULES


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


def test_the_plugin_whose_types_are_checked_has_every_hook():
    specified, implemented = (
        {
            name
            for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body
            for name in defined_by(node)
            if name.startswith("pytest_promptse_")
        }
        for path in ("pytest_promptse/hookspecs.py", "tests/data/typed_plugin.py")
    )
    assert specified == implemented
