"""A study as one HTML file (see `reports.html._standalone_page`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_promptse.compare._sections import sections_of
from pytest_promptse.record._files import write_chunks
from pytest_promptse.reports.html import _standalone_page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_promptse.compare._figures import Plot
    from pytest_promptse.compare._study import Study
    from pytest_promptse.record._sections import Section

_FOLDER = Path(__file__).with_name("page")


def check_installed() -> None:
    """Check that the libraries for the page are installed.

    Raises
    ------
    SettingsError
        If a library is missing. The message names the extra to install.
    """
    _standalone_page.check_installed("compare --html")


def write(study: Study, path: Path) -> None:
    """Write a study as a page and create the folder if it is missing.

    Raises
    ------
    RecordError
        If `path` cannot be written.
    SettingsError
        If the extra is not installed.
    """
    check_installed()
    write_chunks([render(study).encode()], path, what=f"--html {path}")


def render(study: Study) -> str:
    """Return the page of a study."""
    from pytest_promptse.compare._figures import figures_of, numbers_of  # noqa: PLC0415 - the extra

    days = sorted({entry.source.record.finished[:10] for entry in study.subset.entries})
    return _rendered(
        title=study.subset.title,
        study=study,
        sections=sections_of(study),
        numbers=numbers_of(study),
        figures=figures_of(study),
        span=" to ".join(dict.fromkeys((days[0], days[-1]))),
    )


def write_sections(
    sections: Sequence[Section],
    path: Path,
    *,
    title: str,
    figures: Mapping[str, Sequence[Plot]] | None = None,
) -> None:
    """Write sections as a page that is no study.

    Parameters
    ----------
    sections
        The sections in order.
    path
        The file to write.
    title
        The heading of the page.
    figures
        The plots of sections, by the names of the sections.

    Raises
    ------
    RecordError, SettingsError
        As in `write`.
    """
    check_installed()
    page = _rendered(
        title=title, study=None, sections=sections, numbers={}, figures=figures or {}, span=""
    )
    write_chunks([page.encode()], path, what=f"--html {path}")


def _rendered(**values: Any) -> str:
    return _standalone_page.rendered(
        _FOLDER / "compare.html.j2",
        [_standalone_page.FOLDER / "sort.js", _FOLDER / "compare.js"],
        **values,
    )
