from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from pytest_promptse.plugin import _check_digest


def source_digest(modules, root):
    # Each call represents a session of its own.
    _check_digest._digest.cache_clear()
    return _check_digest.source_digest(modules, root)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose check imports a helper, which imports a constant from a package."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text("")
    (tmp_path / "shop" / "prices.py").write_text("TAX = 0.19\n")
    (tmp_path / "shop" / "totals.py").write_text("from . import prices\nfrom .prices import TAX\n")
    (tmp_path / "check_totals.py").write_text("import json\nfrom shop.totals import TAX\n")
    (tmp_path / "unrelated.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    names = ["check_totals", "unrelated"]
    for name in names:
        importlib.import_module(name)
    yield tmp_path
    for name in [*names, "shop", "shop.prices", "shop.totals"]:
        sys.modules.pop(name, None)


def test_an_untouched_project_keeps_its_digest(project):
    assert source_digest(["check_totals"], project) == source_digest(["check_totals"], project)


@pytest.mark.parametrize("touched", ["check_totals.py", "shop/totals.py", "shop/prices.py"])
def test_a_change_in_anything_the_check_imports_changes_the_digest(project, touched):
    before = source_digest(["check_totals"], project)
    with (project / touched).open("a") as file:
        file.write("# changed\n")
    assert source_digest(["check_totals"], project) != before


def test_a_change_elsewhere_does_not(project):
    before = source_digest(["check_totals"], project)
    (project / "unrelated.py").write_text("x = 2\n")
    assert source_digest(["check_totals"], project) == before


def test_installed_packages_do_not_count(project):
    assert source_digest(["pytest", "json"], project) == source_digest([], project)


def test_this_package_does_not_count_in_its_own_checkout():
    root = Path(_check_digest.__file__).parents[2]
    assert source_digest(["pytest_promptse.errors"], root) == source_digest([], root)


def test_where_the_project_lies_does_not_count(project):
    assert source_digest(["check_totals"], project) != source_digest(
        ["check_totals"], project / "shop"
    )
    assert source_digest(["unrelated"], project / "shop") == source_digest([], project)


def test_windows_line_ends_do_not_count(project):
    before = source_digest(["check_totals"], project)
    path = project / "check_totals.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert source_digest(["check_totals"], project) == before
