"""A digest of the source that a verdict depends on: the test body and its imports."""

from __future__ import annotations

import ast
import hashlib
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_OWN_PACKAGE = __name__.partition(".")[0]


def source_digest(modules: Iterable[str], root: Path) -> str:
    """Return a digest of the named modules and all their imports that are files under `root`.

    Installed packages in ``site-packages`` are not part of the digest, since they belong to the
    environment and not to the project. Nor is this package, which has its own version of the
    judging.
    """
    return _digest(frozenset(modules), root)


# The digest is cached: the imported sources are those that were read at the first call.
@cache
def _digest(modules: frozenset[str], root: Path) -> str:
    files: dict[str, str] = {}
    waiting = list(modules)
    seen = set(waiting)
    while waiting:
        name = waiting.pop()
        path = _project_file(name, root)
        if path is None or str(path) in files:
            continue
        files[str(path)], imports = _read(path)
        new = {_absolute(imported, level, name) for imported, level in imports} - seen
        waiting += sorted(new)
        seen |= new
    lines = [f"{Path(path).relative_to(root)}:{files[path]}" for path in sorted(files)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _project_file(name: str, root: Path) -> Path | None:
    if name.partition(".")[0] == _OWN_PACKAGE:
        return None
    file = getattr(sys.modules.get(name), "__file__", None)
    if not file:
        return None
    path = Path(file)
    if not path.is_relative_to(root) or "site-packages" in path.parts or not path.is_file():
        return None
    return path


def _absolute(name: str, level: int, importer: str) -> str:
    if not level:
        return name
    package = getattr(sys.modules.get(importer), "__package__", "") or importer.rpartition(".")[0]
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - level + 1])
    return f"{base}.{name}" if name else base


def _read(path: Path) -> tuple[str, tuple[tuple[str, int], ...]]:
    # A checkout on Windows may have other line ends, which do not change a verdict.
    source = path.read_bytes().replace(b"\r\n", b"\n")
    imports: list[tuple[str, int]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imports += [(alias.name, 0) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            imports.append((base, node.level))
            imports += [(f"{base}.{alias.name}".strip("."), node.level) for alias in node.names]
    return hashlib.sha256(source).hexdigest(), tuple(imports)
