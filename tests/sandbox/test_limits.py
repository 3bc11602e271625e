import pytest

from pytest_promptse.sandbox._causes import Failure
from pytest_promptse.sandbox._limits import (
    Limits,
    fit,
    needs_confirmation,
)


@pytest.mark.parametrize("name", ["wall", "cpu", "memory", "output", "processes"])
def test_a_limit_that_allows_nothing_is_refused_by_name(name):
    with pytest.raises(ValueError, match=name):
        Limits(**{name: 0})


@pytest.mark.parametrize(
    ("reference", "expected"), [(None, 3.0), (0.001, 1.0), (0.1, 2.0), (60.0, 3.0)]
)
def test_time_is_fitted_to_the_reference_between_a_second_and_the_ceiling(reference, expected):
    fitted = fit(Limits(wall=3.0, cpu=3.0), reference_seconds=reference)
    assert (fitted.wall, fitted.cpu) == (expected, expected)


def test_a_ceiling_below_a_second_stays():
    assert fit(Limits(wall=0.5, cpu=0.5), reference_seconds=0.001).wall == 0.5


@pytest.mark.parametrize(
    ("cause", "cpu", "expected"),
    [
        *[("timeout", 0.2, True), ("timeout", 0.9, True), ("exception", 0.2, False)],
        # An endless loop, by the clock or by its CPU time, whichever limit is noticed first.
        *[("timeout", 0.98, False), ("timeout", 1.0, False)],
    ],
)
def test_only_waiting_may_be_the_crowds_fault(cause, cpu, expected):
    failure = Failure(cause=cause, detail="")
    limits = Limits(wall=1.0, cpu=1.0)
    assert needs_confirmation(failure, cpu_seconds=cpu, limits=limits) is expected
    assert not needs_confirmation(None, cpu_seconds=cpu, limits=limits)
