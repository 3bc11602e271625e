"""Check files through pytest: the mark, suite files, reports, and mistakes before any request."""

from __future__ import annotations

import fnmatch
import json

import pytest
from collected_errors import errors_of_files

from pytest_promptse.errors import TaskError
from pytest_promptse.runtimes._runtime import runtime_of

PROMPT = "Write a TypeScript function `slugify(title: string): string` that makes a slug."
TEST = """\
import assert from "node:assert/strict";
import { test } from "node:test";
import { slugify } from "./slug.ts";

test("lowers", () => assert.equal(slugify("A b"), "a-b"));
test("is empty", () => assert.equal(slugify(""), ""));
"""
SOLUTION = """\
export function slugify(title: string): string {
  return title.toLowerCase().replace(/ /g, "-");
}
"""
MARK = f"""
import pytest

@pytest.mark.promptse({PROMPT!r}, check="slug.test.ts", samples=2, original_samples=2, variants=1)
def test_slugify(task, program):
    task.check(program)
"""
SUITE = f"""\
promptse: 1
settings: {{samples: 2, original_samples: 2, variants: 1}}
tasks:
  - id: slug
    prompt: "{PROMPT}"
    check: slug.test.ts
"""


@pytest.fixture
def project(pytester):
    """Make a folder with a check file and the team's own solution."""
    pytester.path.joinpath("slug.test.ts").write_text(TEST)
    pytester.path.joinpath("slug.ts").write_text(SOLUTION)
    return pytester


@pytest.fixture
def needs_node():
    try:
        runtime_of("typescript", "candidate")
    except TaskError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("needs_node")
@pytest.mark.parametrize("source", ["mark", "suite"])
def test_check_file_judges_programs_and_every_report_says_shared_process(
    project, run_labelled, replay, source
):
    if source == "mark":
        project.makepyfile(MARK)
    else:
        project.makefile(".promptse.yaml", slug=SUITE)
    run_labelled(project.path)


# For each program: its text, and its failure.
FAILING = {
    "test_wrong": (
        "export const slugify = (title: string) => title;",
        "*lowers: Expected*'A b' !== 'a-b'*",
    ),
    "test_throws": (f"{SOLUTION}throw new Error('no program');", "*Error: no program*"),
    "test_exits": (f"{SOLUTION}if (slugify) process.exit(0);", "*ended without a test*"),
    "test_exits_at_once": (
        f"{SOLUTION}import 'node:test'; (process as any).reallyExit(0);",
        "*ended*",
    ),
    # By CPU time or by the clock: on an idle machine both limits are reached together.
    "test_loops": ("export const slugify = () => { for (;;); };", "timeout"),
}


@pytest.mark.usefixtures("needs_node")
def test_a_program_that_does_not_pass_every_test_fails(project, run, replay):
    head, _, test = MARK.replace("amples=2", "amples=1").partition("@")
    tests = [f"@{test.replace('test_slugify', name)}" for name in FAILING]
    project.makepyfile("\n".join([head, *tests]))
    model = replay({name: [f"{program}\n"] for name, (program, _) in FAILING.items()}, PROMPT)
    limits = ("--promptse-timeout", "1", "--promptse-min-pass-rate", "1", "-k", "original")
    result = run("--promptse-model", model, *limits, "--promptse-report", "json:run.json")
    result.assert_outcomes(failed=len(FAILING), deselected=7 * len(FAILING))
    record = json.loads((project.path / "run.json").read_text())
    failures = {task["id"]: task["original"] for task in record["tasks"]}
    assert failures.pop("test_loops")["causes"] == {"timeout": 1}
    for name, original in failures.items():
        [detail] = original["details"].values()
        assert fnmatch.fnmatchcase(detail, FAILING[name][1])


