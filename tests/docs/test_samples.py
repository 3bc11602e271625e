"""Code, settings and data in the docs are what they claim to be."""

from __future__ import annotations

import ast
import configparser
import json
import re
import shlex
import sys
import tomllib

import pytest
import yaml
from markdown_it import MarkdownIt
from pages import PAGES, ROOT, blocks
from stand_ins import environment

from pytest_promptse.cli._main import make_parser
from pytest_promptse.config._options import OPTIONS

BLOCKS = [block for page in PAGES for block in blocks(page)]


def inline_code(page) -> set[str]:
    """Return the inline code of a page."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    within = (child for token in tokens for child in token.children or ())
    return {child.content for child in within if child.type == "code_inline"}


# A reader's copy of MultiPL-E, which a page names.
MULTIPL_E = {
    "name": "Mine_0_add",
    "language": "ts",
    "prompt": "//Add two numbers.\nfunction add(a: number, b: number): number {\n",
    "tests": "if (add(1, 2) !== 3) throw new Error();\n",
    "stop_tokens": [],
}

# A reader's test file, which a page names.
CHECK_FILE = 'import "node:test";\nimport { slugify } from "./slug.ts";\n'

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@each_page
def test_every_option_that_a_page_names_exists(page):
    text = page.read_text(encoding="utf-8")
    flags = {option.flag for option in OPTIONS.values()}
    if page.name == "own-metric.md":
        flags.add("--promptse-min-worst-rate")  # the metric of the page
    assert set(re.findall(r"--promptse-[a-z][a-z0-9-]*[a-z0-9]", text)) <= flags
    named = {name for code in inline_code(page) for name in re.findall(r"^promptse_(\w+) =", code)}
    assert named <= set(OPTIONS)


@each_page
def test_every_command_within_a_sentence_is_one(page):
    for code in inline_code(page):
        command, *words = shlex.split(code) if code.startswith("promptse ") else [""]
        if command and not names_a_command(words):
            make_parser().parse_args(words)


def names_a_command(words: list[str]) -> bool:
    """Return whether `words` are the name of a command, without its arguments."""
    parser = make_parser()
    for word in words:
        choices = next((action.choices for action in parser._actions if action.choices), {})
        if word not in choices:
            return False
        parser = choices[word]
    return True


def of(*languages):
    return pytest.mark.parametrize(
        "block", [block for block in BLOCKS if block.language in languages], ids=lambda b: b.id
    )


@of("python")
def test_python_is_python(block):
    ast.parse(block.text)


@pytest.mark.parametrize(
    "block",
    [b for b in BLOCKS if b.language == "python" and "@pytest.mark.promptse" in b.text],
    ids=lambda block: block.id,
)
def test_a_marked_test_is_collected(block, tmp_path, fork_server):
    (tmp_path / "test_it.py").write_text(block.text)
    (tmp_path / "humaneval-ts-reworded.jsonl").write_text(json.dumps(MULTIPL_E))
    (tmp_path / "slug.test.ts").write_text(CHECK_FILE)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--promptse-model", "tiny"]
    done = fork_server.run(command, cwd=str(tmp_path), env=environment(tmp_path))
    assert done.returncode == 0, done.stdout
    assert "[auc-e]" in done.stdout


@of("ini")
def test_settings_exist_and_are_accepted(block):
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(block.text)
    for name, value in parser["pytest"].items():
        option = OPTIONS[name.removeprefix("promptse_")]
        lines = value.strip().splitlines()
        option.read(lines if option.repeatable else value, name)


@of("toml")
def test_toml_is_toml(block):
    assert tomllib.loads(block.text)


@of("yaml")
def test_yaml_is_yaml(block):
    assert yaml.safe_load(block.text)
