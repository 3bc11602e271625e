from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from pytest_promptse.record._figures import RoundsRecord
from pytest_promptse.record._schema import ErrorRecord, InvocationRecord
from pytest_promptse.reports._formatting import shortened, signed, sparkline
from pytest_promptse.reports.terminal._harmful import command, difference
from pytest_promptse.reports.terminal._summary import render
from pytest_promptse.scoring._scores import TaskDrop


def shown(record, *, width=100, verbosity=0) -> str:
    return render(record, width=width, colours=False, verbosity=verbosity)


def after_verdicts(text):
    """Return the summary without the verdicts in words that it begins with."""
    return text.partition("\n\n")[2]


def one(record, **changed):
    """The record with its first suite alone, changed."""
    return replace(record, suites=[replace(record.suites[0], **changed)])


def section(text: str, heading: str) -> list[str]:
    """The lines of one section, up to the next empty line."""
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(heading))
    return lines[start : lines.index("", start)]


def test_the_summary_of_nine_suites_fits_on_a_screen(record):
    worst, fine = record.suites
    subgroups = replace(
        record.subgroups[0],
        subgroups=[
            replace(subgroup, value=f"{subgroup.value}{n}")
            for subgroup in record.subgroups[0].subgroups
            for n in range(4)
        ],
    )
    suites = [worst, *(replace(fine, id=f"sub/test_slug.py::test_{n}") for n in range(8))]
    many = replace(record, suites=suites, subgroups=[subgroups])
    lines = shown(many, width=80).splitlines()
    assert len(lines) <= 25
    assert len(section("\n".join(lines), "most harmful variants")) == 1 + 3
    assert "run just these again" in shown(many, width=80, verbosity=1)


def failing_alike(record):
    """The record with its first suite alone, whose variants all fail by the same."""
    [task, *_] = record.tasks
    alike = [
        replace(variant, causes={"timeout": 7}, details={"timeout": "too slow"})
        for variant in task.variants
    ]
    called = InvocationRecord(directory="sub", options=["--promptse-model", "tiny"])
    return replace(one(record), tasks=[replace(task, variants=alike)], invocation=called)


def test_the_summary_of_one_suite_fits_on_a_screen_and_says_where_the_rest_is(record):
    lines = shown(failing_alike(record), width=80).splitlines()
    # The line of pytest above the summary takes one of 24.
    assert len(lines) <= 23
    [head] = [line for line in lines if line.startswith("most harmful variants")]
    assert head.endswith(", of 4 that lose (-v: all, by cause, emotion and persona)")
    assert not [line for line in lines if line.startswith(("why", "where"))]
    verbose = shown(record, width=80, verbosity=1)
    assert "-v" not in verbose
    assert section(verbose, "why")
    assert section(verbose, "where")


def test_what_all_harmful_variants_fail_by_is_said_once(record):
    lines = shown(failing_alike(record)).splitlines()
    assert [line for line in lines if "timeout" in line] == [
        "  each fails by 7 of 8 timeout: too slow"
    ]


def test_variants_that_were_not_needed_do_not_count_as_missing(record):
    ends = {"look": 1, "looks": 2, "decided": True, "n_variants": 4, "max_completions": 128}
    stopped = one(record, n_measured=4, rounds=RoundsRecord(**ends, completions=56))
    text = shown(stopped)
    assert "4 of at most 6 variants" in text
    assert "in rounds: 56 of at most 128 completions, 1 of 1 suites decided early" in text
    assert "(in part)" not in text
    cut_off = replace(stopped, suites=[replace(stopped.suites[0], n_measured=3)])
    assert "3 of 6 variants measured" in shown(cut_off)


@pytest.mark.parametrize("verbosity", [-1, 0, 1])
@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(record, width, verbosity):
    long = replace(
        record.suites[0],
        id=f"folder/{'long' * 20}/test_slug.py::test_{'very_' * 20}long",
        verdict="inconclusive",
        warnings=["words " * 40],
    )
    task = record.tasks[0]
    node = f"{'folder/' * 8}test_slug.py::test_slugify[{'x' * 60}]"
    variants = [replace(one, node=node) for one in task.variants]
    full = replace(record, suites=[long, *record.suites], tasks=[replace(task, variants=variants)])
    lines = shown(full, width=width, verbosity=verbosity).splitlines()
    assert max(map(cell_len, lines)) <= width


@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_the_narrowest_terminal_still_gets_a_summary(record, verbosity):
    assert "fail" in shown(record, width=30, verbosity=verbosity)


def test_a_suite_is_one_line_of_figures_with_its_verdict(record):
    text = shown(record)
    figures = r" +1\.00 +0\.90 +0\.80 +0\.70 ▇▅▄ 0\.800\* 0\.75–0\.85 +0\.98 +0\.82 +fail"  # noqa: RUF001
    assert re.search(r"^test_slugify" + figures + "$", text, re.MULTILINE)


def test_the_title_says_which_model_and_how_it_was_measured(record):
    assert after_verdicts(shown(record)).startswith(
        "tiny, mode promptse, weights by sum, 12 variants\n"
    )
    assert "5 of 6 variants measured" in shown(one(record, n_measured=5))


