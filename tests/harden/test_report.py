from __future__ import annotations

from dataclasses import replace as changed_fields

import pytest
from msgspec.structs import replace
from record_builders import make_record, make_suite, make_task

from pytest_promptse.harden._candidates import load_candidates
from pytest_promptse.harden._report import diagnosis, in_words, paste_lines, sections_of
from pytest_promptse.harden._search import UNTOUCHED, Hardening, PairedGains
from pytest_promptse.record._ranking import rank_templates
from pytest_promptse.reports._cells import written
from pytest_promptse.scoring._paired_gain import Gain


def measured(rates):
    """A record of one task with the pass rates of its variants by template."""
    tasks = [
        make_task("t", 1.0, {0.1: [1.0], 0.2: [rate], 0.3: [rate]}, template=name)
        for name, rate in rates.items()
    ]
    curve = dict.fromkeys(("0.1", "0.2", "0.3"), 0.9)
    record = make_record(
        *((replace(make_suite([task]), elasticity=curve), [task]) for task in tasks)
    )
    return replace(record, rankings=rank_templates(record))


GAINS = PairedGains(variants=Gain(0.4, 0.2, 0.6), originals=Gain(0.0, -0.1, 0.1))
FOUND = Hardening(
    result="mended",
    drop=Gain(0.5, 0.4, 0.6),
    winner="system",
    searched=GAINS,
    confirmed=GAINS,
    rounds=(((UNTOUCHED, "system", "contract"), 1),),
)


@pytest.fixture
def sections(tmp_path):
    records = [
        measured({UNTOUCHED: 0.5}),
        measured({UNTOUCHED: 0.5, "system": 1.0, "contract": 0.6}),
        measured({UNTOUCHED: 0.5, "system": 0.9}),
    ]
    lines = list(paste_lines(FOUND, "hardened/system.j2", model="m", tests=["a b.py"]))
    made = sections_of(FOUND, records, load_candidates([], tmp_path), lines=lines)
    return {section.name: section for section in made}


def cells(section, number=0):
    table = section.tables[number]
    return [
        [written(cell, column.kind) for cell, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]


def test_the_diagnosis_says_how_much_and_where():
    lines = diagnosis(measured({UNTOUCHED: 0.5}), FOUND)
    assert lines[0] == "Reworded, the prompts lose +0.50 (+0.40 to +0.60) of their pass rate"
    assert lines[-1].startswith("Where: ")


def test_the_front_has_every_candidate_of_the_search(sections):
    rows = cells(sections["front"])
    assert {row[0].removeprefix("◆").strip() for row in rows} == {UNTOUCHED, "system", "contract"}
    assert rows[0][0] == "◆ system"


def test_search_and_confirmation_stand_beside_each_other(sections):
    assert [row[0] for row in cells(sections["gain"])] == ["search"] * 2 + ["confirmation"] * 2
    assert ["d0.2", "0.500", "0.900"] in cells(sections["before-and-after"])
    trade = [row[:3] for row in cells(sections["trade"])]
    assert ["pass@1", "1.000", "1.000"] in trade
    assert ["drop", "0.333", "0.067"] in trade


def test_the_template_is_shown_as_a_difference_from_the_prompt(sections):
    assert "+++ hardened/system.j2" in sections["template"].blocks[0].text
    assert "pytest --promptse-model m --promptse-template hardened/system.j2 'a b.py'" in (
        sections["paste"].blocks[0].text
    )


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "system is confirmed: "),
        ({"result": "nothing to mend", "winner": None}, "nothing to mend: no loss beyond chance"),
        ({"result": "no candidate helps", "winner": None}, "no candidate helps: "),
        ({"result": "not confirmed"}, "system is not recommended: the original's"),
        (
            {
                "result": "not confirmed",
                "confirmed": PairedGains(variants=Gain(0.1, -0.1, 0.3), originals=Gain(0, 0, 0)),
            },
            "system is not confirmed: ",
        ),
    ],
)
def test_each_result_is_one_sentence(changed, words):
    assert in_words(changed_fields(FOUND, **changed)).startswith(words)


def test_only_a_confirmed_template_has_lines_to_paste():
    other = changed_fields(FOUND, result="not confirmed")
    assert list(paste_lines(other, "x.j2", model="m", tests=["t"])) == []
