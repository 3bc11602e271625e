"""``html:PATH``: the record as one page that needs nothing beside itself.

No request leaves the page: a content security policy in it forbids all of them and allows no
script but its own, whatever a model, a prompt or a check wrote. Needs the extra ``html``.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_promptse.errors import RecordError, SettingsError
from pytest_promptse.reports.digest import (
    causes,
    compared,
    losses,
    overall,
    series_of,
    unscored,
    worst_change,
)
from pytest_promptse.reports.notation import exact, probability, short, signed, spoken
from pytest_promptse.reports.payload import LIMIT_BYTES, embed
from pytest_promptse.reports.visible import visible

if TYPE_CHECKING:
    from pytest_promptse.reports.record import Record

_PAGE = Path(__file__).with_name("page")
_NEEDS = ("jinja2", "matplotlib")
_HARMFUL = 8


class _Verbatim(str):
    """Text of the package's own, or drawn by it, that goes into the page as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def check_installed() -> None:
    """Refuse to go on without what the page is made with.

    Raises
    ------
    SettingsError
        Naming the extra to install.
    """
    missing = [package for package in _NEEDS if find_spec(package) is None]
    if missing:
        raise SettingsError(
            f"an html report needs {' and '.join(missing)}; pip install 'pytest-promptse[html]'"
        )


def write(record: Record, path: Path) -> None:
    """Write a record as a page, making the folder if it is missing.

    Raises
    ------
    RecordError
        If `path` cannot be written.
    SettingsError
        If the extra is not installed.
    """
    check_installed()
    page = render(record)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(page.encode())
    except OSError as error:
        raise RecordError(f"report html:{path}: {error.strerror or error}") from None


def render(record: Record, *, limit: int = LIMIT_BYTES) -> str:
    """Return the page of a record, with at most `limit` bytes of samples in it."""
    import jinja2  # noqa: PLC0415 - of an extra

    from pytest_promptse.reports import figures  # noqa: PLC0415 - needs the extra

    record = visible(record)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "short": short,
        "exact": exact,
        "number": lambda value: "" if value is None else f"{value:.6g}",
        "signed": signed,
        "probability": probability,
        "spoken": spoken,
        "count": lambda n: f"{n:,}",
        "drawn": _Verbatim,
        "share": lambda part, whole: f"{100 * part / whole:.1f} %" if whole else "·",
    }
    script = (_PAGE / "page.js").read_text("utf-8")
    series = series_of(record)
    harmful = losses(record.tasks)
    return environment.get_template("page.html.j2").render(
        record=record,
        series=series,
        marks="●■◆▲▼✚✖★",
        verdict=overall(record),
        unscored=unscored(record),
        compared=compared(record),
        distances=sorted({d for suite in record.suites for d in suite.elasticity}, key=float),
        several_suites=len({suite.id for suite in record.suites}) > 1,
        curves=figures.curves(record, series),
        voices=figures.voices(record),
        causes=_causes(record),
        harmful=harmful[:_HARMFUL],
        n_harmful=len(harmful),
        worst=worst_change,
        payload=embed(record, limit=limit),
        style=_Verbatim((_PAGE / "page.css").read_text("utf-8")),
        script=_Verbatim(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _causes(record: Record) -> list[dict[str, Any]]:
    tables = []
    for one in series_of(record):
        rows = causes([t for t in record.tasks if (t.model, t.template) == one])
        names = sorted({cause for row in rows for cause in row.counts})
        if names:
            tables.append({"label": one.label, "rows": rows, "names": names})
    return tables
