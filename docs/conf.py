"""The site: ``sphinx-build -W docs build/site``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

from pytest_promptse import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# Forges draw these pictures. The site shows their text, since it loads no script from elsewhere.
lexers["mermaid"] = TextLexer()

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

_NAVIGATION = """

```{toctree}
:hidden:
:caption: Tutorial
:glob:

tutorial/*
```

```{toctree}
:hidden:
:caption: How to
:glob:

how-to/read-the-summary
how-to/ci
how-to/budgets
how-to/servers
how-to/templates
how-to/baselines
how-to/compare
how-to/reports
how-to/*
```

```{toctree}
:hidden:
:caption: Explanation
:glob:

explanation/auc-e
explanation/gates
explanation/choosing-a-gate
explanation/variants
explanation/*
architecture
```

```{toctree}
:hidden:
:caption: Reference
:glob:

reference/options
reference/mark
reference/suite-files
reference/commands
reference/record
reference/hooks
reference/*
```
"""


def _add_navigation(_app: Sphinx, page: str, source: list[str]) -> None:
    # A repository page would show the directives as code, so they are not in the file.
    if page == "index":
        source[0] += _NAVIGATION


def setup(app: Sphinx) -> None:
    """Put the navigation of the site below its first page."""
    app.connect("source-read", _add_navigation)
