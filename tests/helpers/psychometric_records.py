"""Records of psychometric suites, for tests of reports and comparisons."""

from __future__ import annotations

from pytest_promptse.record._psychometrics import (
    AffectShiftRecord,
    BoundsRecord,
    ChangeRecord,
    CsiRecord,
    EmotionBenchRecord,
    HumanRecord,
    ManipulationRecord,
    PsychometricsRecord,
    RecognitionRecord,
    ScaleRecord,
    ScoreRecord,
    ShiftRecord,
    SummaryRecord,
)
from pytest_promptse.record._schema import SCHEMA, Record, UsageRecord


def estimate(value):
    return ScoreRecord(value=value, ci95=(value - 0.1, value + 0.1))


def inventory(model, optimism):
    return CsiRecord(
        id="words.csi.yaml",
        model=model,
        language="en",
        prompt_language="en",
        anchors=("comedy", "tragedy"),
        word_list="en",
        word_list_sha256="0" * 64,
        n_words=600,
        n_runs=2,
        n_planned=40,
        n_responses=40,
        optimism=estimate(optimism),
        pessimism=estimate(0.2),
        neutrality=estimate(0.8 - optimism),
        consistency=estimate(0.8),
        reluctancy=estimate(0.1),
        coverage=estimate(0.9),
        kappa=estimate(0.6),
        words={},
        problems={},
        worst=[],
        gates=[
            BoundsRecord(
                name="consistency",
                low=0.9,
                value=0.8,
                verdict="fail",
                message="consistency 0.80 < 0.90",
            )
        ],
    )


def bench(model, *deltas):
    changes = [
        ChangeRecord(
            name=f"Fear-{i}",
            label=f"fear {i}",
            n_situations=5,
            n_runs=10,
            delta=delta,
            sd=1.0,
            ci95=(delta - 1, delta + 1),
            p_value=0.001,
            test="welch",
            arrow="up",
            icc=0.5,
            human=HumanRecord(delta=human, sd=8.0),
        )
        for i, (delta, human) in enumerate(deltas)
    ]
    summary = SummaryRecord(n=10, mean=20.0, sd=1.0)
    return EmotionBenchRecord(
        id="fear.emotionbench.yaml",
        model=model,
        method="cluster",
        situations="own",
        n_situations=5,
        n_planned=20,
        n_responses=20,
        n_scored=20,
        n_refused=0,
        scales=[
            ScaleRecord(
                scale="PANAS",
                default={"Negative Affect": summary},
                changes={"Negative Affect": changes},
            )
        ],
        problems={},
        worst=[],
    )


def check(model, shift, *, recognised=()):
    """A manipulation check in which one emotion shifts negative affect by `shift`."""
    nothing = ShiftRecord(n=4, delta=0.0, ci95=(-1.0, 1.0))
    moved = ShiftRecord(n=4, delta=shift, ci95=(shift - 1, shift + 1))
    return ManipulationRecord(
        id="mood.manipulation.yaml",
        model=model,
        n_prompts=4,
        n_planned=24,
        n_responses=24,
        n_scored=24,
        baseline={},
        shifts=[
            AffectShiftRecord(
                emotion=emotion,
                distance=0.2,
                perspective="own",
                positive=nothing,
                negative=moved if emotion == "calm" else nothing,
            )
            for emotion in ("calm", "neutral")
        ],
        recognition=[
            RecognitionRecord(
                label=label,
                n=12,
                hits=3,
                chance=1 / 3,
                share=0.25,
                ci95=(0.1, 0.5),
                p_value=0.5,
                p_adjusted=0.5,
                mistaken_for=None,
                recognised=label in recognised,
            )
            for label in ("calm", "tired", "neutral")
        ],
        problems={},
        worst=[],
    )


def record(**parts):
    return Record(
        schema=SCHEMA,
        tool={},
        started="2026-01-01T00:00:00+00:00",
        finished="2026-01-01T00:00:01+00:00",
        environment={},
        git=None,
        settings={},
        models=[],
        suites=[],
        tasks=[],
        usage=UsageRecord(requests=0, prompt_tokens=0, completion_tokens=0, cost=None, cached=0),
        errors=[],
        psychometrics=PsychometricsRecord(**parts),
    )
