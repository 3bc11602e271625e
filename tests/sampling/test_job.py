from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_promptse.models._base import Decoding, Prompt
from pytest_promptse.sampling._job import Job

JOBS = st.builds(
    Job,
    prompt=st.builds(Prompt, user=st.text(), system=st.none() | st.text()),
    decoding=st.builds(
        Decoding, max_tokens=st.integers(1, 10_000), temperature=st.floats(0.0, 2.0)
    ),
    n=st.integers(1, 100),
    seed=st.integers(0, 2**63),
    since=st.floats(0.0, 1e12),
)


@given(JOBS)
def test_a_job_is_the_same_after_another_process_has_read_it(job):
    assert Job.from_json(job.to_json()) == job
