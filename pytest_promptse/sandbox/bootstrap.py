"""How a bare interpreter becomes a zygote: our sources travel to it, our files do not.

So nothing of this package, and nothing that lies beside it, has to be visible in the jail.
"""

from __future__ import annotations

from importlib.resources import files

_PACKAGE = "pytest_promptse.sandbox"
_MODULES = ("wire", "encode", "decode", "kernel", "guest", "zygote")

# Runs as ``python -c``; descriptor 0 is the checker's socket, on which the sources come first.
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
for name in ("pytest_promptse", "pytest_promptse.sandbox"):
    sys.modules[name] = types.ModuleType(name)
package = sys.modules["pytest_promptse.sandbox"]
for name, source in sources:
    module = types.ModuleType("pytest_promptse.sandbox." + name)
    sys.modules[module.__name__] = module
    setattr(package, name, module)
    exec(compile(source, "<sandbox " + name + ">", "exec"), module.__dict__)
package.zygote.serve(control)
"""


def sources() -> list[tuple[str, str]]:
    """Return name and source text of every module that the zygote runs."""
    folder = files(_PACKAGE)
    return [(name, (folder / f"{name}.py").read_text(encoding="utf-8")) for name in _MODULES]
