"""Records for tests: single parts with defaults, runs with given pass rates, a sample record."""

from __future__ import annotations

import json
import random

import pytest
from msgspec.structs import replace

from pytest_promptse.compare._entry import NamedRecord
from pytest_promptse.record._figures import (
    CalibrationRecord,
    EstimateRecord,
    LightRecord,
    LossRecord,
    RobustnessRecord,
)
from pytest_promptse.record._files import encode
from pytest_promptse.record._schema import (
    SCHEMA,
    EmotionRecord,
    InvocationRecord,
    ModelRecord,
    Record,
    SubgroupRecord,
    SubgroupsRecord,
    SuiteRecord,
    TaskRecord,
    UsageRecord,
)
from pytest_promptse.scoring._scores import Gate
from pytest_promptse.store._measured_variant import VariantRecord

EMOTIONS = {
    "excited": EmotionRecord(valence=0.8, arousal=0.8),
    "calm": EmotionRecord(valence=0.6, arousal=-0.6),
    "anxious": EmotionRecord(valence=-0.6, arousal=0.6),
    "tired": EmotionRecord(valence=-0.4, arousal=-0.7),
}
SUITE = "test_a.py::test_a"


def original_record(prompt, pass_rate, **changed):
    """Return a measured original."""
    return VariantRecord(
        **{
            "task_id": "task",
            "id": "original",
            "text": prompt,
            "distance": 0.0,
            "index": 0,
            "n": 8,
            "pass_rate": pass_rate,
            "soft_exec": pass_rate,
            "score": pass_rate,
            "ess": 4.0,
            "causes": {},
            "details": {},
            **changed,
        }
    )


def variant_record(prompt, pass_rate, *, distance, **changed):
    """Return a measured variant with the persona expert, senior, plan."""
    persona = {"emotion": "tired", "personality": "expert.senior.plan", "rewriter": "rules/1"}
    return original_record(
        prompt,
        pass_rate,
        distance=distance,
        **{**persona, "measured_distance": distance, "p_value": 0.5, **changed},
    )


def task_record(name, **changed):
    return TaskRecord(
        **{
            "id": name,
            "suite": SUITE,
            "model": "m",
            "template": None,
            "elasticity": {},
            "auc_e": None,
            "auc_e_null": None,
            "excess": None,
            **changed,
        }
    )


def estimates(**values):
    """Return the estimates of a suite with these values by metric; ``ci95`` is that of AUC-E."""
    intervals = {"auc_e": values.pop("ci95", None)}
    return {
        name: value
        if isinstance(value, EstimateRecord)
        else EstimateRecord(value=value, ci95=intervals.get(name))
        for name, value in values.items()
        if value is not None
    }


def with_estimates(suite, **changed):
    """Return a suite with other estimates by metric, or without those that are None."""
    merged = {**suite.estimates, **estimates(**changed)}
    gone = {name for name, value in changed.items() if value is None}
    return replace(suite, estimates={k: v for k, v in merged.items() if k not in gone})


def suite_record(**changed):
    return SuiteRecord(
        **{
            "id": SUITE,
            "model": "m",
            "template": None,
            "mode": "promptse",
            "weighting": "sum",
            "n_tasks": 1,
            "n_variants": 10,
            "n_measured": 10,
            "elasticity": {},
            "elasticity_null": {},
            "elasticity_ci95": {},
            "auc_e_null": None,
            "ess_median": None,
            "light": None,
            "gates": [],
            "verdict": None,
            "warnings": [],
            "settings": {},
            **changed,
        }
    )


def run_record(suites, tasks, **changed):
    return Record(
        **{
            "schema": SCHEMA,
            "tool": {"name": "pytest-promptse", "version": "0.1.0"},
            "started": "2026-01-02T03:04:05+00:00",
            "finished": "2026-01-02T03:04:05+00:00",
            "environment": {},
            "git": None,
            "settings": {},
            "models": [],
            "suites": suites,
            "tasks": tasks,
            "usage": UsageRecord(
                requests=1, prompt_tokens=1, completion_tokens=1, cost=None, cached=0
            ),
            "errors": [],
            **changed,
        }
    )


def make_task(name, original, variants, *, model="m", template=None, suite=SUITE, **changed):
    """Return a task. `variants` has pass rates by distance."""
    n = changed.pop("n", 8)
    emotions = list(EMOTIONS)
    soft = changed.pop("soft", lambda rate: rate)
    prompt = changed.pop("prompt", f"Write {name}.")
    confidence = changed.pop("confidence", 0.9)
    assert not changed

    def measured(rate):
        return {"n": n, "soft_exec": soft(rate), "score": soft(rate), "confidence": confidence}

    made = [
        variant_record(
            f"Argh, write {name}.",
            rate,
            id=f"d{distance}-{emotions[place % 4]}-expert.senior.plan-{number}",
            distance=distance,
            index=number,
            measured_distance=distance + 0.01 * number,
            emotion=emotions[place % 4],
            delta=soft(rate) - soft(original),
            excess=abs(soft(rate) - soft(original)) - 0.05,
            **measured(rate),
        )
        for row, (distance, rates) in enumerate(variants.items())
        for number, rate in enumerate(rates)
        for place in [row + number]
    ]
    return task_record(
        name,
        suite=suite,
        model=model,
        template=template,
        original=original_record(prompt, original, **measured(original)),
        variants=made,
    )


