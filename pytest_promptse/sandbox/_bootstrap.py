"""Start an interpreter in the jail from modules that are sent to it.

So no file of this package, or beside it, has to be visible in the jail. The sent modules are all
files of `pytest_promptse.sandbox.guest`, and no others. They are sent compiled as well, because
compiling them takes a third of the start-up time. An interpreter of a different version, as a
container may have, compiles the sources.
"""

from __future__ import annotations

import re
from functools import cache
from graphlib import TopologicalSorter
from importlib.machinery import PathFinder
from importlib.resources import files
from importlib.util import MAGIC_NUMBER
from marshal import dumps
from types import CodeType
from typing import TYPE_CHECKING, cast

from pytest_promptse.sandbox import guest
from pytest_promptse.sandbox.guest.unpatched import __builtins__, json

if TYPE_CHECKING:
    from importlib.abc import InspectLoader

_PACKAGE = "pytest_promptse.sandbox.guest"
_IMPORT = re.compile(
    rf"^from {re.escape(_PACKAGE)}(?:\.(\w+) import| import ([\w, ]+))", re.MULTILINE
)

# Runs as ``python -c``. Descriptor 0 is the checker's socket, which delivers the modules first.
COMMAND = """\
import importlib.util, json, marshal, os, socket, sys, types
control = socket.socket(fileno=os.dup(0))
null = os.open("/dev/null", os.O_RDWR)
os.dup2(null, 0)
size = int.from_bytes(control.recv(8), "big")
text = b""
while len(text) < size:
    text += control.recv(65536)
version, modules = json.loads(text)
is_compiled = version == importlib.util.MAGIC_NUMBER.hex()
for name in ("pytest_promptse", "pytest_promptse.sandbox", "pytest_promptse.sandbox.guest"):
    sys.modules[name] = types.ModuleType(name)
package = sys.modules["pytest_promptse.sandbox.guest"]
for name, source, code in modules:
    module = types.ModuleType("pytest_promptse.sandbox.guest." + name)
    sys.modules[module.__name__] = module
    setattr(package, name, module)
    if is_compiled:
        code = marshal.loads(bytes.fromhex(code))
    else:
        code = compile(source, "<sandbox " + name + ">", "exec")
    exec(code, module.__dict__)
package.zygote.serve(control).serve()
os._exit(0)
"""


@cache
def modules() -> bytes:
    """Return the guest modules as `COMMAND` receives them, imported ones first.

    Each one is its name, its source text, and its code for interpreters of this version.
    """
    texts = {
        file.name.removesuffix(".py"): file.read_text(encoding="utf-8")
        for file in files(_PACKAGE).iterdir()
        if file.name.endswith(".py") and file.name != "__init__.py"
    }
    order = TopologicalSorter({name: _imports(text) for name, text in sorted(texts.items())})
    sent = [(name, texts[name], dumps(_code(name)).hex()) for name in order.static_order()]
    return json.dumps([MAGIC_NUMBER.hex(), sent]).encode()


def _code(name: str) -> CodeType:
    """Return the code of a guest module from the cache of Python, without this machine's paths."""
    # Not by the loader of the imported module: pytest's compiles with rewritten assertions.
    spec = PathFinder.find_spec(f"{_PACKAGE}.{name}", guest.__path__)
    assert spec is not None
    code = cast("InspectLoader", spec.loader).get_code(spec.name)
    assert code is not None
    return _renamed(code, f"<sandbox {name}>")


def _renamed(code: CodeType, filename: str) -> CodeType:
    """Return code in which every function is said to come from the file `filename`."""
    constants = (
        _renamed(part, filename) if isinstance(part, CodeType) else part for part in code.co_consts
    )
    return code.replace(co_filename=filename, co_consts=tuple(constants))


def _imports(text: str) -> set[str]:
    """Return the guest modules that a guest module imports."""
    found = set()
    for one, several in _IMPORT.findall(text):
        found |= {one} if one else {name.strip() for name in several.split(",")}
    return found
