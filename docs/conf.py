"""The site: ``sphinx-build -W docs build/site``."""

from __future__ import annotations

import sys
from pathlib import Path

from pytest_promptse import __version__

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

project = "pytest-promptse"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "reference"]
html_theme = "furo"
html_title = "pytest-promptse"
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False
# Links to headings as in the repository's own rendering: page.md#heading.
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
# Types stand in the signatures as they do in the code.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