def make_suite(tasks, *, mode="promptse", weighting="sum", **settings):
    """Return the suite of some tasks. Other arguments are its settings."""
    first = tasks[0]
    return suite_record(
        id=first.suite,
        model=first.model,
        template=first.template,
        mode=mode,
        weighting=weighting,
        n_tasks=len(tasks),
        settings={"temperature": 0.2, "samples": 8, "seed": 0, "aa": False, **settings},
    )


def make_record(*suites, finished="2026-01-02T03:04:05+00:00", version="0.1.0"):
    """Return a record; each of `suites` is (suite, tasks)."""
    models = dict.fromkeys(suite.model for suite, _ in suites)
    return run_record(
        [suite for suite, _ in suites],
        [task for _, tasks in suites for task in tasks],
        tool={"name": "pytest-promptse", "version": version},
        started=finished,
        finished=finished,
        models=[ModelRecord(spec=m, identity={"files": "abc"}, capabilities=None) for m in models],
        emotions=EMOTIONS,
    )


def make_run(model, tasks, *, path="run.json", name=None, finished=None, template=None, **changed):
    """Return a run of one model. `tasks` maps names to (original, variants by distance)."""
    suite = changed.pop("suite", SUITE)
    own = {key: changed.pop(key) for key in ("n", "soft", "prompt", "confidence") if key in changed}
    made = [
        make_task(task, *rates, model=model, template=template, suite=suite, **own)
        for task, rates in tasks.items()
    ]
    when = {"finished": finished} if finished else {}
    when |= {"version": changed.pop("version")} if "version" in changed else {}
    return NamedRecord(
        path=path, record=make_record((make_suite(made, **changed), made), **when), name=name
    )


def flat(rate, distances=(0.1, 0.2, 0.3), each=1):
    """Return a task whose variants have no effect."""
    return rate, {d: [rate] * each for d in distances}


def falling(*rates, distances=(0.1, 0.2, 0.3)):
    """Return a task that always passes, with the given pass rates of its variants."""
    return 1.0, {d: [rate] for d, rate in zip(distances, rates, strict=True)}


def save(run, path):
    path.write_bytes(b"".join(encode(run.record)))
    json.loads(path.read_bytes())
    return path


PAPER = (
    "vllm:codellama/CodeLlama-34b-Instruct-hf",
    "vllm:codellama/CodeLlama-13b-Instruct-hf",
    "vllm:codellama/CodeLlama-7b-Instruct-hf",
    "vllm:meta-llama/Llama-3.1-8B-Instruct",
    "vllm:deepseek-ai/DeepSeek-R1-Distill-Qwen-32B",
    "vllm:deepseek-ai/DeepSeek-R1-Distill-Qwen-14B",
    "vllm:deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
    "vllm:Qwen/Qwen2.5-Coder-7B-Instruct",
    "vllm:deepseek-ai/deepseek-coder-33b-instruct",
    "vllm:deepseek-ai/deepseek-coder-6.7b-instruct",
)


def paper_runs(*, n_tasks=12, each=4, models=PAPER):
    """Return runs of the paper's models with drawn pass rates, the same every time."""
    runs = []
    for number, model in enumerate(models):
        rng = random.Random(number)
        skill, care = 0.35 + 0.06 * number, 0.05 + 0.03 * (number * 3 % 7)

        def drawn(centre, spread, rng=rng):
            return round(min(1.0, max(0.0, rng.gauss(centre, spread))) * 8) / 8

        tasks = {}
        for task in range(n_tasks):
            own = drawn(skill, 0.3)
            variants = {
                d: [drawn(own - d * care, care + d / 3) for _ in range(each)]
                for d in (0.1, 0.2, 0.3)
            }
            tasks[f"HumanEval/{task}"] = (own, variants)
        run = make_run(model, tasks, soft=lambda rate: rate**1.3)
        runs.append(_sure(run, rng))
    return runs


