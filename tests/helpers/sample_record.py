"""A record made by hand: two suites of one model, of which one fails."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_promptse.record.schema import (
    SCHEMA,
    CalibrationRecord,
    GateRecord,
    InvocationRecord,
    LightRecord,
    LossRecord,
    PromptRecord,
    Record,
    RobustnessRecord,
    SubgroupRecord,
    SubgroupsRecord,
    SuiteRecord,
    TaskRecord,
    UsageRecord,
    VariantRecord,
)

CURVE = {"0.1": 0.9, "0.2": 0.8, "0.3": 0.7}


def prompt_fields(prompt: str, pass_rate: float, **causes: int) -> dict[str, Any]:
    return {
        "prompt": prompt,
        "n": 8,
        "pass_rate": pass_rate,
        "soft_exec": pass_rate,
        "score": pass_rate,
        "ess": 4.0,
        "causes": causes,
        "details": {cause: f"line 3: {cause} seen\nmore" for cause in causes},
    }


def variant(name: str, delta: float, **causes: int) -> VariantRecord:
    own = f"d0.3-tired-{name}"
    return VariantRecord(
        **prompt_fields(f"Oh well, please add {name}.", 1.0 + delta, **causes),
        node=f"sub/test_slug.py::test_slugify[{own}]",
        id=own,
        distance=0.3,
        measured_distance=0.28,
        emotion="tired",
        personality="expert.senior.plan",
        rewriter="rules/1",
        delta=delta,
        excess=-delta,
        p_value=0.01,
        p_adjusted=0.02,
    )


def subgroup(
    trait: str, value: str, change: float, distance: float | None = None
) -> SubgroupRecord:
    p = 0.01 if change < -0.1 else 0.5
    return SubgroupRecord(
        trait=trait,
        value=value,
        distance=distance,
        n_variants=4,
        change=change,
        p_value=p,
        p_adjusted=p,
    )


def make_suite(name: str, **changed: Any) -> SuiteRecord:
    known = {"ece": 0.21, "threshold": 0.9, "overconfident": 0.03, "underconfident": 0.12}
    return SuiteRecord(
        **{
            "id": f"sub/test_slug.py::{name}",
            "model": "tiny",
            "template": None,
            "mode": "promptse",
            "weighting": "sum",
            "n_tasks": 1,
            "n_variants": 6,
            "n_measured": 6,
            "pass_at_1": 1.0,
            "elasticity": CURVE,
            "elasticity_null": CURVE,
            "elasticity_ci95": dict.fromkeys(CURVE),
            "auc_e": 0.8,
            "ci95": (0.75, 0.85),
            "auc_e_null": 0.98,
            "excess": 0.18,
            "p_value": 0.01,
            "p_adjusted": 0.02,
            "ess_median": 4.0,
            "light": LightRecord(
                elasticity=CURVE, auc_e=0.82, ci95=None, auc_e_null=0.9, excess=0.1
            ),
            "losses": {
                "0.3": {
                    "no_code": LossRecord(loss=0.2, drop=0.25),
                    "wrong_answer": LossRecord(loss=0.1, drop=0.05),
                }
            },
            "robustness": RobustnessRecord(s=5, n_tasks=1, nominal=1.0, rp=0.61, rd=0.39, rr=0.4),
            "calibration": {"all": CalibrationRecord(n=48, bins=[], **known)},
            "gates": [
                GateRecord(name="auc-e", threshold=0.9, value=0.8, verdict="fail", message="m")
            ],
            "verdict": "fail",
            "warnings": [],
            "settings": {},
            **changed,
        }
    )


@pytest.fixture
def record() -> Record:
    suite = make_suite("test_slugify")
    task = TaskRecord(
        id="test_slugify",
        suite=suite.id,
        model="tiny",
        template=None,
        elasticity=CURVE,
        auc_e=0.8,
        auc_e_null=0.98,
        excess=0.18,
        original=PromptRecord(**prompt_fields("Please add x.", 1.0)),
        variants=[
            variant("a", -0.1, wrong_answer=1),
            variant("b", -0.9, timeout=7),
            variant("c", 0.0),
            variant("d", -0.5, no_code=4),
            variant("e", -0.3, syntax=2),
        ],
    )
    subgroups = SubgroupsRecord(
        model="tiny",
        template=None,
        subgroups=[
            subgroup("emotion", "calm", 0.0, 0.3),
            subgroup("emotion", "calm", 0.0),
            subgroup("emotion", "tired", -0.36, 0.3),
            subgroup("emotion", "tired", -0.36),
            subgroup("technical", "expert", -0.2),
            subgroup("experience", "senior", -0.02),
            subgroup("collaboration", "collaboration", -0.07),
        ],
        calibration=suite.calibration,
    )
    return Record(
        schema=SCHEMA,
        tool={},
        started="2026-01-01T00:00:00+00:00",
        finished="2026-01-01T00:00:01+00:00",
        environment={},
        git=None,
        invocation=InvocationRecord(directory="sub", options=["--promptse-model", "tiny"]),
        settings={},
        models=[],
        suites=[suite, make_suite("test_fine", verdict="pass", p_adjusted=0.6, elasticity=CURVE)],
        tasks=[task],
        subgroups=[subgroups],
        usage=UsageRecord(requests=5, prompt_tokens=10, completion_tokens=20, cost=None, cached=3),
        errors=[],
    )
