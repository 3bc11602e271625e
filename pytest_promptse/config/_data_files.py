"""Paths of the shipped data: in the package, or next to it in a checkout of the repository."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def templates_dir() -> Path:
    """Return the folder of the shipped library and prompt templates."""
    installed = _PACKAGE / "templates"
    return installed if installed.is_dir() else _PACKAGE.parent / "templates"


def tiny_dir() -> Path:
    """Return the folder of the embedded model."""
    return _PACKAGE / "models" / "tiny"
