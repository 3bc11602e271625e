"""Instruments: suites of other kinds than prompts with checks, such as questionnaires.

The names in ``__all__`` are for authors of their own instruments.
"""

from pytest_promptse.instruments._measurement import (
    AnswerLog,
    FigureGate,
    Instrument,
    IntervalGateSettings,
    Measurement,
    Probe,
    SuitePlace,
    SuiteSettings,
)
from pytest_promptse.instruments._scales import (
    Ratings,
    Scale,
    item_order,
    read_ratings,
    scale_prompt,
)
from pytest_promptse.record._instruments import FigureRecord, InstrumentRecord, figure_table
from pytest_promptse.record._sections import (
    Bars,
    Column,
    Intervals,
    Listing,
    PlottedInterval,
    Prose,
    Table,
)

__all__ = [
    "AnswerLog",
    "Bars",
    "Column",
    "FigureGate",
    "FigureRecord",
    "Instrument",
    "InstrumentRecord",
    "IntervalGateSettings",
    "Intervals",
    "Listing",
    "Measurement",
    "PlottedInterval",
    "Probe",
    "Prose",
    "Ratings",
    "Scale",
    "SuitePlace",
    "SuiteSettings",
    "Table",
    "figure_table",
    "item_order",
    "read_ratings",
    "scale_prompt",
]
