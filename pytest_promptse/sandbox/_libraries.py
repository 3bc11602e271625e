"""Which code is that of a library, and not of the test."""

from __future__ import annotations

import sys
import sysconfig

from pytest_promptse.sandbox.guest.unpatched import __builtins__, functools

# Found at import: the first call imports a module, which a test that patches `open` prevents.
_FOLDERS = tuple(
    f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


@functools.cache
def is_library(module: str) -> bool:
    """Return whether a module belongs to the standard library or to an installed package."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top in ("_pytest", "pytest", "pytest_promptse"):
        return True
    origin = getattr(sys.modules.get(module), "__file__", None)
    return origin is not None and origin.startswith(_FOLDERS)
