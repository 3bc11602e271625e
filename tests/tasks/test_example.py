"""An example is a call with its expected result."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_promptse.errors import SandboxError, TaskError
from pytest_promptse.tasks._example import Example, equal, shown

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=10,
)


@settings(deadline=None, max_examples=50)
@given(value=plain)
def test_a_program_that_returns_what_is_expected_passes(value):
    Example(call="f()", expect=value).check(lambda: value)


@settings(deadline=None, max_examples=50)
@given(value=plain)
def test_every_value_equals_itself_within_any_tolerance(value):
    assert equal(value, value, tolerance=1e-9)


def test_the_arguments_are_python_expressions_evaluated_anew_for_each_program():
    example = Example(call="f([1, 2] * 2, *range(2), key={'a': float('inf')})", expect=4)

    def clear(items, zero, one, *, key):
        count = len(items)
        items.clear()
        return count if (zero, one, key) == (0, 1, {"a": float("inf")}) else None

    example.check(clear)
    example.check(clear)


def test_a_wrong_answer_shows_the_call_the_wanted_and_the_given():
    with pytest.raises(AssertionError, match=r'^t\("a b"\) returned \'a b\', expected \'A B\'$'):
        Example(call='t("a b")', expect="A B").check(lambda text: text)


def test_an_error_of_the_program_comes_through_with_a_note_of_the_call():
    with pytest.raises(ZeroDivisionError) as caught:
        Example(call="f(0)", expect=1).check(lambda x: 1 / x)
    assert caught.value.__notes__ == ["in the example f(0), where 1 was expected"]


def test_an_expected_exception_may_be_a_subclass():
    Example(call="f('x')", raises="ValueError").check(int)
    Example(call="f('x')", raises="LookupError").check({}.__getitem__)


def test_a_return_in_place_of_an_exception_fails():
    with pytest.raises(AssertionError, match=r"f\(3\) returned 3, expected ValueError"):
        Example(call="f(3)", raises="ValueError").check(int)


def test_another_exception_than_the_expected_comes_through():
    with pytest.raises(TypeError):
        Example(call="f(None)", raises="ValueError").check(int)


def test_a_failure_of_the_sandbox_is_never_the_expected_exception():
    def broken():
        raise SandboxError("the jail died")

    with pytest.raises(SandboxError):
        Example(call="f()", raises="Exception").check(broken)


def test_values_compare_as_python_compares_them():
    Example(call="f()", expect=1).check(lambda: True)
    Example(call="f()", expect=1).check(lambda: 1.0)
    with pytest.raises(AssertionError):
        Example(call="f()", expect=[1]).check(lambda: (1,))


@pytest.mark.parametrize(
    ("got", "expected", "same"),
    [
        (0.1 + 0.2, 0.3, True),
        (0.31, 0.3, False),
        ([1, (0.1 + 0.2,)], [1, (0.3,)], True),
        ({"a": 0.1 + 0.2}, {"a": 0.3}, True),
        ({"a": 0.3, "b": 1}, {"a": 0.3}, False),
        ([0.3], (0.3,), False),
        ([0.3, 0.3], [0.3], False),
        ("0.3", 0.3, False),
        (True, 1.0000001, False),
        (10**400, 0.3, False),
        (10**400, 10**400, True),
        (None, 0.3, False),
    ],
)
def test_approx_reaches_numbers_in_containers_of_the_same_shape(got, expected, same):
    assert equal(got, expected, tolerance=1e-6) is same


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"call": "f(1)"}, "what it returns or what it raises"),
        ({"call": "f(1)", "expect": 1, "raises": "ValueError"}, "once"),
        ({"call": "f(1)", "raises": "ValeError"}, "did you mean 'ValueError'"),
        ({"call": "f(1)", "raises": "SystemExit"}, "not a built-in exception"),
        ({"call": "f(1)", "expect": 1, "approx": 0.0}, "not in \\(0, 1\\)"),
        ({"call": "f(1)", "raises": "ValueError", "approx": 0.1}, "needs a value"),
        ({"call": "f(1)", "expect": [1, float("nan")]}, "NaN equals nothing"),
        ({"call": "f(1", "expect": 1}, "is not Python"),
        ({"call": "f(1) + 1", "expect": 1}, "write one call"),
        ({"call": "a.f(1)", "expect": 1}, "write one call"),
        ({"call": "f(missing)", "expect": 1}, "NameError"),
        ({"call": "f(1 / 0)", "expect": 1}, "ZeroDivisionError"),
    ],
)
def test_an_example_that_cannot_be_checked_is_refused(fields, message):
    with pytest.raises(TaskError, match=message):
        Example(**fields)


@pytest.mark.parametrize("value", [10**10_000, ["x" * 10_000] * 1_000, {"a": 10**10_000}], ids=type)
def test_what_a_program_answers_is_shown_in_bounded_length(value):
    assert len(shown(value)) < 10_000


@settings(deadline=None, max_examples=50)
@given(value=plain)
def test_equal_values_of_equal_types_are_written_alike(value):
    copied = Example(call="f()", expect=eval(repr(value), {"inf": float("inf")}))
    assert copied.canonical == Example(call="f()", expect=value).canonical
    assert json.dumps(copied.canonical)


@pytest.mark.parametrize(
    "argument",
    ["__import__('os').remove('x')", "open('x', 'w')", "().__class__", "(n for n in '').gi_frame"],
)
def test_an_argument_has_no_powers_at_collection(argument):
    with pytest.raises(TaskError, match="is not for arguments; use a check"):
        Example(call=f"double({argument})", expect=1)


def test_an_argument_may_use_any_name_for_its_items():
    assert Example(call="double([f_x for _ in 'ab' for f_x in (1,)])", expect=1).name == "double"
