"""Programs of all languages in the sandbox. A language without its toolchain is skipped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_promptse.config._options import LANGUAGES
from pytest_promptse.errors import SandboxError, TaskError
from pytest_promptse.runtimes import _runtime, _toolchains
from pytest_promptse.runtimes._fences import TAGS
from pytest_promptse.runtimes._runtime import _Run, runtime_of
from pytest_promptse.sandbox._limits import Limits

# Each prints its first argument, the variable NAME, the file data.txt and the standard input, one
# line each, and ends with status 3.
ECHO = {
    "python": """\
import os, sys
print(sys.argv[1], os.environ["NAME"], open("data.txt").read(), sys.stdin.read(), sep="\\n")
sys.exit(3)
""",
    "javascript": """\
const fs = require("fs");
console.log([process.argv[2], process.env.NAME, fs.readFileSync("data.txt", "utf8"),
             fs.readFileSync(0, "utf8")].join("\\n"));
process.exit(3);
""",
    "typescript": """\
import { readFileSync } from "node:fs";
const parts: (string | undefined)[] = [process.argv[2], process.env.NAME];
console.log([...parts, readFileSync("data.txt", "utf8"), readFileSync(0, "utf8")].join("\\n"));
process.exit(3);
""",
    "go": """\
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	data, _ := os.ReadFile("data.txt")
	input, _ := io.ReadAll(os.Stdin)
	fmt.Printf("%s\\n%s\\n%s\\n%s\\n", os.Args[1], os.Getenv("NAME"), data, input)
	os.Exit(3)
}
""",
    "c": """\
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    char data[99] = "", input[99] = "";
    FILE *file = fopen("data.txt", "r");
    fgets(data, 99, file);
    fgets(input, 99, stdin);
    printf("%s\\n%s\\n%s\\n%s\\n", argv[1], getenv("NAME"), data, input);
    return 3;
}
""",
    "cpp": """\
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
int main(int argc, char **argv) {
    std::string data, input;
    std::ifstream file("data.txt");
    std::getline(file, data);
    std::getline(std::cin, input);
    std::cout << argv[1] << "\\n" << std::getenv("NAME") << "\\n";
    std::cout << data << "\\n" << input << "\\n";
    return 3;
}
""",
    "rust": """\
use std::io::Read;
fn main() {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).unwrap();
    let data = std::fs::read_to_string("data.txt").unwrap();
    println!("{}\\n{}\\n{}\\n{}", std::env::args().nth(1).unwrap(),
             std::env::var("NAME").unwrap(), data, input);
    std::process::exit(3);
}
""",
    "java": """\
import java.nio.file.*;
import java.util.*;
public class Echo {
    public static void main(String[] args) throws Exception {
        String data = Files.readString(Path.of("data.txt"));
        String input = new String(System.in.readAllBytes());
        System.out.println(args[0] + "\\n" + System.getenv("NAME") + "\\n" + data + "\\n" + input);
        System.exit(3);
    }
}
""",
    "bash": 'printf "%s\\n%s\\n%s\\n%s\\n" "$1" "$NAME" "$(cat data.txt)" "$(cat)"\nexit 3\n',
    "ruby": 'puts ARGV[0], ENV["NAME"], File.read("data.txt"), STDIN.read\nexit 3\n',
    "php": """\
<?php
echo implode("\\n", [$argv[1], getenv("NAME"), file_get_contents("data.txt"),
                    stream_get_contents(STDIN)]), "\\n";
exit(3);
""",
}
BROKEN = {
    "go": "package main\nfunc main() { undefined() }\n",
    "c": "int main( { return 0; }\n",
    "cpp": "int main() { return missing; }\n",
    "rust": "fn main() { missing(); }\n",
    "java": "class Main { public static void main(String[] a) { missing(); } }\n",
}
LOOPS = {
    "javascript": "while (true) {}",
    "go": "package main\nfunc main() { for {} }",
    "java": "class Main { public static void main(String[] a) { while (true) {} } }",
    "bash": "while :; do :; done",
}


@pytest.mark.parametrize("language", sorted(ECHO))
def test_program_gets_its_arguments_environment_files_and_input(run, language):
    result = run(
        language,
        ECHO[language],
        stdin="from stdin",
        args=("an argument",),
        files={"data.txt": "from a file"},
        env={"NAME": "a variable"},
    )
    assert result.stdout.split("\n")[:4] == [
        "an argument",
        "a variable",
        "from a file",
        "from stdin",
    ], result.stderr
    assert result.returncode == 3


def test_sql_runs_after_the_statements_of_its_input(run):
    result = run(
        "sql",
        "SELECT name, count(*) AS n FROM pets GROUP BY name ORDER BY n DESC;\n",
        stdin="CREATE TABLE pets (name); INSERT INTO pets VALUES ('cat'), ('dog'), ('cat');",
        args=("-json",),
    )
    assert result.stdout == '[{"name":"cat","n":2},\n{"name":"dog","n":1}]\n'


def test_sql_error_ends_with_a_status(run):
    result = run("sql", "SELECT missing FROM nowhere;\n")
    assert result.returncode != 0
    assert "nowhere" in result.stderr


@pytest.mark.parametrize("language", sorted(BROKEN))
def test_program_that_does_not_build_fails_with_the_message_of_the_compiler(run, language):
    failure = run(language, BROKEN[language])
    assert failure.cause == "build"
    assert "main" in failure.detail.lower()


@pytest.mark.parametrize("language", sorted(LOOPS))
def test_endless_loop_is_a_timeout(run, language):
    assert run(language, LOOPS[language], wall=1.0).cause == "timeout"


def test_signal_is_reported_as_by_a_shell(run):
    assert run("bash", "kill -SEGV $$\n").returncode == 128 + 11


def test_java_class_may_have_any_name_and_package(run):
    program = """\
