"""``promptse languages``: the languages of programs, with their toolchains on this machine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pytest_promptse.config._options import LANGUAGES
from pytest_promptse.errors import TaskError
from pytest_promptse.runtimes._toolchains import installed

if TYPE_CHECKING:
    import argparse

    from pytest_promptse.cli._arguments import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Add the ``languages`` command, which sets ``func``. ``func`` returns the exit code."""
    languages = subparsers.add_parser(
        "languages",
        help="list the languages of programs and their toolchains",
        description="List the supported programming languages. For each language, show its "
        "toolchain on this machine, or how to install it.",
    )
    languages.set_defaults(func=_languages)


def _languages(_: argparse.Namespace) -> int:
    width = max(map(len, LANGUAGES))
    for language in LANGUAGES:
        try:
            state = installed(language).version
        except TaskError as error:
            state = f"missing: {str(error).partition(': ')[2]}"
        sys.stdout.write(f"{language:<{width}}  {state}\n")
    return 0
