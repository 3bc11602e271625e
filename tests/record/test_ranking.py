"""Templates against each other: from the record, and as the summary and the page show them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pytest_promptse.record._queries import Series, best_in, gap, remarks, victories
from pytest_promptse.record._ranking import rank_templates
from pytest_promptse.reports import _markdown
from pytest_promptse.reports._formatting import MINUS
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


SURE = {"short": [0.9] * 12, "long": [0.8] * 12, "vague": [0.1, 0.3] * 6}


def shown(record, *, width=80, verbosity=0):
    return render(record, width=width, colours=False, verbosity=verbosity)


def test_one_ranking_over_all_suites_of_a_model(ask, record):
    [ranking] = ask(**SURE).rankings
    assert ranking.model == "tiny"
    assert ranking.suites == [record.suites[0].id]
    assert [one.template for one in ranking.templates] == ["short", "long", "vague"]
    assert ranking.n_tasks == 12
    assert [one.pareto for one in ranking.templates] == [True, False, False]


def test_without_templates_or_with_one_there_is_nothing_to_rank(ask, record):
    assert rank_templates(record) == []
    assert ask(short=[1.0, 0.5]).rankings == []


def test_a_solved_task_takes_what_an_attempt_takes_over_the_share_that_solve(ask):
    [ranking] = ask(half=[0.5] * 4, never=[0.0] * 4).rankings
    assert [one.tokens_per_solved for one in ranking.templates] == [80.0, None]
    assert [one.cost_per_solved for one in ranking.templates] == [None, None]
    [ranking] = ask(price=(1.0, 10.0), half=[0.5] * 4, never=[0.0] * 4).rankings
    assert ranking.templates[0].cost_per_solved == pytest.approx(130e-6 / 0.5)


def test_a_gap_is_seen_from_the_template_and_not_from_the_best(ask):
    [ranking] = ask(**SURE).rankings
    assert best_in(ranking, "pass_at_1") == "short"
    own = gap(ranking, "vague", "pass_at_1")
    assert own.difference == pytest.approx(-0.7)
    low, high = own.ci95
    assert low < -0.7 < high
    assert own.significant
    assert gap(ranking, "short", "pass_at_1").difference is None


def test_what_seldom_solves_anything_is_no_measure_of_steadiness(ask):
    [ranking] = ask(good=[0.9] * 12, idle=[0.1] * 12).rankings
    steady = [
        replace(one, auc_e=0.99 if one.template == "idle" else 0.9) for one in ranking.templates
    ]
    differences = [
        replace(one, better="idle", real=True) if one.metric == "auc_e" else one
        for one in ranking.differences
    ]
    ranking = replace(ranking, templates=steady, differences=differences)
    assert best_in(ranking, "auc_e") == "good"
    assert victories(ranking, "auc_e") == []


def test_victories_name_who_is_better_than_whom(ask):
    [ranking] = ask(**SURE).rankings
    assert victories(ranking, "pass_at_1") == [
        (["short"], ["long", "vague"]),
        (["long"], ["vague"]),
    ]
    assert victories(ranking, "auc_e") == []


def test_few_tasks_and_no_difference_are_said(ask):
    [ranking] = ask(a=[1.0, 0.5], b=[0.5, 1.0]).rankings
    none, few = remarks(ranking)
    assert none.startswith("No difference is significant")
    assert few.startswith("With 2 tasks no difference can be significant")


def test_what_is_steady_because_it_solves_nothing_is_said(ask):
    made = ask(good=[0.9] * 12, idle=[0.0] * 12)
    [remark] = remarks(made.rankings[0])
    assert remark.startswith("idle: pass@1 is less than half of the best.")


def test_uneven_sampling_is_said(ask):
    made = ask(a=[1.0, 0.5], b=[0.5, 1.0])
    last = replace(made.tasks[-1], original=replace(made.tasks[-1].original, n=64))
    [ranking] = rank_templates(replace(made, tasks=[*made.tasks[:-1], last]))
    assert any("different numbers of samples" in remark for remark in remarks(ranking))


def test_the_summary_ranks_and_names_what_is_real(ask):
    text = shown(ask(**SURE))
    assert "tiny with 3 templates" in text
    assert "templates, over 12 tasks" in text
    assert "◆ short" in text
    assert "  long" in text
    assert "significant: pass@1: short better than long, vague; long better than vague" in text
    assert f"{MINUS}0.70*" in text
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


def test_quiet_names_the_pareto_set(ask):
    text = shown(ask(**SURE), verbosity=-1)
    assert "templates of tiny: Pareto set short" in text
    assert "significant: pass@1: short better than" in text


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(ask, width):
    text = shown(ask(**{f"{'long_' * 20}{name}": own for name, own in SURE.items()}), width=width)
    assert max(map(len, text.splitlines())) <= width


def test_prices_are_shown_where_they_are_known(ask):
    assert "tokens per solved" in shown(ask(**SURE))
    assert "cost per solved" in shown(ask(price=(1.0, 10.0), **SURE))


def test_markdown_and_page_have_the_ranking(ask):
    made = ask(**SURE)
    text = _markdown.render(made)
    assert "Templates of `tiny` over 12 tasks:" in text
    assert "- **significant**: pass@1: `short` better than `long`, `vague`" in text
    page = _html.render(made)
    assert '<section id="templates">' in page
    assert "<strong>Real in pass@1:</strong> short better than long, vague" in page


def test_a_series_is_named_by_model_and_template():
    assert Series("tiny", "short").label == "tiny · short"
