from __future__ import annotations

import time

import pytest

from pytest_promptse.models._base import Completion, Usage
from pytest_promptse.sandbox.guest import unpatched
from pytest_promptse.store._leases import LEASE_SECONDS, Leases
from pytest_promptse.store._store import Store


@pytest.fixture
def claims(store):
    return Leases(store, "one"), Leases(store, "two")


def test_a_variant_is_claimed_by_one_run_at_a_time(claims):
    one, two = claims
    assert one.take({"a": 2, "b": 2}) == {"a": [0, 1], "b": [0, 1]}
    assert two.take({"a": 2, "c": 1}) == {"c": [0]}
    one.release(["a"])
    assert two.take({"a": 2, "b": 2}) == {"a": [0, 1]}
    two.release(["b"])
    assert two.take({"b": 2}) == {}
    one.release_all()
    assert two.take({"b": 2}) == {"b": [0, 1]}


def test_a_run_may_claim_again_what_it_holds(claims):
    one, _ = claims
    assert one.take({"a": 1}) == one.take({"a": 1}) == {"a": [0]}


def test_what_is_complete_needs_no_claim(claims, store, job):
    one, two = claims
    wanted = job(1, n=1)
    store.add_completions(
        wanted.key,
        [Completion(index=0, text="")],
        usage=Usage(),
        model=wanted.model,
        prompt=wanted.prompt,
        decoding=wanted.decoding,
        task_id="t",
        variant_id="original",
        seed=0,
        form="chat",
    )
    assert one.take({wanted.key: 1}) == two.take({wanted.key: 1}) == {wanted.key: []}
    assert one.take({wanted.key: 2}) == {wanted.key: [1]}
    assert two.take({wanted.key: 2}) == {}


def test_a_claim_runs_out_unless_it_is_renewed(claims, monkeypatch):
    one, two = claims
    now = time.time()
    one.take({"a": 1})
    monkeypatch.setattr(unpatched.time, "time", lambda: now + 0.8 * LEASE_SECONDS)
    one.renew()
    monkeypatch.setattr(unpatched.time, "time", lambda: now + 1.6 * LEASE_SECONDS)
    assert two.take({"a": 1}) == {}
    monkeypatch.setattr(unpatched.time, "time", lambda: now + 3 * LEASE_SECONDS)
    assert two.take({"a": 1}) == {"a": [0]}


def test_claims_of_processes_that_are_all_gone_are_void_at_once(tmp_path):
    killed = Store(tmp_path / "other")
    Leases(killed, "killed").take({"a": 1})
    killed.close()
    store = Store(tmp_path / "other")
    assert Leases(store, "next").take({"a": 1}) == {"a": [0]}
    store.close()
