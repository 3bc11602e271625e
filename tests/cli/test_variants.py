"""``promptse templates`` and ``promptse variants`` as their user sees them."""

from __future__ import annotations

import argparse
import io
import json
import re
import shlex
import sys
from contextlib import closing
from pathlib import Path

import pytest
from faulty_server import FaultyServer

from pytest_promptse.cli._variants import add_parser
from pytest_promptse.config._settings import resolve
from pytest_promptse.errors import SettingsError, VariantError
from pytest_promptse.run._variant_making import VariantMaker
from pytest_promptse.store._store import Store
from pytest_promptse.tasks._suitefile import load_suite
from pytest_promptse.tasks._task import Task
from pytest_promptse.tasks._template import load_templates
from pytest_promptse.variants._generate import Selection, generate
from pytest_promptse.variants._registry import rewriter_named
from pytest_promptse.variants._templated import View

PROMPT = "Write `total(cart)`. It returns the sum of all the prices in the cart.\n"


@pytest.fixture
def prompt(tmp_path):
    path = tmp_path / "total.md"
    path.write_text(PROMPT)
    return str(path)


def promptse(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers(required=True))
    chosen = parser.parse_args(arguments)
    return chosen.func(chosen)


def test_templates_are_listed_and_one_is_shown(capsys):
    assert promptse("templates") == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in ("frustrated", "pragmatic", "time_pressure", "0.3"))
    assert promptse("templates", "frustrated") == 0
    one = capsys.readouterr().out
    assert "negative-active" in one
    assert len(one.splitlines()) < 24
    assert re.search(r"^en: cue: .+  \(\d+ more: --all\)$", one, re.MULTILINE)
    assert promptse("templates", "frustrated", "--all") == 0
    every = capsys.readouterr().out
    assert len(every.splitlines()) > 100
    assert "--all" not in every


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("pytest.ini", "[pytest]\n{}"),
        ("tox.ini", "[pytest]\n{}"),
        ("setup.cfg", "[tool:pytest]\n{}"),
        ("pyproject.toml", "[tool.pytest.ini_options]\n{}"),
    ],
)
def test_the_ini_file_of_the_project_chooses_unless_a_flag_does(
    tmp_path, monkeypatch, capsys, file, content
):
    quoted = '"{}"' if file.endswith(".toml") else "{}"
    values = {"emotions": "tired", "distances": "0.2", "variants": "1", "rewriter": "rules"}
    lines = "".join(f"promptse_{name} = {quoted.format(v)}\n" for name, v in values.items())
    (tmp_path / file).write_text(content.format(lines))
    folder = tmp_path / "sub"
    folder.mkdir()
    (folder / "p.md").write_text("Write `f(x: int) -> int`: return x.")
    monkeypatch.chdir(folder)
    assert promptse("variants", "stats", "p.md") == 0
    assert "emotions: tired 1\n" in capsys.readouterr().out
    assert promptse("variants", "stats", "p.md", "--emotions", "calm", "--per-distance", "2") == 0
    assert "emotions: calm 2\n" in capsys.readouterr().out


def test_an_unknown_template_is_refused_with_the_nearest_name():
    with pytest.raises(VariantError, match="did you mean 'tired'"):
        promptse("templates", "tird")


def test_variants_are_made_audited_and_found_broken_after_an_edit(tmp_path, prompt, capsys):
    into = tmp_path / "frozen"
    assert promptse("variants", "freeze", prompt, str(into), "--per-distance", "2") == 0
    assert "6 variants of 1 task " in capsys.readouterr().out
    assert promptse("variants", "audit", str(into)) == 0
    path = next(into.rglob("d0.2.jsonl"))
    path.write_text(path.read_text().replace("the cart", "the trolley"))
    assert promptse("variants", "audit", str(into)) == 1
    assert re.search(r"d0\.2\.jsonl:1, d0\.2-\S+-0: ", capsys.readouterr().out)


def test_make_keeps_variants_of_the_given_distances_moods_and_rewriter(tmp_path, prompt):
    code = promptse(
        "variants", "make", prompt, "--into", str(tmp_path / "cache"), "--distances", "0.2,0.4",
        "--per-distance", "1", "--emotions", "calm", "--seed", "3",
    )  # fmt: skip
    assert code == 0
    found = sorted((tmp_path / "cache").rglob("d*.jsonl"))
    assert [path.name for path in found] == ["d0.2.jsonl", "d0.4.jsonl"]
    assert json.loads(found[0].read_text())["emotion"] == "calm"


