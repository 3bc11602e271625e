"""A record in which every text could break out of the place where it is shown."""

from __future__ import annotations

from record_builders import (
    estimates,
    original_record,
    run_record,
    suite_record,
    task_record,
    variant_record,
)

from pytest_promptse.record._figures import MetricRecord
from pytest_promptse.record._schema import (
    BaselineRecord,
    ComparedRecord,
    ComparisonRecord,
    EmotionRecord,
    ErrorRecord,
    InvocationRecord,
    ModelRecord,
    RankingRecord,
    Record,
    SubgroupRecord,
    SubgroupsRecord,
    SuiteRecord,
    TaskRecord,
    UsageRecord,
)
from pytest_promptse.scoring._scores import Difference, Gate, Ranked, Standing
from pytest_promptse.store._measured_variant import SampleRecord

ATTACKS = (
    "<script>window.owned = 1</script>",
    "</script><script>window.owned = 2</script>",
    "</style><img src=x onerror='window.owned = 3'>",
    '"><svg onload="window.owned = 4">',
    "<a href='javascript:window.owned = 5'>javascript:window.owned = 5</a>",
    "<!--<script> -->{{ 7 * 7 }}{% raw %}&amp;",
    "]]></svg><iframe srcdoc='<script>parent.owned = 6</script>'></iframe>",
    "![img](https://example.invalid/a.png) @everyone | `` ``` \n::error::owned",
    "$\\frac{1}{$ \x00\x1b[31m \ud800 \u202e",
)
ATTACK = " ".join(ATTACKS)
DISTANCES = ("0.1", "0.2", "0.3")
EMOTIONS = {
    "calm": EmotionRecord(valence=0.6, arousal=-0.6),
    "stressed": EmotionRecord(valence=-0.6, arousal=0.8),
    ATTACKS[3]: EmotionRecord(valence=-0.5, arousal=0.7),
}
MODELS = ("tiny", ATTACKS[0])
SUITES = ("tests/test_a.py::test_a", f"tests/test_b.py::{ATTACKS[1]}")


def hostile_record(*, n_tasks: int = 4, programs: int = 1) -> Record:
    """Return a record of `n_tasks` tasks in each of two suites, for two models."""
    return run_record(
        [_suite(suite, model, n_tasks) for suite in SUITES for model in MODELS],
        [
            _task(suite, model, number, programs)
            for suite in SUITES
            for model in MODELS
            for number in range(n_tasks)
        ],
        tool={"name": "pytest-promptse", "version": "1.2.3"},
        started="2026-01-01T00:00:00+00:00",
        finished="2026-01-01T00:00:01+00:00",
        environment={"python": ATTACK},
        git={"commit": "0123456789abcdef", "branch": ATTACK, "dirty": "true", "folder": ""},
        invocation=InvocationRecord(directory="", options=[ATTACK]),
        settings={"samples": 8, "emotions": [ATTACK], "preset": ATTACK},
        models=[ModelRecord(spec=m, identity={"m": ATTACK}, capabilities=None) for m in MODELS],
        subgroups=[_subgroups(model) for model in MODELS],
        usage=UsageRecord(
            requests=1234, prompt_tokens=56789, completion_tokens=10, cost=0.5, cached=3
        ),
        errors=[ErrorRecord(where=ATTACK, message=ATTACK)],
        emotions=EMOTIONS,
        metrics={
            "theirs": MetricRecord(
                label=ATTACK,
                short_label=ATTACK,
                direction="at least",
                unit="share",
                option=ATTACK,
            )
        },
        rankings=[_ranking()],
        comparisons=[_comparison(suite, model) for suite in SUITES for model in MODELS],
    )


def _suite(suite: str, model: str, n_tasks: int) -> SuiteRecord:
    curve = dict(zip(DISTANCES, (0.9, 0.8, 0.7), strict=True))
    return suite_record(
        id=suite,
        model=model,
        n_tasks=n_tasks,
        n_variants=3 * n_tasks,
        n_measured=3 * n_tasks,
        estimates=estimates(pass_at_1=0.75, auc_e=0.8, ci95=(0.7, 0.9), excess=0.17, theirs=0.5),
        elasticity=curve,
        elasticity_null=dict.fromkeys(DISTANCES, 0.97),
        elasticity_ci95={"0.1": (0.85, 0.95), "0.2": (0.7, 0.9), "0.3": None},
        auc_e_null=0.97,
        ess_median=4.0,
        gates=[
            Gate(name="auc-e", threshold=0.9, value=0.8, verdict="fail", message=ATTACK),
            Gate(name="x", threshold=0.5, value=0.8, verdict="pass", message=ATTACK),
        ],
        verdict="fail",
        warnings=[ATTACK],
        line=12,
    )


