"""A page that needs nothing beside itself: what every one of ours has in common.

No request leaves a page: a content security policy in it forbids all of them and allows no script
but its own, whatever a model, a prompt or a check wrote. Needs the extra ``html``.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_promptse.errors import SettingsError
from pytest_promptse.reports.formatting import exact, probability, short, signed, spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FOLDER = Path(__file__).with_name("page")
MARKS = "●■◆▲▼✚✖★"
"""Of series, in the order of `plots.MARKS`."""
_NEEDS = ("jinja2", "matplotlib")


class Verbatim(str):
    """Text of the package's own, or drawn by it, that goes into a page as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def check_installed(what: str) -> None:
    """Refuse to go on without what pages are made with.

    Parameters
    ----------
    what
        What was asked for, as the error names it.

    Raises
    ------
    SettingsError
        Naming the extra to install.
    """
    missing = [package for package in _NEEDS if find_spec(package) is None]
    if missing:
        raise SettingsError(
            f"{what} needs {' and '.join(missing)}; pip install 'pytest-promptse[html]'"
        )


def rendered(
    template: Path,
    scripts: Sequence[Path],
    *,
    filters: Mapping[str, Callable[..., Any]] | None = None,
    **values: Any,
) -> str:
    """Return the page that `template` makes of `values`, with `filters` of its own.

    Its ``style``, ``script`` and ``script_hash`` are the common style and all of `scripts`.
    """
    import jinja2  # noqa: PLC0415 - of an extra

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template.parent),
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
        "drawn": Verbatim,
        "share": lambda part, whole: f"{100 * part / whole:.1f} %" if whole else "·",
        **(filters or {}),
    }
    script = "\n".join(path.read_text("utf-8") for path in scripts)
    return environment.get_template(template.name).render(
        marks=MARKS,
        style=Verbatim((FOLDER / "page.css").read_text("utf-8")),
        script=Verbatim(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        **values,
    )