def test_the_columns_are_explained_under_their_table(record):
    lines = shown(record, width=80).splitlines()
    assert "noise: AUC-E of a perfectly stable model; light: AUC-E from pass rates alone" in lines
    assert "light: " not in shown(one(record, mode="light"), width=80)
    assert "noise: " not in shown(one(record, estimates={}))


def test_only_what_exceeds_noise_has_a_star(record):
    [slugify, fine] = re.findall(r"^test_.*", after_verdicts(shown(record)), re.MULTILINE)
    assert "0.800*" in slugify
    assert "0.800 " in fine


def test_each_model_has_sections_of_its_own(record):
    other = replace(record.suites[0], model="ct2:big", template="team.md")
    text = shown(replace(record, suites=[*record.suites, other]))
    assert "\ntiny, mode" in "\n" + text
    assert "\nct2:big with template team.md, mode" in text


def test_mode_light_has_no_light_twin_beside_it(record):
    assert "light" in after_verdicts(shown(record)).splitlines()[1]
    assert "light" not in after_verdicts(shown(one(record, mode="light"))).splitlines()[1]


def test_many_distances_leave_the_sparkline_where_there_is_no_room(record):
    curve = {f"{n / 10:g}": 0.9 for n in range(1, 10)}
    line = after_verdicts(shown(one(record, elasticity=curve), width=80)).splitlines()[2]
    assert "▇" * 9 in line
    assert "0.90" not in line
    assert line.endswith("fail")


def test_quiet_is_one_line_per_suite(record):
    from_the_store = replace(record, usage=replace(record.usage, requests=0))
    lines = shown(from_the_store, verbosity=-1).splitlines()
    assert lines == [
        "sub/test_slug.py::test_slugify pass@1 1.00  AUC-E 0.800  fail",
        "sub/test_slug.py::test_fine pass@1 1.00  AUC-E 0.800  pass",
    ]


def test_quiet_says_what_was_paid_if_something_was_requested(record):
    paid = replace(record, usage=replace(record.usage, requests=3, cost=0.25))
    assert re.match("3 requests, .* cost 0.25$", shown(paid, verbosity=-1).splitlines()[-1])


def test_verbose_shows_every_variant_and_the_secondary_columns(record):
    text = shown(record, verbosity=1)
    rows = section(text, "variants")
    assert [row.split()[0] for row in rows[2:]] == [
        "original",
        *(f"d0.3-tired-{name}" for name in "abcde"),
    ]
    assert re.search(r"tired-b +0\.10 +0\.10 +−0\.90\* +7 timeout", text)  # noqa: RUF001
    head, slugify, _ = section(text, "besides")
    assert " ".join(head.split()) == "besides excess p RP5 RD5 RR5 ECE over under"
    assert " ".join(slugify.split()[1:]) == "+0.18* 0.020 0.61 0.39 0.40 0.21 0.03 0.12"
    assert section(text, "calibration")[1].split() == ["all", "48", "0.21", "0.03", "0.12"]


def test_verbose_shows_the_drop_of_each_task(record):
    drop = TaskDrop(value=0.2, ci95=(0.1, 0.3), shrunken=0.15, margin=0.1, equivalent=False)
    for equivalent, words in ((False, "not shown to be equivalent"), (True, "equivalent")):
        tasks = [replace(t, drop=replace(drop, equivalent=equivalent)) for t in record.tasks]
        text = shown(replace(record, tasks=tasks), verbosity=1)
        assert f"drop +0.20 (+0.10 to +0.30), shrunken +0.15, {words} within 0.10" in text
    assert "shrunken" not in shown(replace(record, tasks=tasks))


def test_why_splits_the_loss_by_cause_largest_first(record):
    head, first, second = section(shown(record, verbosity=1), "why")
    assert head.split()[-2:] == ["d0.3", "failures"]
    assert re.fullmatch(r"  no code +█{12} +\+0\.20 +\+0\.25", first)
    assert re.fullmatch(r"  wrong answer +█{6} +\+0\.10 +\+0\.05", second)


def test_where_maps_emotions_by_distance_worst_first_with_the_margins_beside(record):
    head, tired, calm = section(shown(record, verbosity=1), "where")
    assert head.split()[:5] == ["where", "d0.3", "change", "of", "the"]
    assert tired.split() == ["tired", "▓−0.36*", "expert", "▓−0.20*", "collaboration", "░−0.07"]  # noqa: RUF001
    assert calm.split() == ["calm", "0.00", "senior", "−0.02"]  # noqa: RUF001


def test_the_three_most_harmful_variants_are_shown_worst_first(record):
    lines = section(shown(record), "most harmful")
    assert re.findall(r"^  .*d0\.3-tired-(\w) ", "\n".join(lines), re.MULTILINE) == ["b", "d", "e"]
    assert lines[1].endswith("1.00 → 0.10  p 0.020")
    assert lines[2:4] == [
        "    [-Please-] [+Oh well, please+] add [-x.-] [+b.+]",
        "    7 of 8 timeout: line 3: timeout seen",
    ]


