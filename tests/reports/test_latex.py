"""Tables for LaTeX. No text in them is a command, a comment or the end of a cell."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from record_builders import falling, flat, make_run, with_estimates

from pytest_promptse.errors import RecordError
from pytest_promptse.reports import _latex

TEXTS = st.text(st.sampled_from("\\{}&%$#_~^<>|\n ab\N{EN DASH}\N{MINUS SIGN}Δ"), max_size=20)


@given(st.lists(TEXTS, min_size=2, max_size=2))
def test_a_text_stays_within_its_cell(cells):
    text = _latex.tabular(["a", "b"], [cells], is_text=[True, True])
    [row] = text.splitlines()[4:-2]
    # What is left without the commands and marks that stand for a character is plain.
    plain = re.sub(r"\\text[a-z]+\{\}|\\[{}&%$#_]|\$(?:-|\\[A-Za-z]+)\$", "", row)
    assert plain.count(" & ") == 1
    assert plain.endswith(r" \\")
    assert not set("\\{}%$#_~^<>|") & set(plain.removesuffix(r" \\"))


def test_a_note_is_one_comment():
    text = _latex.tabular(["a"], [], is_text=[True], notes=["first\n\\input{x}"])
    assert text.splitlines()[0] == r"% first \input{x}"


def test_a_report_has_a_row_for_each_suite(tmp_path):
    record = make_run("alpha_7b", {"one": falling(1.0, 0.5, 0.0), "two": flat(1.0)}).record
    [suite] = record.suites
    suite = replace(suite, elasticity={"0.1": 0.9, "0.3": None})
    record = replace(record, suites=[with_estimates(suite, pass_at_1=0.5, auc_e=0.75)])
    path = tmp_path / "paper" / "suites.tex"
    _latex.write(record, path)
    lines = path.read_text().splitlines()
    head = lines.index(r"\toprule") + 1
    assert lines[head].startswith(r"suite & pass@1 & E(0.1) & E(0.3) & AUC-E & 95 \% & ")
    row = lines[lines.index(r"\midrule") + 1]
    assert "& 0.500 & 0.900 & -- & 0.750 &" in row
    assert lines[head].count("&") == row.count("&")


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="latex:"):
        _latex.write(make_run("a", {"one": flat(1.0)}).record, tmp_path / "file" / "suites.tex")
