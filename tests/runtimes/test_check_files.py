"""What is read of a check file: the program's place, the files that it needs, and its exports."""

from __future__ import annotations

import json

import pytest

from pytest_promptse.errors import TaskError
from pytest_promptse.runtimes._check_files import node_packages, read_check_file


@pytest.fixture
def project(tmp_path):
    """Write the files of a project, and return its check file."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return read_check_file(tmp_path / next(iter(files)))

    return write


def test_program_stands_where_the_test_imports_it_from(project):
    check_file = project(
        {
            "tests/slug.test.ts": 'import { slugify, type Options } from "../src/slug.js";\n'
            'import cases from "./cases.json";\nimport { it } from "vitest";\n',
            "tests/cases.json": "[]",
            "src/slug.ts": 'import { helper } from "./helper.js";\n',
            "src/helper.ts": "",
            "package.json": "{}",
        }
    )
    assert (check_file.test, check_file.program) == ("tests/slug.test.ts", "src/slug.ts")
    assert sorted(check_file.files) == [
        "src/helper.ts",
        "tests/cases.json",
        "tests/slug.test.ts",
    ]
    assert check_file.names == ("slugify",)
    assert check_file.solution == 'import { helper } from "./helper.js";\n'
    assert (check_file.runner.name, check_file.language) == ("vitest", "typescript")


def test_helpers_of_helpers_and_snapshots_are_taken_along(project):
    check_file = project(
        {
            "slug.spec.js": 'const { slugify } = require("./slug");\nrequire("./a");\n',
            "a.js": 'export * from "./b/index.mjs";\nimport "./a";\n',
            "b/index.mjs": "",
            "__snapshots__/slug.spec.js.snap": "exports[`1`] = `x`;\n",
            "other.js": "",
        }
    )
    assert sorted(check_file.files) == [
        "__snapshots__/slug.spec.js.snap",
        "a.js",
        "b/index.mjs",
        "slug.spec.js",
    ]
    assert (check_file.program, check_file.language) == ("slug.js", "javascript")


def test_an_import_in_a_comment_is_none(project):
    text = '// import "./old";\n/*\n * import "./older";\n */\nimport { x } from "./x";\n'
    assert [*project({"x.test.ts": text}).files] == ["x.test.ts"]


def test_go_package_is_taken_along_without_other_tests(project):
    check_file = project(
        {
            "slug_test.go": "package slug\n",
            "slug.go": "package slug\n",
            "options.go": "package slug // all\n",
            "options_test.go": "package slug\n",
        }
    )
    assert sorted(check_file.files) == ["options.go", "slug_test.go"]
    sources = check_file.sources("// A comment.\n\npackage main\n\nfunc Slug() {}\n")
    assert sources["slug.go"] == "// A comment.\n\npackage slug\n\nfunc Slug() {}\n"


@pytest.mark.parametrize(
    ("program", "added"),
    [
        ("function parse() {}\nclass Stack {}\n", "export { parse, Stack };"),
        ("export function parse() {}\nconst Stack = class {};\n", "export { Stack };"),
        ("export default class Stack {}\nexport const parse = 1;\n", "export { Stack };"),
        ("const parse = 1;\nclass Stack {}\nexport { parse, Stack };\n", ""),
        ("function other() {}\n", ""),
        ("function parse() {}\nmodule.exports = { parse };\n", ""),
    ],
)
def test_names_that_the_test_imports_are_exported(project, program, added):
    check_file = project({"x.test.ts": 'import { parse as p, Stack } from "./x";\n'})
    assert check_file.sources(program)["x.ts"].removeprefix(program).strip() == added


def test_a_default_import_is_exported(project):
    check_file = project({"x.test.ts": 'import parse, { Stack } from "./x";\n'})
    source = check_file.sources("function parse() {}\n")["x.ts"]
    assert source.endswith("\nexport default parse;\n")
    source = check_file.sources("export default () => 1;\nconst parse = 2;\n")["x.ts"]
    assert "export default parse" not in source


def test_text_that_is_no_utf8_is_one_line(tmp_path):
    path = tmp_path / "x.test.ts"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(TaskError, match="not UTF-8 text"):
        read_check_file(path)


def test_vitest_is_found_above_and_behind_links(project, tmp_path):
    files = {
        "packages/a/x.test.ts": 'import { x } from "./x";\n',
        "node_modules/.pnpm/vitest@4/node_modules/vitest/package.json": json.dumps(
            {"version": "4.1.2"}
        ),
    }
    check_file = project(files)
    with pytest.raises(TaskError, match="npm install --save-dev vitest"):
        node_packages(check_file)
    own = tmp_path / "packages/a/node_modules"
    own.mkdir()
    (own / "vitest").symlink_to("../../../node_modules/.pnpm/vitest@4/node_modules/vitest")
    packages = node_packages(check_file)
    assert packages.version == "4.1.2"
    assert packages.folders == (str(own), str(tmp_path / "node_modules"))


def test_an_old_vitest_is_one_line(project):
    check_file = project(
        {
            "x.test.ts": 'import { x } from "./x";\n',
            "node_modules/vitest/package.json": '{"version": "2.1.9"}',
        }
    )
    with pytest.raises(TaskError, match=r"vitest is 2\.1\.9, and 3 is needed; npm install"):
        node_packages(check_file)
