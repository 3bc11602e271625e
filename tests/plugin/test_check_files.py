"""Check files through pytest: the mark, suite files, reports, and mistakes before any request."""

from __future__ import annotations

import pytest

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


@pytest.mark.usefixtures("needs_node")
@pytest.mark.parametrize(
    ("program", "detail"),
    [
        ("export const slugify = (title: string) => title;", "*lowers: Expected*'A b' !== 'a-b'*"),
        (f"{SOLUTION}throw new Error('no program');", "*Error: no program*"),
        (f"{SOLUTION}if (slugify) process.exit(0);", "*ended without a test*"),
        (f"{SOLUTION}import 'node:test'; (process as any).reallyExit(0);", "*ended*"),
        # By CPU time or by the clock: on an idle machine both limits are reached together.
        ("export const slugify = () => { for (;;); };", "*2 of 2 completions: timeout*"),
    ],
    ids=["wrong", "throws", "exits", "exits at once", "loops"],
)
def test_a_program_that_does_not_pass_every_test_fails(project, run, replay, program, detail):
    project.makepyfile(MARK)
    model = replay({"test_slugify": [f"{program}\n"] * 2}, PROMPT)
    limits = ("--promptse-timeout", "1", "--promptse-min-pass-rate", "1", "-k", "original")
    result = run("--promptse-model", model, *limits)
    result.assert_outcomes(failed=1, deselected=7)
    result.stdout.fnmatch_lines([f"*{detail}"])


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


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[2][:40])
@pytest.mark.parametrize("source", ["mark", "suite"])
def test_a_mistake_is_one_line_before_anything_is_requested(project, run, replay, source, mistake):
    file, text, line = mistake
    if text is not None:
        project.path.joinpath(file).write_text(text)
    if source == "mark":
        project.makepyfile(MARK.replace("slug.test.ts", file))
    else:
        project.makefile(".promptse.yaml", slug=SUITE.replace("slug.test.ts", file))
    result = run("--promptse-model", replay({"test_slugify": [SOLUTION] * 2}, PROMPT))
    assert result.ret == 2
    result.stdout.fnmatch_lines([line])
    result.stdout.no_fnmatch_line("*Traceback*")


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


def test_a_check_file_needs_the_fixture_program(project, run):
    project.makepyfile(MARK.replace("program", "candidate"))
    result = run("--promptse-model", "reference")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*take the fixture 'program' instead of 'candidate'*"])
