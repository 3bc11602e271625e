"""Code, settings and data in the docs are what they claim to be."""

from __future__ import annotations

import ast
import configparser
import subprocess
import sys
import tomllib

import pytest
import yaml
from pages import PAGES, blocks
from stand_ins import environment

from pytest_promptse.options import OPTIONS

BLOCKS = [block for page in PAGES for block in blocks(page)]


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
def test_a_marked_test_is_collected(block, tmp_path):
    (tmp_path / "test_it.py").write_text(block.text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "--promptse-model", "tiny"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
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
