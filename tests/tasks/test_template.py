"""A team's template puts its own text around a variant, and gives access to nothing else."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.config._data_files import templates_dir
from pytest_promptse.errors import TaskError
from pytest_promptse.tasks._task import Task
from pytest_promptse.tasks._template import load_templates, render

TASK = Task(
    id="double",
    prompt="Write `double(x)`.",
    reference="def double(x): return 2 * x",
    tests="def check(candidate): assert candidate(2) == 4",
)
STUB = Task(id="half", prompt='def half(x):\n    """Half of x."""\n')
BLOCKS = """\
{% block system %}
You are a Python programmer.
{% endblock %}
{% block user %}
{{ task.prompt }}
{% endblock %}
"""


@pytest.fixture
def load(tmp_path):
    def load(source, name="team.j2"):
        (tmp_path / name).write_text(source)
        (template,) = load_templates([name], tmp_path)
        return template

    return load


def test_the_blocks_are_the_parts_and_hold_nothing_but_what_is_between_their_tags(load):
    system, user = render(load(BLOCKS), TASK, "Please write double!")
    assert system == "You are a Python programmer."
    assert user == "Please write double!"


def test_a_file_without_blocks_is_the_users_part(load):
    system, user = render(load("Dear model,\n{{ task.prompt }}\n"), TASK, "do it")
    assert (system, user) == (None, "Dear model,\ndo it")


@pytest.mark.parametrize("source", ["{{ task.prompt }}\n", BLOCKS])
def test_a_template_that_adds_nothing_changes_nothing(tmp_path, source):
    (tmp_path / "team.j2").write_text(source)
    (template,) = load_templates(["team.j2"], tmp_path)

    @settings(deadline=None, max_examples=50)
    @given(text=st.text(min_size=1).filter(str.strip))
    def law(text):
        assert render(template, TASK, text)[1] == text

    law()


def test_a_variant_is_text_and_never_a_template(load):
    assert render(load(BLOCKS), TASK, "{{ 1 + 1 }} <b>")[1] == "{{ 1 + 1 }} <b>"


def test_declared_variables_are_there(load):
    header = "---\nname: house\nvariables:\n  rules: [one, two]\n  python: 3.12\n---\n"
    body = "{% for rule in rules %}\n- {{ rule }}\n{% endfor %}\n{{ python }} {{ task.prompt }}\n"
    template = load(header + body)
    assert template.name == "house"
    assert template.source == header + body
    assert render(template, TASK, "go")[1] == "- one\n- two\n3.12 go"


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path, load):
    source = (
        "---\nname: house\nvariables:\n  rules: [one, two]\n---\n"
        "{% block system %}\nBe brief.\n{% endblock %}\n"
        "{% block user %}\n{% for rule in rules %}\n- {{ rule }}\n{% endfor %}\n"
        "{{ task.prompt }}\n{% endblock %}\n"
    )
    unix = load(source)
    (tmp_path / "windows.j2").write_bytes(b"\xef\xbb\xbf" + source.replace("\n", "\r\n").encode())
    (windows,) = load_templates(["windows.j2"], tmp_path)
    assert (windows.name, windows.source) == (unix.name, unix.source)
    assert (
        render(windows, TASK, "go") == render(unix, TASK, "go") == ("Be brief.", "- one\n- two\ngo")
    )


def test_a_template_has_the_entry_point_and_whether_the_prompt_is_a_stub(load):
    source = "{{ task.id }} {{ task.entry_point }} {{ task.is_stub }} {{ task.prompt }}"
    template = load(source)
    assert render(template, TASK, "go")[1] == "double double False go"
    assert render(template, STUB, "go")[1] == "half half True go"


def test_a_blank_system_part_is_none(load):
    source = (
        "{% block system %}{% if task.is_stub %}Complete.{% endif %}{% endblock %}"
        "{% block user %}{{ task.prompt }}{% endblock %}"
    )
    assert render(load(source), TASK, "go") == (None, "go")
    assert render(load(source), STUB, "go") == ("Complete.", "go")


HEADER = "---\nvariables:\n  items: [1, 2]\n---\n"


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("Write code.\n", 1, "does not use the task"),
        ("{# {{ task.prompt }} #}\n", 1, "does not use the task"),
        ("{{ task.id }}", 1, "does not use the task"),
        ("{{ task.prompt }}\n{% if %}", 2, "Expected an expression"),
        ("{{ task.prompt }}\n{{ x | shout }}", 2, "No filter named 'shout'"),
        ("{{ task.prompt }}\n\n{{ itms }}", 3, "'itms' is not declared; declare it in the header"),
        (HEADER + "{{ task.prompt }}\n{{ itms }}", 6, "did you mean 'items'"),
        (HEADER + "{{ task.prompt }}\n{{ task.promt }}", 6, "did you mean 'prompt'"),
        ("{{ task.prompt }}\n{{ task.reference }}", 2, "cannot see task.reference"),
        ("{{ task.prompt }}\n{{ task['tests'] }}", 2, "cannot see task.tests"),
        ("{{ task.prompt }}\n{{ task._text }}", 2, "cannot see task._text"),
        ("Do this:\n{{ prompt }}", 2, "'prompt' is not declared; write {{ task.prompt }}"),
        ("{{ task.prompt }}{{ lipsum() }}", 1, "'lipsum' is not declared"),
        ("{{ task.prompt | random }}", 1, "No filter named 'random'"),
        ("{{ task.prompt }}\n{% include 'other' %}", 2, "stands alone"),
        ("{% extends 'base' %}{{ task.prompt }}", 1, "stands alone"),
        (
            "{% block usr %}{{ task.prompt }}{% endblock %}",
            1,
            r"no part 'usr' \(did you mean 'user'",
        ),
        ("{% block system %}{{ task.prompt }}{% endblock %}", 1, "has no user block"),
        (BLOCKS + "\n\nThanks!\n", 9, "text outside the blocks"),
        (BLOCKS + "\n{{ task.prompt }}\n", 8, "text outside the blocks"),
        (
            "{% block user %}\n{{ task.prompt }}{% block system %}{% endblock %}{% endblock %}",
            2,
            "stands inside another",
        ),
        ("---\nvariables: {a: 1}\n{{ task.prompt }}\n", 1, "never closed"),
        ("---\nvariable: {a: 1}\n---\n", 2, "did you mean 'variables'"),
        ("---\nname: x\nvariables:\n  task: 1\n---\n", 4, "cannot be the name of a variable"),
        ("---\nvariables:\n  a: 1\n  a: 2\n---\n", 4, "'a' is given twice"),
        ("---\nname: a[b]\n---\n", 2, "must not contain"),
        ("---\nprograms: 0\n---\n", 2, "0 is not a whole number from 1 to 64"),
        ("---\nmax_tokens_times: 1.5\n---\n", 2, "1.5 is not a whole number"),
        ("---\nfirst: Say {{ task.prompt }}\n---\n", 4, "put {{ first }} in"),
        ("---\nhelps: [truncate]\n---\n", 2, "did you mean 'truncated'"),
        ("---\nname: [\n---\n", 3, "node content"),
    ],
)
def test_a_mistake_is_found_on_loading_and_named_by_file_and_line(
    load, tmp_path, source, line, message
):
    with pytest.raises(TaskError, match=message) as caught:
        load(source)
    assert str(caught.value).startswith(f"{tmp_path / 'team.j2'}:{line}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("items[7]", "UndefinedError"),
        ("1 // 0", "ZeroDivisionError"),
        ("items.append(3)", "SecurityError"),
        ("''.__class__.__mro__", "SecurityError"),
        ("range(10000000)", "OverflowError"),
    ],
)
def test_an_error_in_rendering_is_named_by_file_and_line(load, tmp_path, expression, message):
    template = load(HEADER + "{{ task.prompt }}\n\n{{ " + expression + " }}\n")
    with pytest.raises(TaskError, match=message) as caught:
        render(template, TASK, "go")
    assert str(caught.value).startswith(f"{tmp_path / 'team.j2'}:7: ")


def test_a_template_that_leaves_the_variant_out_for_some_tasks_fails_for_those(load):
    template = load("Write code. {% if task.is_stub %}{{ task.prompt }}{% endif %}")
    assert "half" in render(template, STUB, STUB.prompt)[1]
    with pytest.raises(TaskError, match=r"does not use task\.prompt for the task 'double'"):
        render(template, TASK, TASK.prompt)


def test_an_empty_users_part_is_refused(load):
    source = (
        "{% block system %}{{ task.prompt }}{% endblock %}"
        "{% block user %}{% if task.is_stub %}Go.{% endif %}{% endblock %}"
    )
    with pytest.raises(TaskError, match="the user message is empty"):
        render(load(source), TASK, "go")


def test_globs_give_each_file_once_in_the_order_of_the_patterns(tmp_path):
    (tmp_path / "more").mkdir()
    for name in ("b.j2", "a.j2", "more/c.j2", "note.txt"):
        (tmp_path / name).write_text("{{ task.prompt }}")
    templates = load_templates(["b.j2", "**/*.j2", str(tmp_path / "a.j2")], tmp_path)
    assert [template.name for template in templates] == ["b", "a", "c"]


def test_two_templates_of_one_name_are_refused(tmp_path):
    (tmp_path / "more").mkdir()
    for name in ("a.j2", "more/a.j2"):
        (tmp_path / name).write_text("{{ task.prompt }}")
    with pytest.raises(TaskError, match=r"the template name 'a' is taken by .*/a\.j2"):
        load_templates(["**/*.j2"], tmp_path)


@pytest.mark.parametrize("pattern", ["prompts/*.j2", "none.j2", "shipped:none", "."])
def test_a_pattern_without_a_file_is_refused_and_names_what_is_shipped(tmp_path, pattern):
    with pytest.raises(TaskError, match=r"matches no file.*code_only, house_rules"):
        load_templates([pattern], tmp_path)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "a.j2").write_bytes(b"\xff{{ task.prompt }}")
    with pytest.raises(TaskError, match="not UTF-8"):
        load_templates(["a.j2"], tmp_path)


def test_missing_jinja_is_named_with_its_extra(load, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "pytest_promptse.tasks._jinja", raising=False)
    with pytest.raises(TaskError, match=r"pip install 'pytest-promptse\[templates\]'"):
        load("{{ task.prompt }}")


@pytest.mark.parametrize("task", [TASK, STUB], ids=lambda task: task.id)
@pytest.mark.parametrize("name", ["code_only", "house_rules", "plan_first", "worked_example"])
def test_the_shipped_templates_ask_for_the_task_word_for_word(tmp_path, task, name):
    (template,) = load_templates([f"shipped:{name}"], tmp_path)
    system, user = render(template, task, task.prompt)
    assert task.prompt in user
    assert system


def test_all_shipped_templates_are_known(tmp_path):
    shipped = load_templates(["shipped:*"], tmp_path)
    assert {template.path.name for template in shipped} == {
        path.name for path in (templates_dir() / "team").iterdir()
    }
    assert len(shipped) == 4


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        ("{% set y = x %}", "the loops take more than 100,000 iterations"),
        ("{{ 'word ' * 999 }}", "the prompt has more than 1,048,576 characters"),
    ],
)
def test_loops_inside_loops_end(load, inner, message):
    loops = "{% for x in range(9999) %}" * 3 + inner + "{% endfor %}" * 3
    with pytest.raises(TaskError, match=message):
        render(load("{{ task.prompt }}" + loops), TASK, "do it")


def test_a_loop_knows_its_place_and_its_end(load):
    source = (
        "{{ task.prompt }}{% for x in 'abc' %}{{ loop.index }}{{ x }}{{ loop.last }} {% endfor %}"
    )
    assert render(load(source), TASK, "do it")[1] == "do it1aFalse 2bFalse 3cTrue "
