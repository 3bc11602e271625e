"""No module outside `psychometrics/` names an instrument of this package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "pytest_promptse"
NAMES = re.compile(
    r"psychometric|\bcsi\b|core.sentiment|emotion.?bench|manipulation", re.IGNORECASE
)
SUFFIXES = {".py", ".j2", ".js", ".css"}


def lines_with_names(folder):
    return [
        f"{path.relative_to(folder)}:{number}"
        for path in sorted(folder.rglob("*"))
        if path.suffix in SUFFIXES and "psychometrics" not in path.relative_to(folder).parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if NAMES.search(line)
    ]


def test_nothing_outside_the_package_of_an_instrument_names_it():
    assert lines_with_names(PACKAGE) == []


@pytest.mark.parametrize(
    "line", ["from pytest_promptse.psychometrics import x", "# as EmotionBench", "kind == 'csi'"]
)
def test_a_name_is_found(tmp_path, line):
    (tmp_path / "a.py").write_text(line)
    (tmp_path / "psychometrics").mkdir()
    (tmp_path / "psychometrics" / "b.py").write_text(line)
    assert lines_with_names(tmp_path) == ["a.py:1"]
