"""Records for studies, made of pass rates."""

from __future__ import annotations

import json
import random

from msgspec.structs import replace

from pytest_promptse.compare.entry import NamedRecord
from pytest_promptse.record.files import encode
from pytest_promptse.record.schema import (
    SCHEMA,
    CalibrationRecord,
    EmotionRecord,
    ModelRecord,
    PromptRecord,
    Record,
    SubgroupsRecord,
    SuiteRecord,
    TaskRecord,
    UsageRecord,
    VariantRecord,
)

EMOTIONS = {
    "excited": EmotionRecord(valence=0.8, arousal=0.8),
    "calm": EmotionRecord(valence=0.6, arousal=-0.6),
    "anxious": EmotionRecord(valence=-0.6, arousal=0.6),
    "tired": EmotionRecord(valence=-0.4, arousal=-0.7),
}
SUITE = "test_a.py::test_a"


def make_task(name, original, variants, *, model="m", template=None, suite=SUITE, **changed):
    """Return a task; `variants` are pass rates by distance."""
    n = changed.pop("n", 8)
    emotions = list(EMOTIONS)
    soft = changed.pop("soft", lambda rate: rate)
    prompt = changed.pop("prompt", f"Write {name}.")
    confidence = changed.pop("confidence", 0.9)
    assert not changed
    worded = [
        VariantRecord(
            **_variant(f"Argh, write {name}.", rate, n, soft, confidence),
            id=f"d{distance}-{emotions[place % 4]}-expert.senior.plan-{number}",
            distance=distance,
            measured_distance=distance + 0.01 * number,
            emotion=emotions[place % 4],
            personality="expert.senior.plan",
            rewriter="rules/1",
            delta=soft(rate) - soft(original),
            excess=abs(soft(rate) - soft(original)) - 0.05,
            p_value=0.5,
        )
        for row, (distance, rates) in enumerate(variants.items())
        for number, rate in enumerate(rates)
        for place in [row + number]
    ]
    return TaskRecord(
        id=name,
        suite=suite,
        model=model,
        template=template,
        elasticity={},
        auc_e=None,
        auc_e_null=None,
        excess=None,
        original=PromptRecord(**_variant(prompt, original, n, soft, confidence)),
        variants=worded,
    )


def _variant(prompt, rate, n, soft, confidence):
    return {
        "prompt": prompt,
        "n": n,
        "pass_rate": rate,
        "soft_exec": soft(rate),
        "score": soft(rate),
        "ess": 4.0,
        "confidence": confidence,
        "causes": {},
        "details": {},
    }


def make_suite(tasks, *, mode="promptse", weighting="sum", **settings):
    first = tasks[0]
    return SuiteRecord(
        id=first.suite,
        model=first.model,
        template=first.template,
        mode=mode,
        weighting=weighting,
        n_tasks=len(tasks),
        n_variants=10,
        n_measured=10,
        pass_at_1=None,
        elasticity={},
        elasticity_null={},
        elasticity_ci95={},
        auc_e=None,
        ci95=None,
        auc_e_null=None,
        excess=None,
        ess_median=None,
        light=None,
        gates=[],
        verdict=None,
        warnings=[],
        settings={"temperature": 0.2, "samples": 8, "seed": 0, "aa": False, **settings},
    )


def make_record(*suites, finished="2026-01-02T03:04:05+00:00", version="0.1.0"):
    """Return a record; each of `suites` is (suite, tasks)."""
    models = dict.fromkeys(suite.model for suite, _ in suites)
    return Record(
        schema=SCHEMA,
        tool={"name": "pytest-promptse", "version": version},
        started=finished,
        finished=finished,
        environment={},
        git=None,
        settings={},
        models=[ModelRecord(spec=m, identity={"files": "abc"}, capabilities=None) for m in models],
        suites=[suite for suite, _ in suites],
        tasks=[task for _, tasks in suites for task in tasks],
        usage=UsageRecord(requests=1, prompt_tokens=1, completion_tokens=1, cost=None, cached=0),
        errors=[],
        emotions=EMOTIONS,
    )


def make_run(model, tasks, *, path="run.json", name=None, finished=None, template=None, **changed):
    """Return a run of one model; `tasks` maps names to (original, variants by distance)."""
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
    """Return a task that no variant changes."""
    return rate, {d: [rate] * each for d in distances}


def falling(*rates, distances=(0.1, 0.2, 0.3)):
    """Return a task that passes always, and its variants at each distance so often."""
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
    """Give variants confidences and the run its calibration."""
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