def test_show_prints_the_original_and_every_variant(prompt, capsys):
    assert promptse("variants", "show", prompt, "--per-distance", "1") == 0
    marked = capsys.readouterr().out
    assert "[+" in marked
    assert "\x1b" not in marked
    assert promptse("variants", "show", prompt, "--per-distance", "1", "--plain") == 0
    shown = capsys.readouterr().out
    assert shown.count("`total(cart)`") == 4
    assert "d0.3-" in shown
    assert (
        len(
            re.findall(r"^words: \d+% of the variant added, .* times as long$", shown, re.MULTILINE)
        )
        == 3
    )
    assert len(re.findall('^cues: emotion ".+", technical ".+", ', shown, re.MULTILINE)) == 2
    assert re.search(
        r"^operations: .*block:|^operations: sentences, request:own", shown, re.MULTILINE
    )


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "total.promptse.yaml"
    path.write_text(
        "promptse: 1\n"
        "settings: {emotions: [tired, calm], exclude_emotions: [calm], distances: [0.2],\n"
        "  variants: 2, personalities: [expert.senior.logic], seed: 7, max_drop: 0.1}\n"
        "tasks:\n"
        "  - id: total\n"
        "    prompt: Write `total(cart)`, which returns the sum of all prices in the cart.\n"
        "    examples: [{call: 'total([1])', expect: 1}]\n"
    )
    return path


def test_a_suite_file_has_the_variants_that_its_run_sends(suite, tmp_path):
    assert promptse("variants", "freeze", str(suite), str(tmp_path / "frozen")) == 0
    [path] = (tmp_path / "frozen").rglob("*.jsonl")
    variants = [json.loads(line) for line in path.read_text().splitlines()]
    assert [variant["id"] for variant in variants] == [
        f"d0.2-tired-expert.senior.logic-{index}" for index in range(2)
    ]
    file = load_suite(suite)
    sent = generate(
        file.tasks[0],
        Selection(
            distances=(0.2,),
            per_distance=2,
            emotions=("tired",),
            personalities=("expert.senior.logic",),
            seed=7,
        ),
    )
    assert [variant["text"] for variant in variants] == [variant.text for variant in sent.variants]


def test_a_flag_counts_before_the_setting_of_a_suite_file(suite, capsys):
    arguments = ("--emotions", "anxious", "--per-distance", "1")
    assert promptse("variants", "show", str(suite), *arguments) == 0
    printed = capsys.readouterr().out
    assert "d0.2-anxious-expert.senior.logic-0" in printed
    assert "tired" not in printed


def test_a_setting_that_is_none_is_refused_with_its_place(suite):
    suite.write_text(suite.read_text().replace("emotions: [tired", "emotion: [tired"))
    with pytest.raises(SettingsError, match=r"yaml:2: 'emotion' is not a setting"):
        promptse("variants", "show", str(suite))


def test_stats_print_levels_and_measured_distances(prompt, capsys):
    assert promptse("variants", "stats", prompt) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^0\.1 +light +4 ", shown, re.MULTILINE)
    assert re.search(r"^0\.3 +\w+ +4 ", shown, re.MULTILINE)


def test_a_source_that_is_nothing_is_refused():
    with pytest.raises(VariantError, match="neither 'humaneval' nor a file"):
        promptse("variants", "stats", "nothing")


def test_a_task_that_is_not_there_is_named(prompt):
    with pytest.raises(VariantError, match=r"--task: \S+ has no task other; its tasks are total"):
        promptse("variants", "stats", prompt, "--task", "other")


@pytest.mark.parametrize(
    ("flag", "value", "remedy"),
    [
        ("--emotions", "hapy", "there are focused"),
        ("--exclude-emotions", "hapy", "there are focused"),
        ("--personalities", "senior", "write it as"),
        ("--distances", "0.1,0.12", "choose one near"),
        ("--rewriter", "typo", "did you mean 'typos'"),
        ("--per-distance", "0", "at least 1"),
        ("--library-dir", "nope", "give that of your emotions"),
    ],
)
def test_a_wrong_choice_names_its_flag_its_value_and_a_remedy(prompt, flag, value, remedy):
    with pytest.raises(SettingsError, match=rf"^{flag}: .*{value[-4:]}.*{remedy}"):
        promptse("variants", "show", prompt, flag, value)


