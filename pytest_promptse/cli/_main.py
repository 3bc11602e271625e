"""The ``promptse`` command."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from typing import TYPE_CHECKING

from pytest_promptse import __version__
from pytest_promptse.cli import (
    _batch,
    _compare,
    _harden,
    _history,
    _init,
    _languages,
    _merge,
    _plan,
    _report,
    _shard,
    _show,
    _store,
    _variants,
    _view,
)
from pytest_promptse.cli._arguments import DEFAULT_STORE
from pytest_promptse.cli._extensions import installed_instruments
from pytest_promptse.cli._ini import project_file
from pytest_promptse.errors import PromptseError
from pytest_promptse.record._schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

_DESCRIPTION = "Work with variants, the store and records outside a test run."
_USAGE_ERROR = 2
# 128 plus the number of SIGPIPE, as a shell reports it.
_READER_LEFT = 141


def make_parser() -> argparse.ArgumentParser:
    """Return the parser. Each command sets ``func``, which returns the exit code."""
    parser = argparse.ArgumentParser(prog="promptse", description=_DESCRIPTION)
    parser.add_argument(
        "--version",
        action="version",
        version=f"pytest-promptse {__version__}",
        help="show the version of pytest-promptse and exit",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _init.add_parser(commands)
    _plan.add_parser(commands)
    _variants.add_parser(commands)
    _batch.add_parser(commands)
    _store.add_parser(commands)
    _report.add_parser(commands)
    _show.add_parser(commands)
    _languages.add_parser(commands)
    _shard.add_parser(commands)
    _merge.add_parser(commands)
    _view.add_parser(commands)
    _compare.add_parser(commands)
    _harden.add_parser(commands)
    _history.add_parser(commands)
    for instrument in installed_instruments():
        instrument.add_commands(commands)
    schema = commands.add_parser("schema", help="print the JSON Schema of the result record")
    schema.set_defaults(func=_schema)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments
        The command line, or None for that of the process.

    Returns
    -------
    The exit code: 0 if the command succeeded, 1 if it found a problem, 2 for a usage error.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe without UTF-8 shows escapes instead of ending the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    chosen = make_parser().parse_args(arguments)
    try:
        if getattr(chosen, "store", DEFAULT_STORE) is None:
            chosen.store = project_file().folder_of("store") or DEFAULT_STORE
        code: int = chosen.func(chosen)
        sys.stdout.flush()
    except PromptseError as error:
        sys.stderr.write(f"promptse: {error}\n")
        return _USAGE_ERROR
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe. Python would fail again when it flushes
        # at exit: https://docs.python.org/3/library/signal.html#note-on-sigpipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _READER_LEFT
    return code


def _schema(_: argparse.Namespace) -> int:
    sys.stdout.write(json.dumps(json_schema(), indent=2) + "\n")
    return 0
