"""The emotions and factors of EmotionBench, and the answers of human subjects.

Names and order are those of Table 3 of Huang et al., "Emotionally Numb or Empathetic? Evaluating
How LLMs Feel Using EmotionBench" (arXiv:2308.03656), numbered as in the authors' files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from pytest_promptse.instruments._scales import Scale

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EMOTIONS", "NEGATIVE", "PANAS", "POSITIVE", "HumanNorm", "factor_name", "human_norms"]

EMOTIONS: Mapping[str, tuple[str, ...]] = {
    "Anger": (
        "Facing Self-Opinioned People",
        "Blaming, Slandering, and Tattling",
        "Bullying, Teasing, Insulting, and Disparaging",
        "Silly and Thoughtless Behaviors",
        "Driving Situations",
    ),
    "Anxiety": (
        "External Factors",
        "Self-Imposed Pressure",
        "Personal Growth and Relationships",
        "Uncertainty and Unknowns",
    ),
    "Depression": (
        "Failure of Important Goals",
        "Death of Loved Ones",
        "Romantic Loss",
        "Chronic Stress",
        "Social Isolation",
        "Winter",
    ),
    "Frustration": (
        "Disappointments and Letdowns",
        "Unforeseen Obstacles and Accidents",
        "Miscommunications and Misunderstanding",
        "Rejection and Interpersonal Issues",
    ),
    "Jealousy": (
        "Romantic (Opposite Gender)",
        "Romantic (Same Gender)",
        "Material Possession",
        "Experiential",
    ),
    "Guilt": (
        "Betrayal and Deception",
        "Relationship and Interpersonal",
        "Broken Promises and Responsibilities",
        "Personal and Moral",
    ),
    "Fear": (
        "Social Fears",
        "Agoraphobia Fears",
        "Injury Fears",
        "Dangerous Environments",
        "Harmless Animals",
    ),
    "Embarrassment": (
        "Intimate",
        "Stranger",
        "Sticky Situations",
        "Centre of Attention",
    ),
}
"""The factors of each emotion, in published order. A factor's id is ``Emotion-N``, from 0."""

POSITIVE = "Positive Affect"
NEGATIVE = "Negative Affect"

PANAS = Scale(
    name="PANAS",
    items=(
        "Interested",
        "Distressed",
        "Excited",
        "Upset",
        "Strong",
        "Guilty",
        "Scared",
        "Hostile",
        "Enthusiastic",
        "Proud",
        "Irritable",
        "Alert",
        "Ashamed",
        "Inspired",
        "Nervous",
        "Determined",
        "Attentive",
        "Jittery",
        "Active",
        "Afraid",
    ),
    low=1,
    high=5,
    instructions=(
        "Rate how strongly you feel each of the following right now. Use whole numbers from 1 to "
        "5: 1 is very slightly or not at all, 2 a little, 3 moderately, 4 quite a bit and 5 "
        "extremely. Write one line for each feeling: its number, the feeling, a colon, and the "
        "rating. Write nothing else."
    ),
    categories={
        POSITIVE: (1, 3, 5, 9, 10, 12, 14, 16, 17, 19),
        NEGATIVE: (2, 4, 6, 7, 8, 11, 13, 15, 18, 20),
    },
    source=(
        "Adjectives and key: Watson, Clark & Tellegen, Journal of Personality and Social "
        "Psychology 54 (1988), 1063-1070. The instructions are this project's own."
    ),
)
"""The Positive And Negative Affect Schedule. Each total is in [10, 50]."""


@dataclass(frozen=True, kw_only=True)
class HumanNorm:
    """Change of human subjects' affect in the situations of one factor.

    Parameters
    ----------
    n
        Number of subjects.
    delta_positive, delta_negative
        Mean change from the default to the evoked measure.
    sd_positive, sd_negative
        Standard deviation of that change over subjects.
    """

    n: int
    delta_positive: float
    delta_negative: float
    sd_positive: float
    sd_negative: float


def factor_name(factor: str) -> str:
    """Return the name of the factor ``Emotion-N``, with N from 0. An emotion is returned unchanged.

    Raises
    ------
    KeyError
        If there is no such emotion, or no factor with this number.
    ValueError
        If N is not an integer.
    """
    emotion, dash, number = factor.partition("-")
    if not dash:
        return {name: name for name in EMOTIONS}[emotion]
    names = dict(enumerate(EMOTIONS[emotion]))
    return names[int(number)]


@cache
def human_norms() -> Mapping[str, HumanNorm]:
    """Return the norms by factor, by emotion, and for all as ``Overall``.

    Means and deviations of the 1,266 subjects of the paper's crowd study, computed from the
    published responses. The means are the crowd columns of Table 3.
    """
    data = resources.files(__package__) / "data" / "human_norms.json"
    norms = json.loads(data.read_text(encoding="utf-8"))["norms"]
    return {name: HumanNorm(**norm) for name, norm in norms.items()}
