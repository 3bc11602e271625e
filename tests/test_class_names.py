"""One class name has one meaning in the whole package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pytest_promptse"


def repeated_class_names(folder):
    """Return the places of public classes whose name occurs more than once below `folder`."""
    places = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path.relative_to(folder)}:{node.lineno}")
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_two_public_classes_have_the_same_name():
    assert repeated_class_names(PACKAGE) == {}


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("class Span: ...", {"Span": ["a.py:1", "b.py:1"]}),
        ("def f():\n    class Span: ...", {"Span": ["a.py:1", "b.py:2"]}),
        ("class Other: ...", {}),
        ("class _Span: ...", {}),
    ],
)
def test_a_repeated_name_is_found(tmp_path, second, expected):
    (tmp_path / "a.py").write_text("class Span: ...\nclass _Span: ...\n")
    (tmp_path / "b.py").write_text(second)
    assert repeated_class_names(tmp_path) == expected
