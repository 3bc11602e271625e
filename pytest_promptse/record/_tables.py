"""Tables of a result record: suites, tasks, variants, samples, and figures of instruments."""

from __future__ import annotations

import csv
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, get_args

from pytest_promptse._suggestions import nearest
from pytest_promptse.config._metrics import METRICS
from pytest_promptse.errors import RecordError
from pytest_promptse.record._queries import prompts_of
from pytest_promptse.record._sections import tables_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytest_promptse.record._schema import Record, SuiteRecord, TaskRecord
    from pytest_promptse.record._sections import Column, Table
    from pytest_promptse.store._measured_variant import VariantRecord

_LEVELS = ("suites", "tasks", "variants", "controls", "samples")
_FIGURES = "figures"
Library = Literal["pandas", "polars"]
Row = dict[str, str | int | float | bool | None]
_CUES = ("emotion", "technical", "experience", "collaboration")

# A spreadsheet treats a cell that begins with one of these as a formula. The text may come from a
# model (https://owasp.org/www-community/attacks/CSV_Injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - wide forms


def rows(record: Record, level: str) -> Iterator[Row]:
    """Yield a record's figures as flat rows, one for each entry of `level`.

    All rows of a level have the same keys. A value that was not measured is None. The original of a
    task is a row of ``variants`` with the id ``original`` and the distance 0.

    Parameters
    ----------
    record
        The record of a run.
    level
        ``suites``, ``tasks``, ``variants``, ``controls`` or ``samples``. ``controls`` are the
        variants of the control condition, with the columns of ``variants``. If the run recorded all
        samples (``--promptse-record-samples all``), ``samples`` has one row for each completion of
        originals and variants. Otherwise ``samples`` has one row for each distinct outcome, with
        the number ``n`` of samples. ``figures`` contains the figures of all suites of instruments.
        ``NAME-TABLE`` contains the rows of the table ``TABLE`` of the instrument ``NAME``, from all
        suites of the instrument.

    Raises
    ------
    RecordError
        If the record has no such level.
    """
    of_instruments = _instrument_tables(record)
    if level == _FIGURES or level in of_instruments:
        table = list(_figure_rows(record)) if level == _FIGURES else of_instruments[level]
        names = dict.fromkeys(name for row in table for name in row)
        yield from ({name: row.get(name) for name in names} for row in table)
        return
    if level not in _LEVELS:
        levels = [*_LEVELS, _FIGURES, *of_instruments]
        raise RecordError(
            f"a record has no table {level!r}{nearest(level, levels)}; its tables are "
            f"{', '.join(levels)}"
        )
    distances = sorted({d for suite in record.suites for d in suite.elasticity}, key=float)
    of_suites = (name for suite in record.suites for name in suite.estimates)
    built_in = (metric.name for metric in METRICS.values() if not metric.by_distance)
    metrics = list(dict.fromkeys([*built_in, *of_suites]))
    if level == "suites":
        for suite in record.suites:
            yield _suite_row(suite, distances, metrics)
        return
    for task in record.tasks:
        if level == "tasks":
            yield _task_row(task, distances)
            continue
        for variant in task.controls if level == "controls" else prompts_of(task):
            if level in ("variants", "controls"):
                yield _variant_row(task, variant)
            else:
                yield from _sample_rows(task, variant)


def frame(record: Record, level: str, *, library: Library | None = None) -> Any:
    """Return a table of a record as a data frame.

    Parameters
    ----------
    record
        The record of a run.
    level
        ``suites``, ``tasks``, ``variants``, ``controls``, ``samples``, ``figures`` or a table of an
        instrument; see `rows`.
    library
        ``pandas`` or ``polars``. None selects the installed library, or pandas if both are
        installed.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame

    Raises
    ------
    RecordError
        If the record has no such level, or if the library is not installed.
    """
    table = list(rows(record, level))
    libraries = get_args(Library)
    wanted = [library] if library is not None else libraries
    for name in wanted:
        if name in libraries and find_spec(name) is not None:
            return _FRAMES[name](table)
    names = " or ".join(wanted)
    raise RecordError(f"data frames need {names}: pip install {wanted[0]}")


