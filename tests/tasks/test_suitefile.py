"""A suite file describes its tasks completely, and the error of each mistake names its line."""

import textwrap
from datetime import date

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.errors import TaskError
from pytest_promptse.tasks._plainyaml import parse
from pytest_promptse.tasks._suitefile import load_suite

SUITE = '''\
promptse: 1
settings: {min_auc_e: 0.6, distances: [0.1, 0.3]}
tasks:
  - id: title-case
    prompt: |
      Write `title_case(text: str) -> str`, which makes each word start with a capital.
    reference: |
      def title_case(text):
          return " ".join(word.capitalize() for word in text.split(" "))
    examples:
      - call: title_case("a b")
        expect: A B
      - call: title_case("")
        expect: ""
      - call: title_case(None)
        raises: AttributeError
  - id: corners
    prompt: Write the corners of a square.
    entry_point: corners
    check: |
      # Order does not count.
      assert set(candidate(1)) == {(0, 0), (0, 1),
                                   (1, 0), (1, 1)}
      assert """
      """ not in candidate(2)
'''


@pytest.fixture
def load(tmp_path):
    def load(text):
        path = tmp_path / "a.promptse.yaml"
        path.write_text(textwrap.dedent(text))
        return load_suite(path)

    return load


def example(lines):
    """Return a suite of one task with one example, which starts on line 6."""
    block = textwrap.indent(textwrap.dedent(lines), " " * 8).lstrip()
    return (
        f"promptse: 1\ntasks:\n  - id: f\n    prompt: Write `f(x)`.\n    examples:\n      - {block}"
    )


def task(lines):
    """Return a suite of one task, which starts on line 3."""
    return "promptse: 1\ntasks:\n  - " + textwrap.indent(textwrap.dedent(lines), "    ").lstrip()


def test_a_suite_file_gives_its_tasks_settings_and_lines(load):
    suite = load(SUITE)
    assert [task.id for task in suite.tasks] == ["title-case", "corners"]
    assert suite.settings == {"min_auc_e": 0.6, "distances": [0.1, 0.3]}
    assert suite.settings_line == 2
    assert suite.task_lines == {"title-case": 4, "corners": 17}


def test_examples_pass_the_reference_and_fail_a_wrong_program(load):
    title_case, _ = load(SUITE).tasks
    namespace = {}
    exec(title_case.reference, namespace)
    title_case.check(namespace["title_case"])
    with pytest.raises(AssertionError, match=r"returned 'a b', expected 'A B'"):
        title_case.check(lambda text: text)


def test_a_check_is_python_statements_over_the_candidate(load):
    _, corners = load(SUITE).tasks
    corners.check(lambda n: [(0, 0), (0, n), (n, 0), (n, n)])
    with pytest.raises(AssertionError, match=r"assert set\(candidate\(1\)\) =="):
        corners.check(lambda _: [(0, 0)])


def test_text_in_a_check_stays_as_it_was_written(load):
    _, corners = load(SUITE).tasks
    with pytest.raises(AssertionError):
        corners.check(lambda n: [(0, 0), (0, n), (n, 0), (n, n), "\n"])


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("expect: 'yes'", "yes"),
        ("expect: no", "no"),
        ("expect: on", "on"),
        ("expect: 12:30", "12:30"),
        ("expect: 2024-01-01", "2024-01-01"),
        ("expect: 012", 12),
        ("expect: 0x1F", 31),
        ("expect: 1e-6", 1e-6),
        ("expect: .inf", float("inf")),
        ("expect: true", True),
        ("expect: null", None),
        ("expect:", None),
        ("expect: [1, [2.5, a]]", [1, [2.5, "a"]]),
        ("expect: {1: {a: ~}}", {1: {"a": None}}),
        ("expect: !!set {1, 2}", {1, 2}),
        ("expect: !!binary aGk=", b"hi"),
        ("expect: !!timestamp 2024-01-01", date(2024, 1, 1)),
        ("expect_code: (1, 2)", (1, 2)),
        ("expect_code: '{1, 2}'", {1, 2}),
        ("expect_code: b'hi'", b"hi"),
        ("expect_code: '{1: (2, 3)}'", {1: (2, 3)}),
        ("expect_code: 1_000", 1000),
        ("expect_code: None", None),
    ],
)
def test_expected_values_are_read_as_they_look(load, written, value):
    (found,) = load(example(f"call: f(1)\n{written}\n")).tasks[0].examples
    assert found.expect == value
    assert type(found.expect) is type(value)


