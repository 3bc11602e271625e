"""The site: ``sphinx-build -W docs build/site``."""

from __future__ import annotations

from pytest_promptse import __version__

project = "pytest-promptse"
release = __version__
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "pytest-promptse"
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False
# Links to headings as in the repository's own rendering: page.md#heading.
myst_heading_anchors = 4
nitpicky = True