def write_csv(record: Record, path: Path) -> None:
    """Write ``suites.csv``, ``tasks.csv``, ``variants.csv`` and ``samples.csv`` into a folder.

    A run with a control condition also has ``controls.csv``. A run with suites of instruments has
    ``figures.csv`` and a file for each of their tables.

    Parameters
    ----------
    record
        The record of a run.
    path
        The folder. It is created if it is missing.

    Raises
    ------
    RecordError
        If a file cannot be written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        for level in _written_levels(record):
            with (path / f"{level}.csv").open("w", encoding="utf-8", newline="") as file:
                writer: csv.DictWriter[str] | None = None
                for row in rows(record, level):
                    if writer is None:
                        writer = csv.DictWriter(file, fieldnames=list(row))
                        writer.writeheader()
                    writer.writerow(
                        {
                            name: csv_text(value) if isinstance(value, str) else value
                            for name, value in row.items()
                        }
                    )
    except OSError as error:
        raise RecordError(f"report csv:{path}: {error.strerror or error}") from None


def table_rows(table: Table) -> Iterator[Row]:
    """Yield the rows of a table with unrounded figures. An interval has a column for each limit."""
    for row in table.rows:
        cells: Row = {}
        for column, cell in zip(table.columns, row, strict=True):
            names = cell_names(column)
            if len(names) == 1:
                cells[names[0]] = None if isinstance(cell, tuple) else cell
            else:
                cells |= zip(names, cell if isinstance(cell, tuple) else (None, None), strict=True)
        yield cells


def cell_names(column: Column) -> tuple[str, ...]:
    """Return the names of a column in files: its key, or two names for an interval."""
    if column.kind.endswith("interval"):
        return f"{column.key}_low", f"{column.key}_high"
    return (column.key,)


def csv_text(text: str) -> str:
    """Return text for a CSV cell, prefixed if a spreadsheet would treat it as a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _written_levels(record: Record) -> Iterator[str]:
    if record.suites or not record.instruments:
        has_controls = any(task.controls for task in record.tasks)
        yield from (level for level in _LEVELS if has_controls or level != "controls")
    if record.instruments:
        yield _FIGURES
        yield from _instrument_tables(record)


def _figure_rows(record: Record) -> Iterator[Row]:
    for suite in record.instruments:
        for figure in suite.figures:
            low, high = _pair(figure.ci95)
            yield {
                "suite": suite.id,
                "instrument": suite.instrument,
                "model": suite.model,
                "group": figure.group,
                "figure": figure.name,
                "label": figure.label,
                "value": figure.value,
                "low": low,
                "high": high,
                "reference": figure.reference,
                "baseline": figure.baseline,
            }


def _instrument_tables(record: Record) -> dict[str, list[Row]]:
    """Return the tables of instruments' suites by their names, each over all suites."""
    tables: dict[str, list[Row]] = {}
    for suite in record.instruments:
        for table in tables_in(suite.blocks):
            rows_so_far = tables.setdefault(f"{suite.instrument}-{table.name}", [])
            rows_so_far += [
                {"suite": suite.id, "model": suite.model, **row} for row in table_rows(table)
            ]
    return tables


def _pandas(table: list[Row]) -> Any:
    import pandas as pd  # noqa: PLC0415 - an optional library

    return pd.DataFrame(table)


def _polars(table: list[Row]) -> Any:
    import polars as pl  # noqa: PLC0415 - an optional library

    return pl.DataFrame(table, infer_schema_length=None)


_FRAMES: dict[str, Callable[[list[Row]], Any]] = {"pandas": _pandas, "polars": _polars}


def _pair(values: tuple[float, float] | None) -> tuple[float | None, float | None]:
    return values if values is not None else (None, None)


