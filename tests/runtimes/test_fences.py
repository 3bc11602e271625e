"""Answers as models write them, in every language: the program is found in at least 19 of 20."""

from __future__ import annotations

from functools import partial

import pytest

from pytest_promptse.runtimes import _syntax
from pytest_promptse.runtimes._fences import TAGS, extract_fenced

PROGRAMS = {
    "javascript": """\
const lines = require("fs").readFileSync(0, "utf8").trim().split("\\n");
let total = 0;
for (const line of lines) {
  total += Number(line);
}
console.log(`${total}`);
""",
    "typescript": """\
import { readFileSync } from "node:fs";

const lines: string[] = readFileSync(0, "utf8").trim().split("\\n");
const total: number = lines.map(Number).reduce((a, b) => a + b, 0);
console.log(total);
""",
    "go": """\
package main

import "fmt"

func main() {
	total, number := 0, 0
	for {
		if _, err := fmt.Scan(&number); err != nil {
			break
		}
		total += number
	}
	fmt.Println(total)
}
""",
    "c": """\
#include <stdio.h>

int main(void) {
    int number, total = 0;
    while (scanf("%d", &number) == 1) {
        total += number;
    }
    printf("%d\\n", total);
    return 0;
}
""",
    "cpp": """\
#include <iostream>
#include <vector>

int main() {
    std::vector<int> numbers;
    for (int number; std::cin >> number;) numbers.push_back(number);
    int total = 0;
    for (auto number : numbers) total += number;
    std::cout << total << '\\n';
}
""",
    "rust": """\
use std::io::{self, BufRead};

fn main() {
    let total: i64 = io::stdin()
        .lock()
        .lines()
        .map(|line| line.unwrap().trim().parse::<i64>().unwrap())
        .sum();
    println!("{}", total);
}
""",
    "java": """\
import java.util.Scanner;

public class Main {
    public static void main(String[] args) {
        Scanner scanner = new Scanner(System.in);
        int total = 0;
        while (scanner.hasNextInt()) {
            total += scanner.nextInt();
        }
        System.out.println(total);
    }
}
""",
    "bash": """\
#!/usr/bin/env bash
set -euo pipefail
total=0
while read -r number; do
  total=$((total + number))
done
echo "$total"
""",
    "ruby": """\
total = 0
STDIN.each_line do |line|
  total += line.to_i
end
puts total
""",
    "php": """\
<?php
$total = 0;
while (($line = fgets(STDIN)) !== false) {
    $total += (int) $line;
}
echo $total, PHP_EOL;
""",
    "sql": """\
SELECT
  category,
  SUM(amount) AS total
FROM payments
WHERE amount > 0
GROUP BY category
ORDER BY total DESC;
""",
}
FRAGMENTS = {
    "javascript": "total += Number(line);",
    "typescript": "lines.map(Number)",
    "go": "total += number",
    "c": "total += number;",
    "cpp": "total += number;",
    "rust": ".sum();",
    "java": "total += scanner.nextInt();",
    "bash": "total=$((total + number))",
    "ruby": "total += line.to_i",
    "php": "$total += (int) $line;",
    "sql": "SUM(amount) AS total",
}
TESTS = {
    "go": 'package main\n\nimport "testing"\n\nfunc TestSum(t *testing.T) {\n\tt.Skip()\n}\n',
    "rust": "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n",
    "java": "class MainTest {\n    @Test\n    void adds() {}\n}\n",
    "javascript": 'test("adds", () => {\n  expect(1).toBe(1);\n});\n',
    "typescript": 'test("adds", () => {\n  expect(1).toBe(1);\n});\n',
    "bash": "printf '1\\n2\\n' | ./sum.sh\n",
    "sql": "INSERT INTO payments VALUES ('a', 1);\n",
}


def _draft(program: str) -> str:
    """Return a version with a syntax error in its last lines."""
    return program.rstrip().rstrip(");}\ndone") + " ((\n"


