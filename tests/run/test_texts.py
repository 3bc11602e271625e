"""What variants need next is requested in the order of their rounds."""

from __future__ import annotations

from types import SimpleNamespace

from planned_suites import plan

from pytest_promptse.run._texts import TextRequests


def test_a_round_requests_its_variants_with_their_controls():
    requested = []
    texts = TextRequests(
        store=None, run_log=None, sampler=lambda: SimpleNamespace(request=requested.extend)
    )
    suite = plan(samples="auto", variants=4, min_auc_e=0.5, control="neutral")
    texts.select([(suite, planned) for planned in (*suite.variants, *suite.controls)])
    rounds = {}
    for planned in suite.variants:
        rounds.setdefault(suite.round_of(planned), []).append(planned)
    assert len(rounds) > 1
    for number, variants in rounds.items():
        requested.clear()
        texts.request_round(suite, variants)
        controls = [one for one in suite.controls if suite.round_of(one) == number]
        assert controls
        assert [job.key for job in requested] == [one.job.key for one in (*variants, *controls)]