def _comparison(suite: str, model: str) -> ComparisonRecord:
    return ComparisonRecord(
        baseline=BaselineRecord(name=ATTACK, finished="2025-12-31T00:00:00+00:00", commit=ATTACK),
        suite=suite,
        template=None,
        model=model,
        baseline_model=model,
        notes=[ATTACK],
        figures=[
            ComparedRecord(
                metric=metric,
                distance=None,
                current=0.8,
                baseline=0.75,
                difference=0.05,
                ci95=(-0.01, 0.11),
                margin=margin,
                verdict=verdict,
                message=ATTACK,
                n_tasks=4,
            )
            for metric, margin, verdict in (
                ("pass_at_1", None, None),
                ("auc_e", 0.02, "pass"),
                ("excess", None, None),
            )
        ],
    )


def _task(suite: str, model: str, number: int, programs: int) -> TaskRecord:
    name = f"task-{number} {ATTACKS[number % len(ATTACKS)]}"
    texts = {
        f"key{i}": f"def program():\n    return {number, i}\n# {ATTACK}" for i in range(programs)
    }
    right = SampleRecord(n=6, cause=None, detail="", text="key0")
    wrong = [
        SampleRecord(n=1, cause="wrong_answer", detail=f"line 3: assert {ATTACK}", text=key)
        for key in texts
    ]
    return task_record(
        name,
        suite=suite,
        model=model,
        elasticity=dict(zip(DISTANCES, (1.0, 0.9, 0.1 * number), strict=True)),
        auc_e=None if number == 0 else 1.0 - 0.1 * number,
        auc_e_null=0.98,
        excess=0.1 * number,
        original=original_record(f"Please write it. {ATTACK}", 1, samples=[right]),
        variants=[
            variant_record(
                f"Argh, write it now! {ATTACK}",
                1 - 0.1 * number,
                samples=[right, *wrong],
                id=f"d{distance}-{emotion}-0",
                distance=float(distance),
                measured_distance=float(distance) + 0.02,
                emotion=emotion,
                rewriter=ATTACK,
                delta=-0.1 * number,
                excess=0.1,
                p_value=0.01,
                p_adjusted=0.02,
                causes={"wrong_answer": 2} if number else {},
                details={"wrong_answer": f"line 3: assert {ATTACK}"} if number else {},
            )
            for distance, emotion in zip(DISTANCES[1:], EMOTIONS, strict=False)
        ],
        texts=texts,
    )


def _ranking() -> RankingRecord:
    def ranked(template: str, rate: float, standing: Standing) -> Ranked:
        return Ranked(
            name=template,
            figures={"pass_at_1": rate, "reworded_pass": rate, "drop": 0.0, ATTACK: 0.8},
            standing=standing,
            tokens_per_solved=80.0,
            pareto=True,
        )

    return RankingRecord(
        model=MODELS[1],
        suites=list(SUITES),
        mode="promptse",
        n_tasks=8,
        entries=[ranked(ATTACKS[2], 0.9, "first"), ranked(ATTACKS[7], 0.1, "undecided")],
        differences=[
            Difference(
                metric="drop",
                name=ATTACKS[2],
                other=ATTACKS[7],
                difference=0.8,
                ci95=(-0.6, 0.9),
                better=None,
            )
        ],
        choice=None,
        tasks_to_decide=20,
    )


def _subgroups(model: str) -> SubgroupsRecord:
    return SubgroupsRecord(
        model=model,
        template=None,
        subgroups=[
            SubgroupRecord(
                trait=trait,
                value=value,
                distance=distance,
                n_variants=4,
                change=change,
                p_value=0.01,
                p_adjusted=0.02,
            )
            for trait, value, change in (
                *(("emotion", emotion, -0.2) for emotion in EMOTIONS),
                ("technical", ATTACKS[4], 0.1),
                ("experience", "senior", 0.0),
            )
            for distance in (0.2, 0.3, None)
        ],
        calibration=None,
    )