@pytest.mark.usefixtures("needs_node")
def test_tests_that_the_reference_passes_are_expected_of_every_program(project, run, replay):
    # The reference passes two tests, and the program is judged by a single one.
    project.path.joinpath("slug.test.ts").write_text(
        TEST + 'if (!("forgets" in globalThis)) test("more", () => {});\n'
    )
    project.makepyfile(MARK)
    program = f"{SOLUTION}\n(globalThis as any).forgets = 1;\n"
    model = replay({"test_slugify": [program] * 2}, PROMPT)
    result = run("--promptse-model", model, "--promptse-min-pass-rate", "1", "-k", "original")
    result.assert_outcomes(failed=1, deselected=7)
    result.stdout.fnmatch_lines(["*1 of 3 tests are missing in the report of node:test*'more'*"])


@pytest.mark.usefixtures("needs_node")
def test_a_reference_that_fails_the_check_file_is_an_error(project, run, replay):
    project.path.joinpath("slug.ts").write_text("export const slugify = (title: string) => 1;\n")
    project.makepyfile(MARK)
    model = replay({"test_slugify": [SOLUTION] * 2}, PROMPT)
    result = run("--promptse-model", model, "-k", "original")
    result.stdout.fnmatch_lines(["*its own reference fails its check (wrong_answer: *lowers*"])


MISTAKES = [
    ("slug.tests.ts", None, "*'slug.tests.ts': no test framework here has such files*"),
    ("slug.rs", None, "*'slug.rs': no test framework here has such files; name it *_test.go*"),
    ("slgu.test.ts", None, "*'slgu.test.ts': cannot be read*did you mean 'slug.test.ts'*"),
    ("none.test.ts", "", "*does not import the program; import it from './none'*"),
    ("x.test.ts", 'import { x } from "./x.ts";\n', "*vitest is not in a node_modules*npm *"),
    ("x_test.go", "package x\n", "*x_test.go': is in go, but the programs are in typescript*"),
    (
        "x.test.ts",
        'import "./x";\nimport { y } from "./y";\n',
        "*imports './y', which does not exist*",
    ),
    ("x.test.ts", 'import "./x";\nimport "../y";\n', "*imports '../y' from outside of*"),
]


@pytest.mark.parametrize("source", ["mark", "suite"])
def test_each_mistake_is_told_before_anything_is_requested(project, run, replay, source):
    for number, (file, text, _) in enumerate(MISTAKES):
        folder = project.mkdir(f"mistake_{number}")
        (folder / "slug.test.ts").write_text(TEST)
        (folder / "slug.ts").write_text(SOLUTION)
        if text is not None:
            (folder / file).write_text(text)
        name, content = {
            "mark": (f"test_{number}.py", MARK),
            "suite": (f"{number}.promptse.yaml", SUITE),
        }[source]
        (folder / name).write_text(content.replace("slug.test.ts", file))
    if source == "mark":
        project.makepyfile(test_fixture=MARK.replace("program", "candidate"))
    result = run("--promptse-model", replay({"test_slugify": [SOLUTION] * 2}, PROMPT))
    assert result.ret == 2
    result.stdout.no_fnmatch_line("*Traceback*")
    told = {name.partition("/")[0]: text for name, text in errors_of_files(result).items()}
    if source == "mark":
        assert "take the fixture 'program' instead of 'candidate'" in told.pop("test_fixture.py")
    wanted = {f"mistake_{number}": line for number, (_, _, line) in enumerate(MISTAKES)}
    assert told.keys() == wanted.keys()
    found = {name: fnmatch.filter(told[name].splitlines(), wanted[name]) for name in wanted}
    assert [told[name] for name, lines in found.items() if not lines] == []


def test_a_missing_toolchain_is_one_line_before_anything_is_requested(
    project, run, replay, monkeypatch
):
    project.path.joinpath("slug_test.go").write_text("package slug\n")
    source = MARK.replace("slug.test.ts", "slug_test.go").replace("a TypeScript", "a Go")
    project.makepyfile(source)
    monkeypatch.setenv("PATH", str(project.path))
    result = run("--promptse-model", replay({"test_slugify": ["x"] * 2}, PROMPT))
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*go is not installed; apt-get install golang-go"])
    result.stdout.no_fnmatch_line("*Traceback*")
