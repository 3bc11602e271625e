from __future__ import annotations

import numpy as np
import pytest

from pytest_promptse.scoring._samples import Samples


def test_lists_become_arrays():
    samples = Samples([True, False], logprob=[-1, -2], n_tokens=[3, 4], causes=("", "timeout"))
    assert samples.passed.dtype == bool
    assert samples.logprob is not None
    assert samples.logprob.dtype == np.float64
    assert len(samples) == 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"passed": []}, "m >= 1"),
        ({"passed": [[True]]}, "m >= 1"),
        ({"passed": [True], "logprob": [-1.0, -2.0]}, "logprob has shape"),
        ({"passed": [True], "logprob": [np.nan]}, "NaN"),
        ({"passed": [True], "logprob": [np.inf]}, "inf"),
        ({"passed": [True], "logprob": [0.002]}, "above 0"),
        ({"passed": [True], "n_tokens": [-1]}, "negative"),
        ({"passed": [True, False], "causes": ("",)}, "causes has shape"),
        ({"passed": [False], "causes": ("",)}, "needs a cause"),
        ({"passed": [True], "causes": ("timeout",)}, "passed, so its cause is ''"),
    ],
)
def test_samples_that_contradict_themselves_are_refused(fields, said):
    with pytest.raises(ValueError, match=said):
        Samples(**fields)


def test_a_logprob_above_zero_by_rounding_is_zero_and_a_sequence_may_be_empty():
    samples = Samples([True, True], logprob=[0.0005, -1.0], n_tokens=[0, 1])
    assert samples.logprob is not None
    assert samples.logprob.tolist() == [0.0, -1.0]


def test_a_sequence_of_probability_zero_is_a_sample_like_any_other():
    assert len(Samples([True], logprob=[-np.inf])) == 1
