"""Start an interpreter in the jail from source texts that are sent to it.

So no file of this package, or beside it, has to be visible in the jail. The sent modules are all
files of `pytest_promptse.sandbox.guest`, and no others.
"""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from importlib.resources import files

from pytest_promptse.sandbox.guest.unpatched import __builtins__

_PACKAGE = "pytest_promptse.sandbox.guest"
_IMPORT = re.compile(
    rf"^from {re.escape(_PACKAGE)}(?:\.(\w+) import| import ([\w, ]+))", re.MULTILINE
)

# Runs as ``python -c``. Descriptor 0 is the checker's socket, which delivers the sources first.
COMMAND = """\
import json, os, socket, sys, types
control = socket.socket(fileno=os.dup(0))
null = os.open("/dev/null", os.O_RDWR)
os.dup2(null, 0)
size = int.from_bytes(control.recv(8), "big")
text = b""
while len(text) < size:
    text += control.recv(65536)
sources = json.loads(text)
for name in ("pytest_promptse", "pytest_promptse.sandbox", "pytest_promptse.sandbox.guest"):
    sys.modules[name] = types.ModuleType(name)
package = sys.modules["pytest_promptse.sandbox.guest"]
for name, source in sources:
    module = types.ModuleType("pytest_promptse.sandbox.guest." + name)
    sys.modules[module.__name__] = module
    setattr(package, name, module)
    exec(compile(source, "<sandbox " + name + ">", "exec"), module.__dict__)
package.zygote.serve(control).serve()
os._exit(0)
"""


def sources() -> list[tuple[str, str]]:
    """Return name and source text of every module in the guest folder, imported ones first."""
    texts = {
        file.name.removesuffix(".py"): file.read_text(encoding="utf-8")
        for file in files(_PACKAGE).iterdir()
        if file.name.endswith(".py") and file.name != "__init__.py"
    }
    order = TopologicalSorter({name: _imports(text) for name, text in sorted(texts.items())})
    return [(name, texts[name]) for name in order.static_order()]


def _imports(text: str) -> set[str]:
    """Return the guest modules that a guest module imports."""
    found = set()
    for one, several in _IMPORT.findall(text):
        found |= {one} if one else {name.strip() for name in several.split(",")}
    return found
