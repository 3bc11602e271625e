"""Programs in other languages through pytest: the mark, suite files and the ini file."""

from __future__ import annotations

import fnmatch
import json
import shutil

import pytest
from collected_errors import errors_of_files

from pytest_promptse.errors import TaskError
from pytest_promptse.runtimes._runtime import runtime_of

needs_sqlite = pytest.mark.skipif(shutil.which("sqlite3") is None, reason="sqlite3 is missing")
PROMPT = "Write a Bash script that prints the sum of its arguments."
SUM = '''
import pytest

@pytest.mark.promptse(
    "Write a Bash script that prints the sum of its arguments.",
    language="bash",
    reference="""
s=0
for x in "$@"; do s=$((s + x)); done
echo $s
""",
    samples=2, original_samples=2, variants=1,
)
def test_sum(program):
    assert program.run(args=["1", "2"]).stdout == "3\\n"
    assert program.run(args=["x"]).returncode == 0
'''
NAMELESS = (
    SUM
    + """
@pytest.mark.promptse(
    "Write a script that prints the sum of its arguments.",
    language="python", reference="import sys\\nprint(sum(map(int, sys.argv[1:])))",
    samples=1, original_samples=1, variants=1,
)
def test_python(program):
    assert program.run(args=["1", "2"]).stdout == "3\\n"
"""
)
SUITE = """
promptse: 1
settings: {samples: 1, original_samples: 1, variants: 1}
tasks:
  - id: total
    language: sql
    prompt: Write a query that returns the total of x in the table t.
    reference: SELECT sum(x) AS total FROM t;
    check: |
      rows = program.run("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2);", ["-json"]).stdout
      assert rows.strip() == '[{"total":3}]'
"""


def test_mark_runs_programs(pytester, run):
    pytester.makepyfile(NAMELESS)
    result = run("--promptse-model", "reference")
    result.assert_outcomes(passed=16)


def test_output_that_the_check_cannot_read_is_a_wrong_answer(pytester, run, replay):
    pytester.makepyfile(
        SUM.replace('.stdout == "3\\n"', ".stdout and not int(program.run().stdout)")
    )
    model = replay({"test_sum": ["echo three\n"] * 2}, PROMPT)
    result = run("--promptse-model", model, "--promptse-min-pass-rate", "1")
    result.stdout.fnmatch_lines(["*wrong answer*"])
    result.stdout.no_fnmatch_line("*the check is broken*")


@needs_sqlite
def test_suite_file_runs_programs(pytester, run):
    pytester.makefile(".promptse.yaml", total=SUITE)
    run("--promptse-model", "reference").assert_outcomes(passed=8)


def test_a_missing_toolchain_is_one_line_before_anything_is_requested(
    pytester, run, replay, monkeypatch
):
    pytester.makepyfile(SUM.replace('"bash"', '"go"'))
    monkeypatch.setenv("PATH", str(pytester.path))
    result = run("--promptse-model", replay({"test_sum": ["echo 3\n"] * 2}, PROMPT))
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        ["*test_sum*language 'go': go is not installed; apt-get install golang-go"]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_language_of_the_ini_file_is_the_default(pytester, run):
    source = SUM.replace('    language="bash",\n', "").replace("a Bash script", "a script")
    pytester.makepyfile(source)
    pytester.makeini("[pytest]\npromptse_language = bash\n")
    run("--promptse-model", "reference").assert_outcomes(passed=8)


def test_language_is_read_from_the_beginning_of_the_prompt(pytester, run):
    pytester.makepyfile(SUM.replace('    language="bash",\n', ""))
    run("--promptse-model", "reference").assert_outcomes(passed=8)


SLUG = """\
import pytest

@pytest.mark.promptse(
    {prompt!r}, reference={reference!r}, samples=2, original_samples=2, variants=1
)
def test_slugify(candidate, tmp_path):
    assert candidate("Hello,  World!") == "hello-world"
"""
SLUG_PROMPT = "Write a TypeScript function `slugify(title: string): string` that makes a slug."
SLUG_REFERENCE = """\
export function slugify(title: string): string {
  return title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
}
"""


@pytest.fixture
def needs_node():
    try:
        runtime_of("typescript", "candidate")
    except TaskError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("needs_node")
def test_a_check_calls_functions_of_typescript(pytester, run, replay):
    pytester.makepyfile(SLUG.format(prompt=SLUG_PROMPT, reference=SLUG_REFERENCE))
    answer = f"Types first:\n```ts\ntype T = string;\n```\n```ts\n{SLUG_REFERENCE}```"
    models = ["reference", replay({"test_slugify": [answer] * 2}, SLUG_PROMPT)]
    for model in models:
        run("--promptse-model", model).stdout.fnmatch_lines(["test_slugify   1.00 1.00 1.00 1.00*"])
    wrong = replay(
        {"test_slugify": ["```ts\nexport const slugify = (t: string) => t;\n```"] * 2}, SLUG_PROMPT
    )
    result = run("--promptse-model", wrong)
    result.stdout.fnmatch_lines(["test_slugify   0.00*"])