def test_of_equal_harms_those_of_different_tasks_come_first(record):
    task = record.tasks[0]
    worst = [replace(task.variants[1], id=f"d0.3-tired-b{n}") for n in range(3)]
    tasks = [replace(task, id=name, variants=worst) for name in ("one", "two", "three")]
    text = shown(replace(record, tasks=tasks))
    assert re.findall(r"^  (\w+) d0\.3", text, re.MULTILINE) == ["one", "two", "three"]


def test_the_command_reruns_just_the_harmful_ones_from_where_pytest_was_called(record):
    for verbosity, heading, names in ((0, "run the worst", "b"), (1, "run just these", "bde")):
        text = shown(record, width=120, verbosity=verbosity)
        words = shlex.split(" ".join(section(f"{text}\n\n", heading)[1:]))
        assert [word for word in words if word.strip()] == [
            "pytest",
            "--promptse-model",
            "tiny",
            *(f"test_slug.py::test_slugify[d0.3-tired-{name}]" for name in names),
        ]


def test_a_shell_joins_what_was_broken_to_fit(tmp_path):
    node = f"{'folder/' * 6}test_a.py::test_it[it's {'x' * 50}]"
    lines = command(
        [node, node], InvocationRecord(directory=".", options=["--a", "b c"] * 12), width=80
    )
    assert max(map(len, lines)) <= 80
    fake = tmp_path / "pytest"
    fake.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    fake.chmod(0o755)
    script = f"PATH={tmp_path}:$PATH\n" + "\n".join(lines)
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [*["--a", "b c"] * 12, node, node]


def test_where_only_single_variants_ran_they_are_what_is_shown(record):
    text = shown(one(record, estimates={}, n_measured=1))
    assert "d0.3-tired-b" in text
    assert "AUC-E" not in text


def test_colours_are_used_only_if_requested(record):
    assert "\x1b[" not in render(record, width=80, colours=False)
    assert "\x1b[" in render(record, width=80, colours=True)


def test_what_was_not_measured_is_a_dot_and_not_a_zero(record):
    only = {"pass_at_1": record.suites[0].estimate("pass_at_1")}
    line = after_verdicts(shown(one(record, estimates=only, light=None))).splitlines()[2]
    assert "0.00" not in line
    assert line.count("·") == 3


def test_what_could_not_be_scored_is_listed(record):
    error = ErrorRecord(where="test_slug.py::test_slugify[original]", message="server down")
    for verbosity in (-1, 0):
        text = shown(replace(record, errors=[error]), verbosity=verbosity)
        assert "not scored: test_slug.py::test_slugify[original]: server down" in text


def test_a_warning_about_many_suites_is_said_once(record):
    suites = [
        replace(record.suites[0], id=f"test_a.py::test_{n}", warnings=["few tasks"])
        for n in range(5)
    ]
    text = shown(replace(record, suites=suites))
    assert text.count("few tasks") == 1
    assert "test_0, test_1, test_2, 2 more: few tasks" in text


def test_a_difference_marks_words_without_colours():
    text = difference("Write a fast sort.", "Please write a fast sort, ok?").plain
    assert text.split() == [
        "[-Write-]",
        "[+Please",
        "write+]",
        "a",
        "fast",
        "[-sort.-]",
        "[+sort,",
        "ok?+]",
    ]


def test_brackets_in_prompts_are_no_markup():
    assert difference("x", "[red]x[/red]").plain.strip() == "[-x-] [+[red]x[/red]+]"


def test_what_a_program_says_never_commands_the_terminal(record):
    task = record.tasks[0]
    worst = replace(task.variants[1], details={"timeout": "\x1b[2J\x9b2J\u202egone"})
    text = shown(replace(record, tasks=[replace(task, variants=[worst])]))
    assert "7 of 8 timeout: \\x1b[2J\\x9b2J\\u202egone" in text


def test_a_sparkline_rises_from_one_half_to_one():
    assert sparkline([0.0, 0.5, 0.75, 0.99, 1.0, None]) == "▁▁▅██·"


def test_a_change_that_rounds_to_nothing_has_no_sign():
    assert [signed(x) for x in (-0.004, 0.004, -0.006, None)] == ["0.00", "0.00", "−0.01", "·"]  # noqa: RUF001


@settings(deadline=None, max_examples=100)
@given(st.text(st.characters(categories=["L", "P"])), st.integers(1, 30))
def test_a_name_is_cut_to_exactly_its_room(name, width):
    assert cell_len(shortened(name, width)) == width


def test_a_failing_gate_names_the_command_that_looks_for_a_remedy(record):
    called = InvocationRecord(directory="sub", options=[])
    text = shown(replace(record, invocation=called))
    harden = "promptse harden test_slug.py --model tiny"
    assert f"what next: {harden}" in text.splitlines()
    saved = replace(record, invocation=called, settings=record.settings | {"save": "main"})
    assert f"what next: promptse history, or {harden}" in shown(saved).splitlines()
    for changed in ({"verdict": "pass"}, {"template": "plain"}):
        assert "what next" not in shown(replace(one(record, **changed), invocation=called))
    assert "what next" not in shown(replace(record, invocation=None))