def _suite_row(suite: SuiteRecord, distances: list[str], metrics: list[str]) -> Row:
    control = suite.control
    excess_low, excess_high = _pair(control.excess_loss.ci95 if control else None)
    return {
        "suite": suite.id,
        "model": suite.model,
        "template": suite.template,
        "mode": suite.mode,
        "weighting": suite.weighting,
        "n_tasks": suite.n_tasks,
        "n_variants": suite.n_variants,
        "n_measured": suite.n_measured,
        **{f"elasticity_{d}": suite.elasticity.get(d) for d in distances},
        "auc_e_null": suite.auc_e_null,
        **{key: value for name in metrics for key, value in _estimate(suite, name)},
        "p_value": suite.p_value,
        "p_adjusted": suite.p_adjusted,
        "ess_median": suite.ess_median,
        "light_auc_e": suite.light.auc_e if suite.light else None,
        "loss_mean": control.loss if control else None,
        "loss_control": control.control_loss if control else None,
        "excess_loss": control.excess_loss.value if control else None,
        "excess_loss_low": excess_low,
        "excess_loss_high": excess_high,
        "verdict": suite.verdict,
    }


def _estimate(suite: SuiteRecord, metric: str) -> Iterator[tuple[str, float | None]]:
    estimate = suite.estimate(metric)
    low, high = _pair(estimate.ci95)
    yield from ((metric, estimate.value), (f"{metric}_low", low), (f"{metric}_high", high))


def _task_row(task: TaskRecord, distances: list[str]) -> Row:
    original, drop = task.original, task.drop
    return {
        "suite": task.suite,
        "model": task.model,
        "template": task.template,
        "task": task.id,
        "original_n": original.n if original else None,
        "original_pass_rate": original.pass_rate if original else None,
        **{f"elasticity_{d}": task.elasticity.get(d) for d in distances},
        "auc_e": task.auc_e,
        "auc_e_null": task.auc_e_null,
        "excess": task.excess,
        "p_value": task.p_value,
        "p_adjusted": task.p_adjusted,
        "drop": drop.value if drop else None,
        "drop_low": drop.ci95[0] if drop else None,
        "drop_high": drop.ci95[1] if drop else None,
        "drop_shrunken": drop.shrunken if drop else None,
        "drop_margin": drop.margin if drop else None,
        "equivalent": drop.equivalent if drop else None,
    }


def _variant_key(task: TaskRecord, variant: VariantRecord) -> Row:
    return {
        "suite": task.suite,
        "model": task.model,
        "template": task.template,
        "task": task.id,
        "variant": variant.id,
        "distance": variant.distance,
        "emotion": variant.emotion,
        "personality": variant.personality,
    }


def _variant_row(task: TaskRecord, variant: VariantRecord) -> Row:
    return {
        **_variant_key(task, variant),
        "measured_distance": variant.measured_distance,
        "added_share": variant.added_share,
        "replaced_share": variant.replaced_share,
        "moved_share": variant.moved_share,
        "length_ratio": variant.length_ratio,
        "operations": " ".join(variant.operations),
        **{f"cue_{name}": variant.cues.get(name) for name in _CUES},
        "rewriter": variant.rewriter or None,
        "n": variant.n,
        "pass_rate": variant.pass_rate,
        "soft_exec": variant.soft_exec,
        "score": variant.score,
        "ess": variant.ess,
        "confidence": variant.confidence,
        "delta": variant.delta,
        "excess": variant.excess,
        "p_value": variant.p_value,
        "p_adjusted": variant.p_adjusted,
        "prompt_tokens": variant.prompt_tokens,
        "completion_tokens": variant.completion_tokens,
        "prompt": variant.text,
    }


def _sample_rows(task: TaskRecord, variant: VariantRecord) -> Iterator[Row]:
    key = _variant_key(task, variant)
    if variant.draws:
        for index, draw in enumerate(variant.draws):
            yield {
                **key,
                "index": index,
                "n": 1,
                "passed": draw.cause is None,
                "cause": draw.cause,
                "detail": None,
                "logprob": draw.logprob,
                "n_tokens": draw.n_tokens,
                "program": None,
            }
        return
    for sample in variant.samples:
        yield {
            **key,
            "index": None,
            "n": sample.n,
            "passed": sample.cause is None,
            "cause": sample.cause,
            "detail": sample.detail,
            "logprob": None,
            "n_tokens": None,
            "program": task.texts.get(sample.text),
        }
