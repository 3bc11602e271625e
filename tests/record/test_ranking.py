"""Templates against each other: from the record, and as the summary and the page show them."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from pytest_promptse.record._queries import Series
from pytest_promptse.record._ranking import rank_templates
from pytest_promptse.reports import _markdown
from pytest_promptse.reports._ranking import decision, remarks
from pytest_promptse.reports.html import _html
from pytest_promptse.reports.terminal._summary import render


@pytest.fixture
def ask(record):
    """The record's suite with several templates, each with the pass rates of its originals."""

    def ask(price=None, **rates):
        [task, suite] = [record.tasks[0], record.suites[0]]
        suites, tasks = [], []
        for name, own in rates.items():
            suites.append(replace(suite, template=name, verdict=None, gates=[], n_tasks=len(own)))
            for number, rate in enumerate(own):
                original = replace(
                    task.original,
                    pass_rate=rate,
                    score=rate,
                    prompt_tokens=30,
                    completion_tokens=10,
                )
                variants = [
                    replace(v, distance=d, id=f"d{d}", pass_rate=rate, score=rate, excess=0.0)
                    for v, d in zip(task.variants, (0.1, 0.2, 0.3), strict=False)
                ]
                tasks.append(
                    replace(
                        task, id=f"t{number}", template=name, original=original, variants=variants
                    )
                )
        changed = replace(
            record, suites=suites, tasks=tasks, subgroups=[], settings={"price": price}
        )
        return replace(changed, rankings=rank_templates(changed))

    return ask


SURE = {"short": [0.9] * 12, "long": [0.6] * 12, "vague": [0.1, 0.3] * 6}


def shown(record, *, width=80, verbosity=0):
    return render(record, width=width, colours=False, verbosity=verbosity)


def entries(ranking):
    return {entry.name: entry for entry in ranking.entries}


def test_one_ranking_over_all_suites_of_a_model(ask, record):
    [ranking] = ask(**SURE).rankings
    assert ranking.model == "tiny"
    assert ranking.suites == [record.suites[0].id]
    # No template drops, and each solves separately fewer variants than the one before it.
    assert [entry.name for entry in ranking.entries] == ["short", "long", "vague"]
    assert [entry.standing for entry in ranking.entries] == ["first", *["solves fewer"] * 2]
    assert ranking.n_tasks == 12
    assert [entry.pareto for entry in ranking.entries] == [True, False, False]


def test_without_templates_or_with_one_there_is_nothing_to_rank(ask, record):
    assert rank_templates(record) == []
    assert ask(short=[1.0, 0.5]).rankings == []


@pytest.mark.parametrize(("mode", "auc_e"), [("promptse", 0.8), ("light", 1.0)])
def test_templates_are_ranked_by_the_elasticity_of_the_mode(ask, mode, auc_e):
    made = ask(a=[0.5], b=[0.5])
    # The light elasticity compares the mean of the variants, so that opposite changes cancel.
    tasks = [
        replace(
            task,
            variants=[
                replace(v, id=f"{v.id} {rate}", pass_rate=rate, score=rate)
                for v in task.variants
                for rate in (0.3, 0.7)
            ],
        )
        for task in made.tasks
    ]
    suites = [replace(suite, mode=mode) for suite in made.suites]
    [ranking] = rank_templates(replace(made, tasks=tasks, suites=suites))
    assert ranking.mode == mode
    assert [entry.figures["auc_e"] for entry in ranking.entries] == pytest.approx([auc_e] * 2)


def test_a_solved_task_takes_what_an_attempt_takes_over_the_share_that_solve(ask):
    [ranking] = ask(half=[0.5] * 4, never=[0.0] * 4).rankings
    costs = {name: entry.tokens_per_solved for name, entry in entries(ranking).items()}
    assert costs == {"half": 80.0, "never": None}
    assert {entry.cost_per_solved for entry in ranking.entries} == {None}
    [ranking] = ask(price=(1.0, 10.0), half=[0.5] * 4, never=[0.0] * 4).rankings
    assert entries(ranking)["half"].cost_per_solved == pytest.approx(130e-6 / 0.5)


def test_uneven_sampling_is_said(ask):
    made = ask(a=[1.0, 0.5], b=[0.5, 1.0])
    assert not made.rankings[0].uneven
    *tasks, last = made.tasks
    *variants, variant = last.variants
    for more in (
        replace(last, original=replace(last.original, n=64)),
        replace(last, variants=[*variants, replace(variant, n=64)]),
    ):
        [ranking] = rank_templates(replace(made, tasks=[*tasks, more]))
        assert ranking.uneven
        assert any("different numbers of samples" in remark for remark in remarks(ranking))


def test_the_sentence_that_decides_says_what_is_solved_more(ask):
    [ranking] = ask(**SURE).rankings
    assert decision(ranking).startswith(
        "Take short: it solves 0.300 more of the reworded prompts than long (0."
    )


