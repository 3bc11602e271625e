"""Replacements for the outside world: installers, a paid model, and the services' host names."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pages import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

SLUGIFY = """```python
import re

def slugify(title):
    return "-".join(re.findall("[a-z0-9]+", title.lower()))
```"""
CHUNK = """```python
def chunk(items, size):
    return [items[i : i + size] for i in range(0, len(items), size)]
```"""
FORMAT_PRICE = """```ts
export function formatPrice(cents: number, currency: string = "EUR"): string {
  if (!Number.isInteger(cents)) throw new RangeError("cents must be an integer");
  return `${(cents / 100).toFixed(2)} ${currency}`;
}
```"""
INITIALS = """```ts
const initials = (name: string): string => name.split(" ").map((word) => word.charAt(0)).join("");
```"""
_SOLUTIONS = {"chunk(": CHUNK, "formatPrice(": FORMAT_PRICE, "initials(": INITIALS}
# Popular plugins that the pages do not mention, and that only some environments have.
_WITHOUT = "-p no:asyncio -p no:django -p no:randomly -p no:rerunfailures"
# The packages of Node for tests. `npm install` in their folder makes them.
NODE_PACKAGES = ROOT / "tests/toolchains/check_files/node_modules"
# Each of them checks its arguments and installs nothing. Those of Node are linked.
_INSTALLERS = ("pip", "npm", "apt-get", "sysctl", "sudo")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a new user's shell: this Python's commands, replacements first."""
    commands = folder / "bin"
    commands.mkdir(exist_ok=True)
    for name in _INSTALLERS:
        command = commands / name
        command.write_text(f"#!{sys.executable}\nimport sys\nsys.argv[0] = {name!r}\n" + _SCRIPT)
        command.chmod(0o755)
    ours = {
        name: value
        for name, value in os.environ.items()
        if not re.match(r"PYTEST_|GITHUB_|CI_|CI$|OPENAI_|GIT_", name)
    }
    path = os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]])
    options = f"{_WITHOUT} {more.pop('PYTEST_ADDOPTS', '')}".strip()
    ours |= {"PATH": path, "COLUMNS": "80", "HOME": str(folder), "PYTEST_ADDOPTS": options}
    return {**ours, **more}


def solution(body: Mapping[str, Any], _number: int) -> str:
    """Answer a request of a page with the solution of its task."""
    prompt = body["messages"][-1]["content"]
    return next((text for call, text in _SOLUTIONS.items() if call in prompt), SLUGIFY)


_SCRIPT = f"""
sys.path.insert(0, {str(Path(__file__).parent)!r})
from stand_ins import install
sys.exit(install(*sys.argv))
"""


def install(command: str, *arguments: str) -> int | str:
    """Return 0, or a message about the installer's wrong arguments."""
    if command in ("sudo", "sysctl"):
        return install(*arguments) if command == "sudo" else 0
    wanted = [one for one in arguments[1:] if not one.startswith("-")]
    if command == "npm":
        return _install_of_node(wanted)
    if command == "apt-get":
        known = set(re.findall(r"[\w.+-]+", (ROOT / "tools/setup").read_text()))
        return next((f"{one}: not in tools/setup" for one in wanted if one not in known), 0)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for one in wanted:
        named = re.fullmatch(r"pytest-promptse(?:\[([\w,]+)\])?", one)
        if named is None:
            return f"{one}: not our package"
        for extra in (named[1] or "").split(","):
            if extra and extra not in extras:
                return f"{one}: there is no extra {extra}"
    return 0


def _install_of_node(wanted: list[str]) -> int | str:
    if wanted:
        Path("node_modules").symlink_to(NODE_PACKAGES)
    missing = [name for name in wanted if not (NODE_PACKAGES / name).is_dir()]
    return f"{missing[0]}: not in {NODE_PACKAGES}" if missing else 0
