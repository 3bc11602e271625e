"""The file system of the jail: the system's libraries, the interpreter and packages."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from pytest_promptse.sandbox.guest.unpatched import __builtins__

PACKAGES = "/opt/packages"


@dataclass(frozen=True, kw_only=True)
class Mounts:
    """Paths of the jail, which are read-only except for the temporary ones.

    Attributes
    ----------
    binds : tuple of (source, target)
        Paths of the host with their mount points.
    links : tuple of (text, target)
        Symbolic links.
    hidden : tuple of str
        Folders within the binds that appear empty: installed packages, including the data set.
    python : str
        Path of the interpreter inside the jail.
    temporary : tuple of str
        Paths at which a program's own ``/tmp`` appears too.
    """

    binds: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...]
    python: str
    temporary: tuple[str, ...] = ()


def _system() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    # Not the whole of /usr, since container images have projects in /usr/src and packages in
    # /usr/local.
    shown = ["/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/share/zoneinfo"]
    shown += ["/etc/ld.so.cache", "/etc/alternatives"]
    links = []
    for path in ("/bin", "/lib", "/lib32", "/lib64"):
        if Path(path).is_symlink():
            links.append((str(Path(path).readlink()), path))
        else:
            shown.append(path)
    return [(path, path) for path in shown if Path(path).exists()], links


def interpreter() -> str:
    """Return the path of this interpreter. That of a virtual environment needs its pyvenv.cfg."""
    return str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]  # noqa: SLF001 - no public name


def _interpreter() -> tuple[list[tuple[str, str]], str]:
    python = interpreter()
    base = Path(sys.base_prefix).resolve()
    if base == Path("/usr"):
        return [], python
    paths = [base / name for name in ("bin", "lib", "lib64") if (base / name).is_dir()]
    return [(str(path), str(path)) for path in paths], python


def _packages(names: tuple[str, ...]) -> list[tuple[str, str]]:
    binds = []
    for name in names:
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            continue
        folder = Path(next(iter(spec.submodule_search_locations)))
        # Wheels put their shared libraries into a folder beside the package.
        paths = (folder, folder.with_name(f"{folder.name}.libs"))
        binds += [(str(p.resolve()), f"{PACKAGES}/{p.name}") for p in paths if p.is_dir()]
    return binds


def build_mounts(
    packages: tuple[str, ...], folders: tuple[str, ...] = (), temporary: tuple[str, ...] = ()
) -> Mounts:
    """Return the mounts of a jail: this interpreter and those of `packages` that are installed.

    `folders` are further folders and files that programs may read, at their own paths. `temporary`
    are folders of temporary files outside of ``/tmp``. Those that would hide something of the jail,
    or lie in it, are left out.
    """
    system, links = _system()
    own, python = _interpreter()
    hidden = [
        str(path)
        for source, _ in (*system, *own)
        if Path(source).is_dir()
        for pattern in ("python*/site-packages", "python*/dist-packages")
        for path in sorted(Path(source).glob(pattern))
    ]
    further = [(path, path) for path in folders]
    binds = (*system, *own, *further, *_packages(packages))
    taken = [Path(path) for _, path in (*binds, *links)]
    taken += map(Path, ("/dev", "/etc", "/proc", "/sys", "/tmp"))  # noqa: S108 - the jail's
    outside = []
    for path in sorted(Path(name) for name in temporary):
        if not any(path.is_relative_to(other) or other.is_relative_to(path) for other in taken):
            outside.append(str(path))
            taken.append(path)
    return Mounts(
        binds=binds,
        links=tuple(links),
        hidden=tuple(hidden),
        python=python,
        temporary=tuple(outside),
    )