SHAPES = {
    "a fence": "```{tag}\n{program}```\n",
    "prose around": "Sure! Here is it:\n\n```{tag}\n{program}```\n\nIt reads all numbers.\n",
    "another tag of the language": "```{alias}\n{program}```\n",
    "no tag": "Here you go:\n\n```\n{program}```\n",
    "a title in the fence": '```{tag} title="sum"\n{program}```\n',
    "a file name in the fence": "```{tag}:src/sum\n{program}```\n",
    "no fence": "{program}",
    "usage": "```{tag}\n{program}```\n\nRun it:\n\n```console\n$ ./sum < numbers.txt\n```\n",
    "output": "```{tag}\n{program}```\n\nFor `1` and `2` it prints:\n\n```\n3\n```\n",
    "a draft, then the right one": (
        "```{tag}\n{draft}```\n\nWait, that has a mistake. Corrected:\n\n```{tag}\n{program}```\n"
    ),
    "a fragment before": (
        "The core is:\n\n```{tag}\n{fragment}\n```\n\nAll of it:\n\n```{tag}\n{program}```\n"
    ),
    "a fragment after": (
        "```{tag}\n{program}```\n\nThe important line is\n\n```{tag}\n{fragment}\n```\n"
    ),
    "in a list": "1. The program:\n\n   ```{tag}\n{indented}   ```\n\n2. Run it.\n",
    "tildes": "~~~{tag}\n{program}~~~\n",
    "four backticks": "````{tag}\n{program}````\n",
    "thoughts": "<think>\nMaybe\n```{tag}\n{draft}```\n</think>\n\n```{tag}\n{program}```\n",
    "tests": "```{tag}\n{program}```\n\nAnd a test:\n\n```{tag}\n{tests}```\n",
    "no end": "Here it is:\n\n```{tag}\n{program}",
    "a capital tag": "```{capital}\n{program}```\n",
    "a file of the project": (
        '```json\n{{"name": "sum", "private": true}}\n```\n\n```{tag}\n{program}```\n'
    ),
}


def _is_found(language: str, shape: str, *, newline: str = "\n") -> bool:
    program = PROGRAMS[language]
    tags = TAGS[language]
    text = SHAPES[shape].format(
        tag=tags[0],
        alias=tags[-1],
        capital=tags[0].upper(),
        program=program,
        draft=_draft(program),
        fragment=FRAGMENTS[language],
        tests=TESTS.get(language, FRAGMENTS[language] + "\n"),
        indented="".join(f"   {line}\n" if line else "\n" for line in program.splitlines()),
    )
    found = extract_fenced(
        text.replace("\n", newline), language=language, form="chat", finish_reason="stop"
    ).program
    return found is not None and found.replace("\r", "").strip() == program.strip()


@pytest.mark.parametrize("language", PROGRAMS)
def test_program_is_found_in_answers_as_models_write_them(language):
    pytest.importorskip("tree_sitter_language_pack")
    missed = [shape for shape in SHAPES if not _is_found(language, shape)]
    assert len(SHAPES) == 20
    assert len(missed) <= 1, missed


@pytest.mark.parametrize("language", PROGRAMS)
def test_without_grammars_fences_find_most_programs(language, monkeypatch):
    monkeypatch.setattr(_syntax, "_parser", lambda _: None)
    found = [shape for shape in SHAPES if _is_found(language, shape)]
    assert len(found) >= 17, set(SHAPES) - set(found)


def test_lines_may_end_as_on_windows():
    assert _is_found("go", "prose around", newline="\r\n")


def test_a_block_that_the_token_limit_cuts_off_is_truncated():
    extract = partial(extract_fenced, language="go", form="chat", finish_reason="length")
    assert extract("```go\npackage main\n").cause == "truncated"
    complete = extract(f"```go\n{PROGRAMS['go']}```\n\nIt works as fol")
    assert complete.program == PROGRAMS["go"]


@pytest.mark.parametrize(
    "text", ["", "I cannot help with that.", "Use a loop; it is simple.", "No."]
)
def test_prose_is_no_program(text):
    pytest.importorskip("tree_sitter_language_pack")
    for language in PROGRAMS:
        result = extract_fenced(text, language=language, form="chat", finish_reason="stop")
        assert result.cause == "no_code", language


@pytest.mark.parametrize("language", ["go", "bash", "ruby", "java", "c"])
def test_many_empty_lines_take_no_time(language):
    fenced = f"```{language}\n" + "\n" * 200_000 + "x\n```\nand\n```\ny\n```\n"
    for text in (fenced, "x" + "\n" * 200_000 + "y"):
        extract_fenced(text, language=language, form="completion", finish_reason="stop")


def test_many_errors_of_syntax_take_no_time():
    text = "<pre><code>" * 15_000
    found = extract_fenced(text, language="bash", form="chat", finish_reason="stop")
    assert found.cause == "no_code"
