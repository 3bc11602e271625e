"""Options that several commands have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pytest_promptse.config._options import OPTIONS

if TYPE_CHECKING:
    import argparse

__all__ = ["DEFAULT_STORE", "Subparsers", "add_store_option"]

# argparse has no public name for the object to which commands are added.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001

DEFAULT_STORE = Path(OPTIONS["store"].default)


def add_store_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--store``, the folder of the store."""
    parser.add_argument(
        "--store",
        type=Path,
        metavar="FOLDER",
        help=f"folder of the store (default: from the ini file, else {DEFAULT_STORE})",
    )