def _sure(run, rng):
    """Give variants confidences, and the run its calibration."""
    tasks = [
        replace(
            task,
            variants=[replace(v, confidence=rng.uniform(0.7, 0.99)) for v in task.variants],
        )
        for task in run.record.tasks
    ]
    groups = ["all", "original", *EMOTIONS]
    calibrations = {name: calibration(rng.uniform(0.03, 0.5), rng) for name in groups}
    quadrants = ("positive-active", "positive-calm", "negative-active", "negative-calm")
    subgroups = SubgroupsRecord(
        model=run.record.suites[0].model,
        template=None,
        subgroups=[],
        calibration={
            name: calibration(rng.uniform(0.03, 0.5), rng) for name in ("all", *quadrants)
        },
        emotions=calibrations,
    )
    record = replace(run.record, tasks=tasks, subgroups=[subgroups])
    return NamedRecord(path=run.path, name=run.name, record=record)


def calibration(ece, rng):
    return CalibrationRecord(
        n=96,
        ece=ece,
        threshold=0.9,
        overconfident=rng.uniform(0, 0.3),
        underconfident=rng.uniform(0, 0.4),
        bins=[],
    )


CURVE = {"0.1": 0.9, "0.2": 0.8, "0.3": 0.7}


def sample_suite(name, **changed):
    """Return a suite of the model tiny that fails."""
    known = {"ece": 0.21, "threshold": 0.9, "overconfident": 0.03, "underconfident": 0.12}
    given = {
        "id": f"sub/test_slug.py::{name}",
        "model": "tiny",
        "n_variants": 6,
        "n_measured": 6,
        "estimates": estimates(pass_at_1=1.0, auc_e=0.8, ci95=(0.75, 0.85), excess=0.18),
        "elasticity": CURVE,
        "elasticity_null": CURVE,
        "elasticity_ci95": dict.fromkeys(CURVE),
        "auc_e_null": 0.98,
        "p_value": 0.01,
        "p_adjusted": 0.02,
        "ess_median": 4.0,
        "light": LightRecord(elasticity=CURVE, auc_e=0.82, ci95=None, auc_e_null=0.9, excess=0.1),
        "losses": {
            "0.3": {
                "no_code": LossRecord(loss=0.2, drop=0.25),
                "wrong_answer": LossRecord(loss=0.1, drop=0.05),
            }
        },
        "robustness": RobustnessRecord(s=5, n_tasks=1, nominal=1.0, rp=0.61, rd=0.39, rr=0.4),
        "calibration": {"all": CalibrationRecord(n=48, bins=[], **known)},
        "gates": [Gate(name="auc-e", threshold=0.9, value=0.8, verdict="fail", message="m")],
        "verdict": "fail",
    }
    return suite_record(**(given | changed))


def sample_variant(name, delta, **causes):
    own = f"d0.3-tired-{name}"
    return variant_record(
        f"Oh well, please add {name}.",
        1.0 + delta,
        id=own,
        distance=0.3,
        node=f"sub/test_slug.py::test_slugify[{own}]",
        measured_distance=0.28,
        causes=causes,
        details={cause: f"line 3: {cause} seen\nmore" for cause in causes},
        delta=delta,
        excess=-delta,
        p_value=0.01,
        p_adjusted=0.02,
    )


def sample_subgroup(trait, value, change, distance=None):
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


@pytest.fixture
def record():
    """Two suites of one model, of which one fails."""
    suite = sample_suite("test_slugify")
    task = task_record(
        "test_slugify",
        suite=suite.id,
        model="tiny",
        elasticity=CURVE,
        auc_e=0.8,
        auc_e_null=0.98,
        excess=0.18,
        original=original_record("Please add x.", 1.0),
        variants=[
            sample_variant("a", -0.1, wrong_answer=1),
            sample_variant("b", -0.9, timeout=7),
            sample_variant("c", 0.0),
            sample_variant("d", -0.5, no_code=4),
            sample_variant("e", -0.3, syntax=2),
        ],
    )
    subgroups = SubgroupsRecord(
        model="tiny",
        template=None,
        subgroups=[
            sample_subgroup("emotion", "calm", 0.0, 0.3),
            sample_subgroup("emotion", "calm", 0.0),
            sample_subgroup("emotion", "tired", -0.36, 0.3),
            sample_subgroup("emotion", "tired", -0.36),
            sample_subgroup("technical", "expert", -0.2),
            sample_subgroup("experience", "senior", -0.02),
            sample_subgroup("collaboration", "collaboration", -0.07),
        ],
        calibration=suite.calibration,
    )
    return run_record(
        [suite, sample_suite("test_fine", verdict="pass", p_adjusted=0.6, elasticity=CURVE)],
        [task],
        tool={},
        started="2026-01-01T00:00:00+00:00",
        finished="2026-01-01T00:00:01+00:00",
        invocation=InvocationRecord(directory="sub", options=["--promptse-model", "tiny"]),
        subgroups=[subgroups],
        usage=UsageRecord(requests=5, prompt_tokens=10, completion_tokens=20, cost=None, cached=3),
    )
