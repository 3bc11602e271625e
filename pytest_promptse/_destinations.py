"""Check that results can be written before they are paid for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def why_unwritable(path: Path, *, folder: bool | None = False) -> str | None:
    """Return why a file cannot be written at `path`, or None if it can. Nothing is created.

    Parameters
    ----------
    path
        The file. Missing folders above it can be created.
    folder
        True if `path` is a folder of files, None if it may be either.
    """
    if os.path.lexists(path):
        if folder is not None and path.is_dir() != folder:
            return f"{path} is a {'file' if folder else 'folder'}"
        place = path
    else:
        place = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
        if not place.is_dir():
            return f"{place} is not a folder"
    return None if os.access(place, os.W_OK) else f"{place} is not writable"
