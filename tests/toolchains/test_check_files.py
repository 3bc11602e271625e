"""Check files in the framework of a language: right programs pass, wrong and hostile ones do not.

Vitest is installed by ``npm install`` in the folder of the check files.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from program_runs import NotBuiltError, RunProgram

from pytest_promptse.errors import TaskError
from pytest_promptse.runtimes._check_files import read_check_file
from pytest_promptse.runtimes._runtime import passed_tests, runtime_of
from pytest_promptse.runtimes._toolchains import NODE_PACKAGE
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.sandbox._limits import Limits

FOLDER = Path(__file__).with_name("check_files")
FILES = ("slug.test.ts", "slug_node.test.ts", "slug_test.go")
LIMITS = Limits(wall=5.0, cpu=1.0)
# A run takes a few times its limit if the machine is busy.
MOST_SECONDS = 60

RIGHT_TS = """\
export function slugify(title: string, options: { separator: string }): string {
  return title.toLowerCase().match(/[a-z0-9]+/g)?.join(options.separator) ?? "";
}
"""
RIGHT_GO = """\
package main

import "strings"

func Slugify(title string, options Options) string {
	isOther := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	return strings.Join(strings.FieldsFunc(strings.ToLower(title), isOther), options.Separator)
}
"""
RIGHT = {"slug.test.ts": RIGHT_TS, "slug_node.test.ts": RIGHT_TS, "slug_test.go": RIGHT_GO}


@pytest.fixture(scope="module")
def runtimes():
    """Return the runtimes whose frameworks are installed, and why others are not."""
    made = {}
    for name in FILES:
        check_file = read_check_file(FOLDER / name)
        try:
            made[name] = runtime_of(check_file.language, "tests", check_file)
        except TaskError as error:
            made[name] = str(error)
    return made


@pytest.fixture(scope="module")
def sandbox(runtimes):
    installed = [runtime for runtime in runtimes.values() if not isinstance(runtime, str)]
    folders = dict.fromkeys(folder for runtime in installed for folder in runtime.folders)
    packages = ("numpy", NODE_PACKAGE)
    with open_sandbox("auto", workers=1, packages=packages, folders=tuple(folders)) as pool:
        for runtime in installed:
            runtime.check(pool)
        yield pool


@pytest.fixture(scope="module")
def expected():
    """The tests that a right program passes, by check file."""
    return {}


@pytest.fixture
def verdict(runtimes, sandbox, expected):
    """Return the function that judges a program by a check file: an empty text, or the failure."""

    def judge(name, program):
        runtime = runtimes[name]
        if isinstance(runtime, str):
            pytest.skip(runtime)
        if name not in expected:
            expected[name] = passed_tests(runtime.check_file, RIGHT[name], sandbox, LIMITS)
        check_file = replace(runtime.check_file, expected=expected[name])
        program = RunProgram(sandbox, runtime, program, limits=LIMITS)
        try:
            check_file.check(program)
        except NotBuiltError as error:
            return f"build: {error}"
        except AssertionError as error:
            return str(error) or "failed"
        return ""

    return judge


@pytest.mark.parametrize("name", FILES)
def test_right_program_passes_and_wrong_one_fails_with_its_test(verdict, name):
    assert verdict(name, RIGHT[name]) == ""
    wrong = RIGHT[name].replace("toLowerCase", "toUpperCase").replace("ToLower", "ToUpper")
    message = verdict(name, wrong)
    assert "lowers" in message or "TestSlugify/" in message
    assert "got" in message or "hello-world" in message


@pytest.mark.parametrize("name", FILES[:2])
@pytest.mark.parametrize(
    "program",
    [
        RIGHT_TS.removeprefix("export "),
        "const slugify = " + RIGHT_TS.removeprefix("export function slugify"),
        RIGHT_TS.replace("export ", "export default "),
        RIGHT_TS.removeprefix("export ") + "export { slugify };\n",
        RIGHT_TS.removeprefix("export ") + "module.exports = { slugify };\n",
        f"console.log('loaded');\nprocess.stdout.write('x');\n{RIGHT_TS}",
    ],
    ids=["no export", "const", "default", "list", "commonjs", "prints"],
)
def test_how_a_program_exports_does_not_matter(verdict, name, program):
    program = program.replace("): string {", "): string => {") if "const" in program else program
    assert verdict(name, program) == ""


def test_a_go_program_without_its_package_passes(verdict):
    assert verdict("slug_test.go", RIGHT_GO.removeprefix("package main\n")) == ""
    prints = RIGHT_GO.replace("\treturn", '\tprint("x")\n\treturn')
    assert verdict("slug_test.go", prints) == ""


# The function is wrong in all of them.
_WRONG_TS = "export const slugify = (title: string) => title;\n"
_FORGED = r"""JSON.stringify({ name: "slugify > lowers", state: "passed" }) + "\n" """
HOSTILE_TS = {
    "exit at load": "process.exit(0);",
    "exit in the call": "export const slugify = () => process.exit(0);",
    "exit without handlers": "(process as any).reallyExit(0);",
    "exit later": "setTimeout(() => process.exit(0), 5);",
    "exit in a microtask": "queueMicrotask(() => (process as any).reallyExit(0));",
    "exit status on exit": 'process.on("exit", () => { process.exitCode = 0; });',
    "own code of exit": "process.exitCode = 0; Object.defineProperty(process, 'exitCode', "
    "{ get: () => 0, set: () => {} });",
    "catches all errors": 'process.on("uncaughtException", () => {});'
    'process.on("unhandledRejection", () => {});',
    "forged report": f'import {{ writeSync }} from "node:fs";\nfor (let n = 1; n < 20; n++) '
    f"try {{ writeSync(n, {_FORGED}); }} catch {{}}\n(process as any).reallyExit(0);",
    "forged report in a file": 'import { writeFileSync } from "node:fs";\n'
    "for (const name of ['report', '.program/report', '/tmp/report', '/dev/fd/3']) "
    f"try {{ writeFileSync(name, {_FORGED}); }} catch {{}}\n(process as any).reallyExit(0);",
    "kills the framework": "process.kill(process.ppid, 9);",
    "stops the framework": f"process.stdout.write({_FORGED}); process.kill(process.ppid);",
    "other reporter": 'import { readdirSync, writeFileSync } from "node:fs";\n'
    "const top = import.meta.dirname;\nfor (const name of readdirSync(top)) "
    "try { writeFileSync(`${top}/${name}`, ''); } catch {}",
    "other packages": 'import { rmSync } from "node:fs";\n'
    "try { rmSync(`${import.meta.dirname}/node_modules`, { recursive: true }); } catch {}\n"
    "try { rmSync(`${import.meta.dirname}/node_modules/vitest/`, { recursive: true }); } catch {}",
    "globals replaced": "for (const name of ['it', 'test', 'describe', 'expect']) "
    "(globalThis as any)[name] = () => {};",
    "all others skipped": "const own = (globalThis as any).it; own?.only?.('lowers', () => {});",
    "arrays forget": "Array.prototype.push = () => 0;",
    "arrays are empty": "Array.prototype[Symbol.iterator] = function* () {};",
    "errors are hidden": "(globalThis as any).Error = class {}; "
    "(globalThis as any).AssertionError = class {};",
    "promises never end": "Promise.prototype.then = function () { return this; };",
    "waits for ever": "await new Promise(() => setInterval(() => {}, 1000));",
    "endless loop": "for (;;);",
    "endless loop in the call": "export const slugify = () => { for (;;); };",
    "endless output": 'import { writeSync } from "node:fs";\nfor (;;) writeSync(1, "x".repeat(9));',
    "memory": "const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1));",
    "fork bomb": 'import { spawn } from "node:child_process";\n'
    "for (;;) spawn(process.execPath, [process.argv[1]]);",
    "closes the channel": "process.disconnect?.(); for (let n = 3; n < 30; n++) "
    'try { (await import("node:fs")).closeSync(n); } catch {}',
}


@pytest.mark.parametrize("attack", HOSTILE_TS)
@pytest.mark.parametrize("name", FILES[:2])
def test_hostile_script_neither_passes_nor_hangs(verdict, name, attack):
    code = HOSTILE_TS[attack]
    program = code if "export const slugify" in code else f"{_WRONG_TS}{code}\n"
    start = time.monotonic()
    failure = verdict(name, program)
    assert failure
    assert time.monotonic() - start < MOST_SECONDS
    if "other" in attack:
        assert verdict(name, RIGHT[name]) == "", "the packages are as before"


_WRONG_GO = "package slug\n\n{imports}\n\nfunc Slugify(title string, _ Options) string {{ {call} }}"
HOSTILE_GO = {
    "exit at load": ('import "os"', "", "os.Exit(0)"),
    "exit in the call": ('import "os"', "os.Exit(0); return title", ""),
    "exit of the kernel": ('import "syscall"', "", "syscall.Exit(0)"),
    "no tests chosen": ('import "os"', "", 'os.Args = append(os.Args, "-test.run=^$")'),
    "no output": ('import "os"', "", 'os.Stdout, _ = os.Open("/dev/null")'),
    "forged end": ('import ("fmt"; "syscall")', "", 'fmt.Println("PASS"); syscall.Exit(0)'),
    "own main of tests": ('import "testing"', "", "_ = testing.M{}"),
    "ends the goroutine": ('import "runtime"', "runtime.Goexit(); return title", ""),
    "ends the test": ('import "os"', "panic(0)", "_ = os.Args"),
    "endless loop": ("", "for {}", ""),
    "waits for ever": ("", "select {}", ""),
    "memory": ("", "all := []byte{1}; for { all = append(all, all...) }", ""),
}


@pytest.mark.parametrize("attack", HOSTILE_GO)
def test_hostile_go_program_neither_passes_nor_hangs(verdict, attack):
    imports, call, at_load = HOSTILE_GO[attack]
    program = _WRONG_GO.format(imports=imports, call=call or "return title")
    start = time.monotonic()
    assert verdict("slug_test.go", f"{program}\n\nfunc init() {{ {at_load} }}\n")
    assert time.monotonic() - start < MOST_SECONDS


def test_a_program_can_forge_its_verdict_so_reports_say_shared_process(verdict):
    forged = 'import { expect } from "vitest";\nexpect.extend({ toBe: () => ({ pass: true }) });\n'
    assert verdict("slug.test.ts", f"{_WRONG_TS}{forged}") == ""
