r"""Length control: the loss that remains after subtracting the effect of the added length.

A task p has K variants v at a distance, and K control variants c. A control variant has the same
number of added words, but in neutral text. S is the score of a prompt: SoftExec or pass rate, as in
elasticity. The **mean loss** of each kind at distance d is

.. math::

    L(d) = \frac{1}{n} \sum_p \Big( S(p) - \frac{1}{K} \sum_v S(v) \Big), \qquad
    C(d) = \frac{1}{n} \sum_p \Big( S(p) - \frac{1}{K} \sum_c S(c) \Big)

and the **excess loss** is their difference, paired by task:

.. math::

    R(d) = L(d) - C(d)
         = \frac{1}{n} \sum_p \Big( \frac{1}{K} \sum_c S(c) - \frac{1}{K} \sum_v S(v) \Big)

The estimand is the mean over tasks of the expected score under control variants, minus the expected
score under variants with emotion and persona. The original cancels, and its sampling noise with it.
Scores are averaged before any absolute value is taken. So R(d) of pass rates has no bias, for any
number of samples. Over all distances the area under the curve is taken, as for AUC-E.

This loss is signed: it is negative if variants score better than the original. It cannot be
compared with the one-sided loss of `_robustness`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_promptse.scoring._elasticity import area_weights
from pytest_promptse.scoring._intervals import (
    SIGNED,
    generator,
    resampled_pass_rates,
    resampled_softexec,
)
from pytest_promptse.scoring._scores import Estimate, LengthControl, LengthControlLevel
from pytest_promptse.scoring._task_score import Plan, score_prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_promptse.scoring._estimates import Resampling
    from pytest_promptse.scoring._samples import Floats, TaskSamples
    from pytest_promptse.scoring._scores import Curve, TaskScore


@dataclass(frozen=True, kw_only=True)
class _Losses:
    """Curves of each task. None if its variants or control variants were not measured.

    Each list has one curve per task, from distance to loss; ``excess_loss`` is the loss of variants
    minus that of control variants.
    """

    variants: list[Curve]
    control: list[Curve]
    excess_loss: list[Curve]


def length_control(
    scores: Sequence[TaskScore], distances: Sequence[float], over: Resampling
) -> LengthControl | None:
    """Return the loss of a suite that remains after subtracting the effect of length.

    Parameters
    ----------
    scores
        The scored tasks. A task counts at the distances at which its original, variants and
        control variants were measured.
    distances
        The D distances of the run, ascending.
    over
        How intervals are computed. The mean over tasks of a paired difference in [-1, 1] has two
        intervals, as in `compare`. One is the hull of the BCa bootstrap and Student's t. The other
        is exact and also covers tasks outside the suite.

    Returns
    -------
    LengthControl or None
        None if no task has a control variant beside its variants.
    """
    losses = _losses_of(scores, distances)
    levels: dict[float, LengthControlLevel] = {}
    for d in distances:
        n = sum(curve[d] is not None for curve in losses.excess_loss)
        if not n:
            continue
        levels[d] = LengthControlLevel(
            n_tasks=n,
            loss=_mean(losses.variants, d),
            control_loss=_mean(losses.control, d),
            excess_loss=over.estimate(
                ("length_control", f"d{d:g}"),
                losses.excess_loss,
                (d,),
                bounds=SIGNED,
                by_variant=(_with_control(scores, d), variant_excess_losses),
                widen=False,
            ),
        )
    if not levels:
        return None
    loss = control_loss = None
    excess_loss = Estimate()
    if len(levels) == len(distances):
        weights = area_weights(distances)
        loss = float(weights @ [levels[d].loss for d in distances])
        control_loss = float(weights @ [levels[d].control_loss for d in distances])
        complete = [s for s in scores if all(_is_measured(s, d) for d in distances)]
        excess_loss = over.estimate(
            ("length_control",),
            losses.excess_loss,
            distances,
            bounds=SIGNED,
            by_variant=(complete, variant_excess_losses) if complete else None,
            widen=False,
        )
    return LengthControl(
        loss=loss, control_loss=control_loss, excess_loss=excess_loss, levels=levels
    )


def variant_excess_losses(score: TaskScore, d: float) -> Floats:
    """Return the mean score of a task's control variants minus the score of each variant.

    `d` is the distance of both. The result has shape (n variants,), in units of the score; positive
    means that a variant scores lower.
    """
    control = float(np.mean([control_variant.score for control_variant in score.controls[d]]))
    return np.array([control - variant.score for variant in score.variants[d]])


def excess_loss_draws(task: TaskSamples, d: float, plan: Plan, resamples: int) -> Floats:
    """Return R(d) under resampling of the samples, shape (R,).

    R(d) is the mean score of the control variants at distance `d` minus that of the variants. R is
    `resamples`; `plan` gives the mode and the seed.
    """
    groups = (task.variants[d], task.controls[d])
    prompts = [
        score_prompt(samples, plan, f"task {task.task_id!r}, d{d:g}")
        for group in groups
        for samples in group
    ]
    sizes = [len(prompt.samples) for prompt in prompts]
    rng = generator(plan.seed, task.task_id, "length_control", f"d{d:g}")
    if prompts[0].z is None:
        scores = resampled_pass_rates(sizes, [prompt.passes for prompt in prompts], resamples, rng)
    else:
        z = np.concatenate([prompt.z for prompt in prompts if prompt.z is not None])
        passed = np.concatenate([prompt.samples.passed for prompt in prompts])
        scores = resampled_softexec(z, passed, sizes, resamples, rng)
    k = len(groups[0])
    return np.asarray(scores[:, k:].mean(axis=1) - scores[:, :k].mean(axis=1))


def _is_measured(score: TaskScore, d: float) -> bool:
    return bool(score.original is not None and score.variants.get(d) and score.controls.get(d))


def _with_control(scores: Sequence[TaskScore], d: float) -> list[TaskScore]:
    return [score for score in scores if _is_measured(score, d)]


def _losses_of(scores: Sequence[TaskScore], distances: Sequence[float]) -> _Losses:
    losses = _Losses(variants=[], control=[], excess_loss=[])
    for score in scores:
        curves: tuple[Curve, Curve, Curve] = (
            dict.fromkeys(distances),
            dict.fromkeys(distances),
            dict.fromkeys(distances),
        )
        for d in distances:
            if score.original is None or not _is_measured(score, d):
                continue
            variants = float(np.mean([variant.score for variant in score.variants[d]]))
            control = float(
                np.mean([control_variant.score for control_variant in score.controls[d]])
            )
            values = (score.original.score - variants, score.original.score - control)
            for curve, value in zip(curves, (*values, control - variants), strict=True):
                curve[d] = value
        for curves_of_loss, curve in zip(
            (losses.variants, losses.control, losses.excess_loss), curves, strict=True
        ):
            curves_of_loss.append(curve)
    return losses


def _mean(curves: Sequence[Curve], d: float) -> float:
    return float(np.mean([value for curve in curves if (value := curve[d]) is not None]))