def test_a_wrong_choice_in_a_file_names_its_place(suite, tmp_path, prompt, monkeypatch):
    suite.write_text(suite.read_text().replace("[tired, calm]", "[hapy]"))
    with pytest.raises(SettingsError, match=r"total\.promptse\.yaml:2, emotions: .*'hapy'"):
        promptse("variants", "show", str(suite))
    (tmp_path / "pytest.ini").write_text("[pytest]\npromptse_rewriter = typo\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"^promptse_rewriter in pytest\.ini: .*'typo'"):
        promptse("variants", "show", prompt)


def test_a_model_writes_variants_through_the_store(tmp_path, prompt, capsys, monkeypatch):
    def answer(body, _number):
        """Keep the prompt on the second request, and change it on the first."""
        rejected = "was rejected" in body["messages"][-1]["content"]
        text = PROMPT if rejected else PROMPT.replace("the sum", "the product")
        return f"Phew, I am tired today.\n\n{text}"

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    arguments = (
        *("variants", "freeze", prompt, "frozen", "--per-distance", "1", "--distances", "0.1"),
        *("--rewriter", "llm:openai:m"),
    )
    with FaultyServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        server.behaviour.answer = answer
        assert promptse(*arguments) == 0
        shown = capsys.readouterr().out
        assert "1 of 2 texts accepted" in shown
        assert "1 variant of 1 task in frozen" in shown
        sent = len(server.requests)
        assert promptse(*arguments) == 0
        assert len(server.requests) == sent
    assert promptse("variants", "audit", "frozen") == 0


TEAM = Path(__file__).resolve().parents[2] / "example_suites" / "team_templates"
OWN_TEMPLATE = (
    "{# our rules #}\nPlease help a colleague with the task below today.\n\n{{ task.prompt }}\n\n"
    "Answer with the code in one block.\n"
)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("perturb", ["template", "both"])
def test_a_run_takes_the_frozen_variants_of_templates_as_it_would_make_them(
    tmp_path, monkeypatch, capsys, own, perturb
):
    """With a template of one's own, and with the suite of examples."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.j2").write_text(OWN_TEMPLATE)
    pattern = "own.j2" if own else str(TEAM / "prompts" / "*.j2")
    suite = TEAM / "team.promptse.yaml"
    [task, *_] = load_suite(suite).tasks
    options = ("--task", task.id, "--per-distance", "1", "--template", pattern)
    assert promptse("variants", "freeze", str(suite), "frozen", *options) == 0
    templates = load_templates([pattern], tmp_path)
    views = [view for view in map(View.of, templates) if view is not None]
    assert views
    expected = f"{3 * (1 + len(views))} variants of 1 task and {len(views)} template"
    assert expected in capsys.readouterr().out
    assert promptse("variants", "audit", "frozen") == 0

    def prompts(template, **values):
        values |= {"variants": 1, "template": pattern, "perturb": perturb}
        chosen = resolve([(values, lambda name: name)])
        with closing(Store(tmp_path / "store")) as store:
            maker = VariantMaker(
                tmp_path,
                chosen,
                create_rewriter=lambda name, library: rewriter_named(name, library=library),
                create_backend=lambda _: None,
                store=lambda: store,
            )
            planned = maker.prompts_of(task, chosen, maker.variants_of(task, chosen), template)
            return [each.make() for each in planned]

    for view in views:
        frozen = prompts(view.template, variants_dir="frozen")
        assert frozen == prompts(view.template)
        assert len({(each.prompt.user, each.prompt.system) for each in frozen}) == len(frozen)


def test_frozen_variants_of_a_template_that_changed_since_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "own.j2"
    own.write_text(OWN_TEMPLATE)
    (tmp_path / "add.md").write_text("Write `add(a, b)`, which returns the sum of both numbers.\n")
    [template] = load_templates(["own.j2"], tmp_path)
    task = Task(id="add", prompt=(tmp_path / "add.md").read_text())
    values = {"variants": 1, "template": "own.j2", "perturb": "template", "variants_dir": "frozen"}
    chosen = resolve([(values, lambda name: name)])
    maker = VariantMaker(
        tmp_path,
        chosen,
        create_rewriter=lambda name, library: rewriter_named(name, library=library),
        create_backend=lambda _: None,
        store=lambda: None,
    )

    def planned(template):
        return maker.prompts_of(task, chosen, maker.variants_of(task, chosen), template)

    making = ("variants", "freeze", "add.md", "frozen", "--per-distance", "1")
    assert promptse(*making) == 0
    with pytest.raises(VariantError, match=r"'own': no variants in .*--template"):
        planned(template)
    assert promptse(*making, "--template", "own.j2") == 0
    assert len(planned(template)) == 4
    own.write_text(OWN_TEMPLATE.replace("colleague", "friend"))
    [changed] = load_templates(["own.j2"], tmp_path)
    with pytest.raises(VariantError, match="the original of task 'own' has changed since"):
        planned(changed)
    [path] = (tmp_path / "frozen").rglob("own/d0.2.jsonl")
    line = json.loads(path.read_text())
    line["text"] = line["text"].replace("colleague", "{{ task.id }} colleague")
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(VariantError, match="changes the code of the template"):
        planned(template)[2].make()


STUB = 'def twice(x: int) -> int:\n    """Return twice x."""\n'


def test_show_takes_code_to_complete_and_a_prompt_on_standard_input(tmp_path, capsys, monkeypatch):
    path = tmp_path / "twice.py"
    path.write_text(STUB)
    assert promptse("variants", "show", str(path), "--per-distance", "1", "--plain") == 0
    assert capsys.readouterr().out.count(STUB) == 4
    monkeypatch.setattr("sys.stdin", io.StringIO(PROMPT))
    assert promptse("variants", "show", "-", "--per-distance", "1", "--plain") == 0
    shown = capsys.readouterr().out
    assert "stdin original" in shown
    assert shown.count("`total(cart)`") == 4


def test_an_empty_prompt_is_refused(tmp_path):
    path = tmp_path / "empty.md"
    path.write_text("\n")
    with pytest.raises(VariantError, match="empty"):
        promptse("variants", "show", str(path))


def test_an_emotion_is_left_out_and_the_variants_of_the_others_stay(prompt, capsys):
    def shown(*arguments):
        assert promptse("variants", "show", prompt, "--plain", *arguments) == 0
        return set(re.findall(r"^─+ (d0\.\d-\S+)", capsys.readouterr().out, re.MULTILINE))

    everything = shown()
    emotion = min(everything).split("-")[1]
    for arguments in (("--exclude-emotions", emotion), (f"--emotions=!{emotion}",)):
        fewer = shown(*arguments)
        assert {name for name in everything if f"-{emotion}-" not in name} < fewer
        assert not any(f"-{emotion}-" in name for name in fewer)


@pytest.fixture
def frozen(tmp_path, prompt, capsys):
    folder = tmp_path / "frozen"
    assert promptse("variants", "freeze", prompt, str(folder), "--per-distance", "1") == 0
    capsys.readouterr()
    return folder


@pytest.fixture
def editor(tmp_path, monkeypatch):
    """Return a function that sets an editor which exchanges a pattern for a text."""

    def set_editor(pattern, new):
        path = tmp_path / "editor.py"
        path.write_text(
            "import re, sys\n"
            "path = sys.argv[1]\n"
            "text = open(path, encoding='utf-8').read()\n"
            f"text = re.sub({pattern!r}, {new!r}, text)\n"
            "open(path, 'w', encoding='utf-8').write(text)\n"
        )
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(path)]))

    return set_editor


def test_edited_variants_are_measured_again_and_pass_the_audit(frozen, editor, capsys):
    editor(r"(=====\[ d0\.2.*\]=====\n)", r"\1What a week it has been for me.\n\n")
    assert promptse("variants", "edit", str(frozen)) == 0
    assert "1 variant edited, 0 broken" in capsys.readouterr().out
    [path] = frozen.rglob("d0.2.jsonl")
    [variant] = map(json.loads, path.read_text().splitlines())
    assert variant["text"].startswith("What a week it has been for me.\n\n")
    assert variant["rewriter"] == "hand"
    assert promptse("variants", "audit", str(frozen)) == 0


def test_an_edit_of_the_specification_is_reported(frozen, editor, capsys):
    editor("all the prices", "all the weights")
    assert promptse("variants", "edit", str(frozen)) == 1
    assert re.search(r"\.jsonl:1, d0\.\d-\S+: reworded", capsys.readouterr().out)


def test_an_editor_that_changes_nothing_leaves_the_files_as_they_are(frozen, editor, capsys):
    before = {path: path.read_text() for path in frozen.rglob("*.jsonl")}
    editor("no such text", "")
    assert promptse("variants", "edit", str(frozen)) == 0
    assert "0 variants edited" in capsys.readouterr().out
    assert {path: path.read_text() for path in frozen.rglob("*.jsonl")} == before


def test_a_lost_line_of_signs_changes_nothing(frozen, editor):
    before = {path: path.read_text() for path in frozen.rglob("*.jsonl")}
    editor(r"=====\[ d0\.1.*\]=====\n", "")
    with pytest.raises(VariantError, match=r"lines of equals signs must name original, d0\.1"):
        promptse("variants", "edit", str(frozen))
    assert {path: path.read_text() for path in frozen.rglob("*.jsonl")} == before


def test_without_an_editor_the_variable_is_named(frozen, monkeypatch):
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    with pytest.raises(VariantError, match="EDITOR=nano"):
        promptse("variants", "edit", str(frozen))