@pytest.mark.usefixtures("needs_node")
def test_a_name_to_call_is_needed(pytester, run):
    prompt = "Write a JavaScript function that adds two numbers."
    pytester.makepyfile(SLUG.format(prompt=prompt, reference=SLUG_REFERENCE))
    result = run("--promptse-model", "reference")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*test_slugify*cannot tell which name the prompt asks for*"])


CALLED_SUITE = """\
promptse: 1
settings: {variants: 1, samples: 1, original_samples: 1, language: typescript}
tasks:
  - id: slug
    prompt: "Write a function `slugify(title: string): string` that makes a slug of a title."
    reference: |
      export const slugify = (t: string): string => t.toLowerCase().replace(/[^a-z]+/g, "-");
    examples:
      - {call: 'slugify("Hello, World")', expect: hello-world}
  - id: stack
    prompt: "Write a TypeScript class `Stack()` whose pop throws a RangeError if it is empty."
    reference: |
      export class Stack<T> {
        constructor(private items: T[] = []) {}
        push(x: T) { this.items.push(x); }
        pop(): T {
          if (!this.items.length) throw new RangeError("empty");
          return this.items.pop()!;
        }
      }
    check: |
      stack = candidate()
      stack.push(1)
      assert stack.pop() == 1
      try:
          stack.pop()
      except ValueError as error:
          assert "empty" in str(error)
      else:
          raise AssertionError("pop of an empty stack")
"""


@pytest.mark.usefixtures("needs_node")
def test_suite_file_calls_functions_of_typescript(pytester, run):
    pytester.makefile(".promptse.yaml", called=CALLED_SUITE)
    run("--promptse-model", "reference").assert_outcomes(passed=12)


MULTIPL_E = """
import pytest
from pytest_promptse.tasks import multipl_e

@pytest.mark.promptse(multipl_e.tasks("copy.jsonl"), samples=1, original_samples=1, variants=1)
def test_copy(task, {door}):
    task.check({door})
"""
LARGER = {
    "name": "larger",
    "language": "sh",
    "prompt": "#!/bin/bash\n# Print the larger number.\nlarger() {\n",
    "tests": '}\ncandidate() {\n    larger "$@"\n}\n\nset -e\n[[ $(candidate 3 7) = 7 ]]\n',
    "stop_tokens": ["\n}"],
    "canonical_solution": "    echo $(( $1 > $2 ? $1 : $2 ))\n",
}


def test_a_copy_of_multipl_e_is_labelled_in_every_report(pytester, run_labelled):
    pytester.path.joinpath("copy.jsonl").write_text(json.dumps(LARGER))
    pytester.makepyfile(MULTIPL_E.format(door="program"))
    run_labelled(pytester.path)


CALLED_IN_BASH = """
promptse: 1
tasks:
  - id: total
    language: bash
    prompt: Write a script with a function `f(x)`.
    {check}
"""
CANNOT_BE_CALLED = "total*call*bash*program.run(stdin=...)"
# For each file: its text, and its error.
WRONG_FILES = {
    "test_unknown.py": (
        SUM.replace('"bash"', '"bahs"'),
        "test_sum, promptse mark, language: 'bahs' is not one of python,*did you mean 'bash'",
    ),
    "test_called.py": (
        SUM.replace("(program)", "(candidate)"),
        "a check cannot call functions of a program in bash; take the fixture 'program'",
    ),
    "test_both.py": (
        SUM.replace("(program)", "(program, candidate)"),
        "takes both 'candidate' and 'program'",
    ),
    "test_unmarked.py": (
        "def test_it(program):\n    program.run()\n",
        "test_it: takes 'program' but has no promptse mark",
    ),
    "test_copy.py": (
        MULTIPL_E.format(door="candidate"),
        "larger*take the fixture 'program' instead of 'candidate'",
    ),
    "check.promptse.yaml": (
        CALLED_IN_BASH.format(check="check: assert candidate(1) == 2"),
        CANNOT_BE_CALLED,
    ),
    "examples.promptse.yaml": (
        CALLED_IN_BASH.format(check="examples: [{call: f(1), expect: 2}]"),
        CANNOT_BE_CALLED,
    ),
}


def test_each_file_that_cannot_be_judged_is_told_before_anything_is_requested(
    pytester, run, replay
):
    pytester.path.joinpath("copy.jsonl").write_text(json.dumps(LARGER))
    for name, (text, _) in WRONG_FILES.items():
        pytester.path.joinpath(name).write_text(text)
    result = run("--promptse-model", replay({"test_sum": ["echo 3\n"] * 2}, PROMPT))
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.no_fnmatch_line("*Traceback*")
    told = {name: errors.splitlines() for name, errors in errors_of_files(result).items()}
    wanted = {name: f"*{error}*" for name, (_, error) in WRONG_FILES.items()}
    assert told.keys() == wanted.keys()
    assert {
        name: lines for name, lines in told.items() if not fnmatch.filter(lines, wanted[name])
    } == {}