package com.example;

interface Shape { double area(); }

public class Area {
    public static void main(String[] args) {
        Shape shape = () -> 2.5;
        System.out.println(shape.area());
    }
}
"""
    assert run("java", program).stdout == "2.5\n"


def test_java_class_is_found_after_many_empty_lines(run):
    program = "\n" * 200_000 + (
        "public class Late { public static void main(String[] args) { System.out.print(1); } }"
    )
    assert run("java", program).stdout == "1"


def test_every_language_has_a_toolchain_and_fence_tags():
    assert tuple(_toolchains.TOOLCHAINS) == LANGUAGES == tuple(TAGS)


def test_unknown_language_names_the_nearest():
    with pytest.raises(TaskError, match=r"'gol' is not known: one of python.*did you mean"):
        runtime_of("gol", "program")


def test_program_of_another_language_cannot_be_called():
    with pytest.raises(TaskError, match="take the fixture 'program' instead of 'candidate'"):
        runtime_of("go", "candidate")


def test_missing_toolchain_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(_toolchains.shutil, "which", lambda *_, **__: None)
    _toolchains.installed.cache_clear()
    try:
        with pytest.raises(TaskError, match="go is not installed; apt-get install golang-go"):
            runtime_of("go", "program")
    finally:
        _toolchains.installed.cache_clear()


@pytest.mark.parametrize(
    ("folder", "shown"),
    [("", ["bin/bash", "lib/bash", "lib/libbash.so"]), (".local/", ["bin/bash"]), ("go/", [""])],
)
def test_toolchain_in_a_home_folder_does_not_show_the_home_folder(
    monkeypatch, tmp_path, folder, shown
):
    prefix = tmp_path / folder
    for name in ("bin/bash", "lib/bash/x", "lib/libbash.so", "secret"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (prefix / "bin").mkdir(parents=True, exist_ok=True)
    (prefix / "bin" / "bash").write_text("#!/bin/sh\necho 5.2\n")
    (prefix / "bin" / "bash").chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{prefix / 'bin'}:/bin")
    _toolchains.installed.cache_clear()
    try:
        folders = _toolchains.installed("bash").folders
    finally:
        _toolchains.installed.cache_clear()
    assert list(folders) == [str(prefix / name) for name in shown]


def test_toolchain_that_the_sandbox_does_not_show_is_no_failure_of_a_program(sandbox):
    bash = _toolchains.installed("bash")
    _Run(bash).check(sandbox)
    hidden = replace(bash, path="/nowhere/bin/bash")
    with pytest.raises(SandboxError, match=r"bash does not start in the sandbox .*; install it"):
        _Run(hidden).check(sandbox)


@pytest.mark.parametrize(
    ("compiler", "limits", "runs"),
    [
        # Other programs may have slowed it down, so it runs once more without them.
        ("sleep 9", Limits(wall=0.4, cpu=9), [False, True]),
        # It needs far longer than its processor time where many other processes run.
        ("while :; do :; done", Limits(wall=60, cpu=0.4), [False]),
    ],
)
def test_a_build_that_is_stopped_by_the_clock_is_confirmed_alone(
    sandbox, monkeypatch, compiler, limits, runs
):
    load, loads = sandbox.load, []

    def noted_load(*args, alone=False, **names):
        loads.append(alone)
        return load(*args, alone=alone, **names)

    monkeypatch.setattr(sandbox, "load", noted_load)
    monkeypatch.setattr(_runtime, "_BUILD_LIMITS", limits)
    command = ["/bin/bash", "-c", compiler]
    plan = {"files": {}, "command": command, "environment": {}, "collect": "made"}
    failure = _runtime._build(plan, sandbox)
    assert failure.cause == "build"
    assert failure.detail.startswith("the compiler was stopped: timeout")
    assert loads == runs
