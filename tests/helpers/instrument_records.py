"""Records of instruments' suites, for tests of reports and comparisons."""

from __future__ import annotations

from pytest_promptse.record._instruments import (
    BoundsRecord,
    FigureRecord,
    InstrumentRecord,
    figure_table,
)
from pytest_promptse.record._schema import SCHEMA, Record, UsageRecord
from pytest_promptse.record._sections import Bars, Intervals, Listing, PlottedInterval, Prose


def figure(name, value, **fields):
    ci95 = None if value is None else (value - 0.1, value + 0.1)
    return FigureRecord(name=name, label=f"label of {name}", value=value, ci95=ci95, **fields)


def survey(model, warmth, *, heading="en", **fields):
    """The result of a questionnaire with every kind of block, and a gate that fails."""
    figures = [
        figure("warmth", warmth, reference=0.5),
        figure("coverage", 0.9),
        figure("shift", 10 * warmth, group="Affect", kind="points", correlated=True),
        figure("detail", 0.25, group="Details", brief=False),
    ]
    given = {
        "instrument": "survey",
        "title": "Survey of warmth",
        "about": "What a model answers, which is no feeling.",
        "id": "mood.survey.yaml",
        "model": model,
        "heading": heading,
        "brief": f"warmth {warmth}",
        "n_planned": 4,
        "n_responses": 4,
        "figures": figures,
        "blocks": [
            Prose(text="two runs were read"),
            figure_table("scores", "Scores", figures[:2]),
            Bars(title="Shares", parts=("warm", "cold"), rows=((model, (warmth, 1 - warmth)),)),
            Intervals(
                title="Changes",
                axis="points",
                rows=(PlottedInterval(label="fear", value=1.0, ci95=(0.5, 1.5), reference=2.0),),
                reference="human",
            ),
            Listing(title="First words", text="warm: sun", brief=False),
        ],
        "gates": [
            BoundsRecord(
                name="warmth", low=0.9, value=warmth, verdict="fail", message="warmth 0.50 < 0.90"
            )
        ],
        "conditions": {"language": heading},
        "reference": "human",
        "line": 2,
    }
    return InstrumentRecord(**given | fields)


def record(*suites, **fields):
    given = {
        "schema": SCHEMA,
        "tool": {},
        "started": "2026-01-01T00:00:00+00:00",
        "finished": "2026-01-01T00:00:01+00:00",
        "environment": {},
        "git": None,
        "settings": {},
        "models": [],
        "suites": [],
        "tasks": [],
        "usage": UsageRecord(requests=0, prompt_tokens=0, completion_tokens=0, cost=None, cached=0),
        "errors": [],
        "instruments": list(suites),
    }
    return Record(**given | fields)
