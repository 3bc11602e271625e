"""Law 6: an entry point that is a class, where a check needs a class."""

import dataclasses
import inspect

import pytest
from scripted_answers import answers, attack

@answers(
    "Point",
    right="from dataclasses import dataclass\n@dataclass\nclass Point:\n    x: int\n    y: int = 0",
    wrong="class Point:\n    def __init__(self, x, y=0): self.x, self.y = x, y",
)
def test_a_class_is_inspected(candidate):
    assert inspect.isclass(candidate)
    assert isinstance(candidate, type)
    assert dataclasses.is_dataclass(candidate)
    assert [field.name for field in dataclasses.fields(candidate)] == ["x", "y"]
    assert dataclasses.is_dataclass(candidate(1))
    assert isinstance(candidate(1), candidate)
    assert list(inspect.signature(candidate).parameters) == ["x", "y"]


@answers("f", right="def f(x): return x", wrong="class f:\n    def __init__(self, x): pass")
def test_a_function_is_none(candidate):
    assert not inspect.isclass(candidate)
    assert not dataclasses.is_dataclass(candidate)
    assert callable(candidate)


@attack(1, "class f(ValueError): pass", honest="class f(ValueError): pass", may_break=True)
def test_an_except_clause(candidate):
    try:
        raise candidate("x")
    except candidate:
        pass


@attack(1, "class f:\n    x = 1", honest="class f:\n    x = 1", may_break=True)
def test_a_pattern(candidate):
    match candidate():
        case candidate(x=1):
            pass


@attack(1, "class f: pass", honest="class f: pass", may_break=True)
def test_an_identity(candidate):
    assert type(candidate()) is candidate


@attack(
    1,
    "class f: pass\nE = 5",
    "E = 5\ndef f(): raise TypeError('catching classes that do not inherit')",
    honest="class E(Exception): pass\ndef f(): raise E",
)
def test_an_except_clause_of_the_program(candidate):
    try:
        candidate()
        pytest.fail("nothing raised")
    except candidate.module.E:
        pass


@attack(6, "def f(x):\n    if x < 0: raise AssertionError\n    return 0", honest="def f(x):\n    if x < 0: raise AssertionError\n    return x * x")
def test_the_type_of_an_exception(candidate):
    try:
        candidate(-1)
    except Exception as error:
        kind = type(error)
        assert kind == AssertionError
    try:
        assert candidate(3) == 9
    except kind:
        pass
