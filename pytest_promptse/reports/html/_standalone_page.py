"""Common parts of the self-contained HTML pages. Needs the extra ``html``.

A content security policy in the page forbids all requests, and all scripts but its own. So no text
of a model, prompt or check can run as a script.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_promptse.errors import SettingsError
from pytest_promptse.reports._cells import sort_value, written
from pytest_promptse.reports._formatting import (
    cause_words,
    exact,
    points,
    probability,
    short,
    signed,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jinja2

    from pytest_promptse.record._sections import Bars, Intervals

FOLDER = Path(__file__).with_name("page")
MARKS = "●■◆▲▼✚✖★"
"""Marks of series, in the order of `_plots.MARKS`."""
_NEEDS = ("jinja2", "matplotlib")


def _plot(block: Bars | Intervals, name: str) -> str:
    from pytest_promptse.reports.html._block_plots import plot  # noqa: PLC0415 - Matplotlib

    return plot(block, name)


class Verbatim(str):
    """Trusted text of this package that is inserted into a page without escaping."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def check_installed(what: str) -> None:
    """Check that the packages of the extra ``html`` are installed.

    Parameters
    ----------
    what
        Name of the requested output for the error message.

    Raises
    ------
    SettingsError
        If a package is missing. The message names the extra to install.
    """
    missing = [package for package in _NEEDS if find_spec(package) is None]
    if missing:
        raise SettingsError(
            f"{what} needs {' and '.join(missing)}; pip install 'pytest-promptse[html]'"
        )


def rendered(
    template: Path,
    scripts: Sequence[Path],
    **values: Any,
) -> str:
    """Render `template` with `values`.

    The template also gets ``style`` (the common style sheet), ``script`` (all of `scripts`) and
    ``script_hash``.
    """
    script = "\n".join(path.read_text("utf-8") for path in scripts)
    page = _environment(template.parent).get_template(template.name)
    return page.render(
        marks=MARKS,
        style=Verbatim((FOLDER / "page.css").read_text("utf-8")),
        script=Verbatim(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        **values,
    )


@cache
def _environment(folder: Path) -> jinja2.Environment:
    """Return the environment for the templates in `folder`. It keeps compiled templates."""
    import jinja2  # noqa: PLC0415 - of an extra

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, FOLDER]),
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
        "cause_words": cause_words,
        "points": points,
        "count": lambda n: f"{n:,}",
        "drawn": Verbatim,
        "share": lambda part, whole: f"{100 * part / whole:.1f} %" if whole else "·",
        "written": written,
        "sort_value": sort_value,
        "kind": lambda block: type(block).__name__,
        "plot": _plot,
    }
    return environment