def dropping(made, **drops):
    """Let the variants of each template pass less often by its drop, the same in every task."""
    tasks = [
        replace(
            task,
            original=replace(task.original, n=64),
            variants=[
                replace(v, n=64, pass_rate=task.original.pass_rate - drops[task.template])
                for v in task.variants
            ],
        )
        for task in made.tasks
    ]
    made = replace(made, tasks=tasks)
    return replace(made, rankings=rank_templates(made))


def test_the_sentence_that_decides_says_what_is_dropped_less(ask):
    made = ask(guard=[0.8] * 40, plain=[0.95] * 40, old=[0.9] * 40)
    [ranking] = dropping(made, guard=0.0, plain=0.15, old=0.1).rankings
    text = decision(ranking)
    assert text.startswith("Take guard: it drops 0.100 less than the next, old (0.0")
    assert text.endswith(").")
    [two] = rank_templates(
        replace(
            made,
            tasks=[
                task
                for task in dropping(made, guard=0.0, plain=0.15, old=0.1).tasks
                if task.template != "old"
            ],
            suites=[suite for suite in made.suites if suite.template != "old"],
        )
    )
    assert decision(two).startswith("Take guard: it drops 0.150 less than plain (0.")


def test_an_open_order_is_called_undecided_with_what_would_decide_it(ask):
    rates = [0.5, 0.9] * 6
    [ranking] = dropping(ask(a=rates, b=rates), a=0.01, b=0.02).rankings
    assert re.fullmatch(
        r"Undecided between a and b: b drops 0\.010 more than a \(−0\.\d+ to 0\.\d+\)\. "  # noqa: RUF001
        r"About [\d,]+ tasks would decide between them\.",
        decision(ranking),
    )
    [equal] = ask(a=rates, b=rates).rankings
    assert decision(equal).startswith("Undecided between a and b: their drops are equal. No pract")
    [alone] = ask(a=[0.5], b=[0.5]).rankings
    assert decision(alone) == (
        "Undecided between a and b: their drops are equal. One task does not show how others "
        "behave."
    )


def test_a_stable_template_that_solves_less_is_named_with_what_it_drops_less(ask):
    made = ask(good=[0.9] * 40, weak=[0.3] * 40)
    [ranking] = dropping(made, good=0.1, weak=0.0).rankings
    assert [entry.name for entry in ranking.entries] == ["good", "weak"]
    assert decision(ranking).endswith("), although that drops 0.100 less.")


def test_the_summary_ranks_and_names_what_is_separated(ask):
    text = shown(ask(**SURE))
    assert "tiny with 3 templates" in text
    assert "Templates of tiny, over 12 tasks" in text
    assert "Take short: it solves 0.300 more" in text
    titles = next(line.split() for line in text.splitlines() if line.startswith("template  "))
    assert titles == [
        *["template", "◆", "order", "reworded", "drop", "AUC-E", "pass@1"],
        *["tokens", "per", "solved"],
    ]
    rows = [line.split() for line in text.splitlines()]
    assert ["short", "◆"] in [row[:2] for row in rows]
    assert ["long", "short"] in [row[:2] for row in rows]
    assert "where" not in text
    assert "tiny with template vague" not in text


def test_a_harmful_variant_is_named_with_its_template(ask):
    made = ask(**SURE)
    worse = [replace(v, pass_rate=0.0) for v in made.tasks[0].variants]
    made = replace(made, tasks=[replace(made.tasks[0], variants=worse), *made.tasks[1:]])
    assert "  short t0 d0.1" in shown(made)


def test_verbose_shows_each_template_alone_too(ask):
    text = shown(ask(**SURE), verbosity=1)
    for name in SURE:
        assert f"tiny with template {name}" in text


def test_quiet_shows_the_sentence_that_decides(ask):
    assert "templates of tiny: Take short: it solves" in shown(ask(**SURE), verbosity=-1)


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(ask, width):
    text = shown(ask(**{f"{'long_' * 20}{name}": own for name, own in SURE.items()}), width=width)
    assert max(map(len, text.splitlines())) <= width


def test_prices_are_shown_where_they_are_known(ask):
    assert "tokens per solved" in shown(ask(**SURE), width=100)
    assert "cost per solved" in shown(ask(price=(1.0, 10.0), **SURE), width=100)


def test_markdown_and_page_have_the_ranking(ask):
    made = ask(a=[0.5, 0.9] * 6, b=[0.5, 0.9] * 6, c=[0.1, 0.2] * 6)
    text = _markdown.render(made)
    assert "**Templates of `tiny`: Undecided between `a` and `b`: their drops are equal. " in text
    assert "| template | ◆ | order | reworded | drop | AUC-E | pass@1 | tokens per solved |" in text
    assert "| `undecided` |" in text
    page = _html.render(made)
    assert '<section id="templates">' in page
    assert "Undecided between a and b: their drops are equal. No pr" in page
    assert "<td>undecided</td>" in page
    assert "squared" in page


def test_a_series_is_named_by_model_and_template():
    assert Series("tiny", "short").label == "tiny · short"