def test_a_tolerance_may_be_written_without_a_point(load):
    (found,) = load(example("call: f(1)\nexpect: 0.3\napprox: 1e-6\n")).tasks[0].examples
    assert found.approx == 1e-6


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="ascii")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc:#- "), inner),
    max_leaves=10,
)


@settings(deadline=None, max_examples=100)
@given(value=plain)
def test_values_survive_being_written_as_quoted_yaml(value):
    text = yaml.safe_dump({"value": value}, default_style='"')
    assert parse(text, "file").value() == {"value": value}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the document is empty"),
        ("promptse: 1\ntasks: [\n", 3, "node content"),
        ("promptse: 1\ntasks: []\n---\npromptse: 1\n", 3, "but found another document"),
        ("- a\n", 1, "must be a mapping"),
        ("tasks: []\n", 1, "start a suite file with 'promptse: 1'"),
        ("promptse: 2\ntasks: []\n", 1, "format 2 is not known"),
        ("promptse: true\ntasks: []\n", 1, "format True is not known"),
        ("promptse: 1\n", 1, "needs 'tasks'"),
        ("promptse: 1\ntasks: []\n", 2, "a list with at least one entry"),
        ("promptse: 1\ntask: []\n", 2, r"no key 'task' \(did you mean 'tasks'"),
        ("promptse: 1\ntasks: []\ntasks: []\n", 3, "'tasks' is given twice"),
        ("promptse: 1\nsettings: 3\ntasks: []\n", 2, "settings must be a mapping"),
        ("promptse: 1\n1: 2\n", 2, "the key 1 of a suite file must be text"),
        (task("prompt: Write `f(x)`.\ncheck: candidate()\n"), 3, "the task needs 'id'"),
        (task("id: f\ncheck: candidate()\n"), 3, "the task needs 'prompt'"),
        (task("id: f\nprompt: ''\ncheck: candidate()\n"), 4, "'prompt' is empty"),
        (task("id: f\nprompt: [a]\ncheck: candidate()\n"), 4, "must be text, not \\['a'\\]"),
        (task("id: 3\nprompt: Write `f(x)`.\ncheck: candidate()\n"), 3, "'id' must be text, not 3"),
        (task("id: f\nprompt: Sort.\ncheck: candidate()\n"), 3, "cannot tell which name"),
        (task("id: f\nprompt: Write `f(x)`.\n"), 3, "either 'examples' or 'check'"),
        (task("id: f\nprompt: Write `f(x)`.\ncheck: a\nexamples: []\n"), 3, "not both"),
        (task("id: f\nprompt: Write `f(x)`.\nexamples: []\n"), 5, "at least one"),
        (task("id: f\npromt: Write `f(x)`.\n"), 4, r"no key 'promt' \(did you mean 'prompt'"),
        (task("id: f\nprompt: a\nprompt: b\n"), 5, "'prompt' is given twice"),
        (
            task("id: f\nprompt: Write `f(x)`.\nzebra: 1\n"),
            5,
            "known keys: id, prompt, entry_point",
        ),
        (
            task("id: f\nprompt: `f(x)`\n"),
            4,
            "cannot start any token; a text that begins with a sign such as `, @ or %: ",
        ),
        (
            task("id: f\nprompt: Write `f(x)`: one\n"),
            4,
            "not allowed in this context; a text with a colon: put the text in single quotes, or",
        ),
        (task('id: f\nprompt: "Say "hi" twice"\n'), 4, "a text goes on after its closing quote"),
        (task("id: f\nprompt: a\nexamples: [{call: f([1]), expect: 1}]\n"), 5, r"one of , \[ \]"),
        (task("id: f\n\tprompt: a\n"), 4, "indent with spaces"),
        ("promptse: 1\ntasks:\n  - id: f\n   prompt: a\n", 4, "indent the keys of an entry alike"),
        (task("id: f\nprompt:\ncheck: candidate()\n"), 4, "'prompt' is empty"),
        ("promptse: 1\ntasks:\n  f:\n    prompt: a\n", 2, "begin each with '- '"),
        (
            task("id: f\nprompt: Write `f(x)`.\nexamples: [{call: f(1, 2), expect: 3}]\n"),
            5,
            r"no key '2\)'; put a call with a comma in quotes",
        ),
        (
            task("id: f\nprompt: Write `f(x)`.\ncheck: |\n  a = 1\n  candidate(a) == 2\n"),
            7,
            r"'candidate\(a\) == 2' compares without 'assert'",
        ),
        (
            task("id: f\nprompt: Write `f(x)`.\nlanguage: TypeScript\ncheck: candidate()\n"),
            5,
            r"there is no language 'TypeScript' \(did you mean 'typescript'\?\)",
        ),
        (
            task("id: f\nprompt: Write `f(x)`.\ncheck: |\n  assert candidate(1)\n  assert (\n"),
            7,
            "not Python: '\\(' was never closed",
        ),
        (task("id: f\nprompt: Write `f(x)`.\ncheck: candidate(\n"), 5, "not Python"),
        (
            task("id: f\nprompt: Write `f(x)`.\ncheck: |\n  assert f(1)\n"),
            5,
            "never uses 'candidate'",
        ),
        (
            task("id: f\nprompt: Write `f(x)`.\ncheck: |\n  candidate()\n  from os import *\n"),
            7,
            "import \\* only allowed at module level",
        ),
        (
            task(
                "id: f\nprompt: Write `f(x)`.\ncheck: candidate()\n"
                "reference: |\n  def f(x):\n  return\n"
            ),
            8,
            "not Python: expected an indented block",
        ),
        (example("expect: 1\n"), 6, "the example needs 'call'"),
        (example("call: f(1)\n"), 6, "needs one of 'expect', 'expect_code' and 'raises'"),
        (example("call: f(1)\nexpect: 1\nraises: ValueError\n"), 6, "needs one of"),
        (example("call: f(1)\nexpects: 1\n"), 7, "did you mean 'expect'"),
        (example("expect: 1\ncall: f(1\n"), 7, "is not Python"),
        (example("expect: 1\ncall: f(undefined)\n"), 7, "NameError"),
        (example("call: f(1)\nraises: ValuError\n"), 6, "did you mean 'ValueError'"),
        (example("call: f(1)\nexpect_code: f(1)\n"), 7, "is not a Python literal"),
        (example("call: f(1)\nexpect_code: [1]\n"), 7, "must be text; quote it"),
        (example("call: f(1)\nexpect: 1\napprox: tiny\n"), 8, "must be a number, not 'tiny'"),
        (example("call: f(1)\nexpect: {a: 1, a: 2}\n"), 7, "'a' is given twice"),
        (example("call: f(1)\nexpect:\n  a: 1\n  a: 2\n"), 9, "'a' is given twice"),
        (example("call: f(1)\nexpect: {[1]: 2}\n"), 7, "cannot be a key"),
        (example("call: f(1)\nexpect: &a [*a]\n"), 7, "recursive"),
        (example("call: f(1)\nexpect: !!python/name:os.system ''\n"), 7, "could not determine"),
        (example(f"call: f(1)\nexpect: {'1' * 5000}\n"), 7, "cannot read the value"),
    ],
)
def test_a_mistake_is_named_by_file_and_line(load, tmp_path, text, line, message):
    with pytest.raises(TaskError, match=message) as caught:
        load(text)
    assert str(caught.value).startswith(f"{tmp_path / 'a.promptse.yaml'}:{line}: ")
    assert "\n" not in str(caught.value)


def test_two_tasks_of_one_id_are_refused_naming_both_lines(load):
    one = "  - id: f\n    prompt: Write `f(x)`.\n    check: candidate()\n"
    with pytest.raises(TaskError, match=r":6: the task id 'f' is taken by line 3"):
        load("promptse: 1\ntasks:\n" + one + one)


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path):
    path = tmp_path / "a.promptse.yaml"
    text = (
        "promptse: 1\ntasks:\n  - id: one\n    prompt: Write `one()`, which returns 1.\n"
        "    examples: [{call: one(), expect: 1}]\n"
    )
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    [task] = load_suite(path).tasks
    assert task.prompt == "Write `one()`, which returns 1."


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "a.promptse.yaml"
    path.write_bytes(b"promptse: \xff")
    with pytest.raises(TaskError, match="not UTF-8"):
        load_suite(path)
    path.write_bytes(b"promptse: \x00")
    with pytest.raises(TaskError, match="not YAML"):
        load_suite(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(TaskError, match="cannot be read: No such file"):
        load_suite(tmp_path / "none.promptse.yaml")


NESTED = "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"a: &a [x, x]\n{NESTED}", "aliases make more than 1,000,000 values"),
        # Newer versions of PyYAML refuse it themselves.
        ("[" * 100_000, "nested more than 100 levels|exceeded maximum nesting depth"),
        ("- " * 100_000 + "x", "nested more than 100 levels"),
    ],
    ids=["an alias bomb", "deep brackets", "deep lists"],
)
def test_a_file_that_would_hold_or_crash_the_reader_is_refused(load, text, message):
    with pytest.raises(TaskError, match=message):
        load(text)
