"""Check files: tests of a team in the framework of a language, which judge a program.

The tests and the program share a process, so a program could forge its verdict. Reports say so.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import TaskError
from pytest_promptse.runtimes._runners import RUNNERS, Runner

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_promptse.runtimes._runners import ReportLine

_SCRIPT = re.compile(r"\.[cm]?[jt]sx?$")
_TRIED = ("", ".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", "/index.ts", "/index.js")
_IMPORT = re.compile(
    r"""(?:\bimport\s+(?!type\b)(?P<names>[\w$*{}\s,]+?)\s*\bfrom\s*|\bimport\s*|"""
    r"""\b(?:im|ex)port\s[^"';]*?\bfrom\s*|\b(?:import|require)\s*\(\s*)"""
    r"""["'](?P<source>\.[^"']*)["']"""
)
_COMMENT = re.compile(r"^\s*(?://|/?\*).*$", re.MULTILINE)
_PACKAGE = re.compile(r"^[^\S\n]*package\s+(\w+).*$", re.MULTILINE)
_DETAIL_LINES = 12
_NO_FAILURE = ("passed", "skipped", "todo")


@dataclass(frozen=True, kw_only=True)
class CheckFile:
    """A file of tests, and where they look for the program.

    Attributes
    ----------
    path
        The file on this machine.
    language
        The language of the programs.
    runner
        The framework that runs it.
    test, program
        The paths of the file and of the program in the folder where the tests run.
    files
        Texts by path: the check file, and the files of the project that it imports.
    names
        The names that it imports from the program.
    default
        The name that it gives to the default export of the program, or empty.
    solution
        The text of the team's own file in the place of the program, or None.
    expected
        The tests that every program must pass, or empty if they are not known.
    """

    path: Path
    language: str
    runner: Runner
    test: str
    program: str
    files: Mapping[str, str]
    names: tuple[str, ...] = ()
    default: str = ""
    solution: str | None = None
    expected: tuple[str, ...] = field(default=(), compare=False)

    @property
    def digest_parts(self) -> tuple[Any, ...]:
        """Everything on which a verdict depends apart from the program."""
        return self.runner.name, self.test, self.program, dict(self.files)

    @property
    def entry_point(self) -> str:
        """The first name that it imports from the program, or an empty text."""
        return next(iter(self.names), self.default)

    def sources(self, program: str) -> dict[str, str]:
        """Return the texts of all files of a run, by path."""
        if self.language == "go":
            program = _in_package(program, self.files[self.test])
        else:
            program = _with_exports(program, self.names, self.default)
        return {**self.files, self.program: program}

    def passed(self, report: str) -> tuple[str, ...]:
        """Return the names of the tests that passed."""
        return _passed(self.runner.read(report))

    def check(self, program: Any) -> None:
        """Run the tests with a program, and raise if it is wrong.

        Parameters
        ----------
        program
            The value of the fixture ``program``.

        Raises
        ------
        AssertionError
            If a test failed, if an expected one is not among those that passed, or if the
            framework ended with an error or without a report.
        """
        result = program.run()
        try:
            outcomes = list(self.runner.read(result.stdout))
        except ValueError:
            raise AssertionError(f"{self.runner.name} wrote no readable report") from None
        said = "\n".join(result.stderr.strip().splitlines()[-_DETAIL_LINES:])
        failed = [outcome for outcome in outcomes if outcome.state not in _NO_FAILURE]
        if failed:
            # A group of tests has failed before those in it.
            shown = max(failed, key=lambda outcome: bool(outcome.error))
            # Outside of tests, such as while the program is loaded, the output says more.
            error = " ".join(shown.error.split()) if shown.name else f"{shown.error}\n{said}"
            raise AssertionError(": ".join(filter(None, (shown.name, error))))
        passed = Counter(_passed(outcomes))
        missing = Counter(self.expected) - passed
        if missing:
            raise AssertionError(
                f"{missing.total()} of {len(self.expected)} tests are missing in the report of "
                f"{self.runner.name}, such as {next(iter(missing))!r}; {said}"
            )
        if not passed:
            raise AssertionError(f"the report of {self.runner.name} has no test; {said}")
        if result.returncode != 0:
            raise AssertionError(f"{self.runner.name} ended with {result.returncode}; {said}")


def _passed(outcomes: Iterable[ReportLine]) -> tuple[str, ...]:
    return tuple(name for name, state, _ in outcomes if state == "passed")


def read_check_file(path: Path, *, language: str = "") -> CheckFile:
    """Return the check file at `path`.

    `language` is the language of the programs, or empty if the file decides it.

    Raises
    ------
    TaskError
        If the file cannot be read, no framework runs it, it is in another language, or it does not
        import the program from a file with its own name.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - without resolving links
    matching = [runner for runner in RUNNERS if runner.pattern.fullmatch(path.name)]
    if not matching:
        raise TaskError(
            f"check {path.name!r}: no test framework here has such files; name it "
            f"{', or '.join(runner.example for runner in RUNNERS)}"
        )
    text = _text(path)
    runner = next(runner for runner in matching if runner.sign is None or runner.sign.search(text))
    is_typed = re.search(r"\.[cm]?tsx?$", path.name)
    file_language = "go" if path.suffix == ".go" else "typescript" if is_typed else "javascript"
    if language not in ("", file_language):
        raise TaskError(
            f"check {path.name!r}: is in {file_language}, but the programs are in {language}; give "
            f"language: {file_language}"
        )
    stem = re.sub(r"(?:\.test|\.spec|_test)\.\w+$", "", path.name)
    if file_language == "go":
        return _of_go(path, text, runner, stem)
    return _of_script(path, runner, stem, file_language)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(f"{path}: not UTF-8 text ({error.reason}); save it as UTF-8") from None
    except OSError as error:
        beside = [entry.name for entry in path.parent.glob("*")]
        raise TaskError(
            f"check {path.name!r}: cannot be read in {path.parent}: {error.strerror}"
            f"{nearest(path.name, beside)}"
        ) from None


def _solution(path: Path) -> str | None:
    return _text(path) if path.is_file() else None


def _of_go(path: Path, text: str, runner: Runner, stem: str) -> CheckFile:
    """Return a check file with the other files of its package."""
    program = f"{stem}.go"
    others = [
        other
        for other in sorted(path.parent.glob("*.go"))
        if other.name != program and not other.name.endswith("_test.go")
    ]
    return CheckFile(
        path=path,
        language="go",
        runner=runner,
        test=path.name,
        program=program,
        files={path.name: text, **{other.name: _text(other) for other in others}},
        solution=_solution(path.with_name(program)),
    )


def _of_script(path: Path, runner: Runner, stem: str, language: str) -> CheckFile:
    """Return a check file with the files of its project that it and the solution import.

    Raises
    ------
    TaskError
        If it does not import the program, or imports what does not exist.
    """
    top = next((top for top in path.parents if (top / "package.json").is_file()), path.parent)
    files: dict[str, str] = {}
    program: Path | None = None
    names: list[str] = []
    default = ""
    snapshot = path.parent / "__snapshots__" / f"{path.name}.snap"
    pending = [path, snapshot] if snapshot.is_file() else [path]
    read: set[Path] = set()
    while pending:
        file = pending.pop()
        if file in read:
            continue
        read.add(file)
        text = _text(file)
        if file != program:
            files[str(file.relative_to(top))] = text
        scanned = _COMMENT.sub("", text) if _SCRIPT.search(file.name) else ""
        for match in _IMPORT.finditer(scanned):
            target = Path(os.path.normpath(file.parent / match["source"]))
            if not target.is_relative_to(top):
                raise TaskError(
                    f"check {path.name!r}: imports {match['source']!r} from outside of {top}, "
                    "which the sandbox does not show; move the file"
                )
            if _SCRIPT.sub("", target.name) != stem:
                pending.append(_existing(target, path, match["source"]))
                continue
            is_exact = not runner.package and _SCRIPT.search(target.name)
            program = target if is_exact else target.with_name(stem + path.suffix)
            outside, _, inside = (match["names"] or "").partition("{")
            names += re.findall(r"(?:^|,)\s*(?!type\s)([\w$]+)", inside)
            default = next(iter(re.findall(r"^\s*([\w$]+)", outside)), default)
            # The solution may import files too.
            pending += [program] if program.is_file() else []
    if program is None:
        raise TaskError(
            f"check {path.name!r}: does not import the program; import it from './{stem}'"
        )
    return CheckFile(
        path=path,
        language=language,
        runner=runner,
        test=str(path.relative_to(top)),
        program=str(program.relative_to(top)),
        files=files,
        names=tuple(dict.fromkeys(names)),
        default=default,
        solution=_solution(program),
    )


def _existing(target: Path, path: Path, source: str) -> Path:
    stem = _SCRIPT.sub("", str(target))
    for candidate in (*(f"{target}{end}" for end in _TRIED), *(f"{stem}{end}" for end in _TRIED)):
        if Path(candidate).is_file():
            return Path(candidate)
    raise TaskError(f"check {path.name!r}: imports {source!r}, which does not exist")


def _with_exports(program: str, names: tuple[str, ...], default: str) -> str:
    """Add exports of the `names` that the program defines and does not export.

    A prompt asks for a function, and a model may or may not write ``export`` before it.
    """
    if re.search(r"\b(?:module\.)?exports\s*[.=\[]", program):
        return program
    exported = set(re.findall(r"[\w$]+", " ".join(re.findall(r"\bexport\s*\{([^}]*)\}", program))))
    defined = {
        match["name"]: not match["export"] or bool(match["default"])
        for match in re.finditer(
            r"^(?P<export>export\s+)?(?P<default>default\s+)?(?:async\s+|abstract\s+)?"
            r"(?:function[\s*]+|class\s+|const\s+|let\s+|var\s+|enum\s+)(?P<name>[\w$]+)",
            program,
            re.MULTILINE,
        )
    }
    missing = [name for name in names if defined.get(name) and name not in exported]
    added = f"\nexport {{ {', '.join(missing)} }};\n" if missing else ""
    if default in defined and not re.search(r"\bexport\s+default\b|\bas\s+default\b", program):
        added += f"\nexport default {default};\n"
    return program + added


def _in_package(program: str, test: str) -> str:
    """Return a Go program in the package of its test."""
    package = _PACKAGE.search(test)
    clause = f"package {package[1] if package else 'main'}"
    if _PACKAGE.search(program) is None:
        return f"{clause}\n\n{program}"
    return _PACKAGE.sub(clause, program, count=1)


@dataclass(frozen=True, kw_only=True)
class NodePackages:
    """The packages of a project of Node.

    Attributes
    ----------
    path
        The folder ``node_modules``, without symbolic links, or an empty text.
    version
        The version of the package of a framework, or an empty text.
    folders
        The folders that the packages are in. Some package managers keep them elsewhere.
    """

    path: str = ""
    version: str = ""
    folders: tuple[str, ...] = ()


def node_packages(check_file: CheckFile) -> NodePackages:
    """Return the packages of the project of a check file.

    Raises
    ------
    TaskError
        If the package of its framework is missing or too old.
    """
    package = check_file.runner.package
    packages = next(
        (
            top / "node_modules"
            for top in check_file.path.parents
            if (top / "node_modules" / package).is_dir()
        ),
        None,
    )
    if check_file.language == "go" or (packages is None and not package):
        return NodePackages()
    name = f"check {check_file.path.name!r}"
    install = f"npm install --save-dev {package}"
    if packages is None:
        raise TaskError(
            f"{name}: {package} is not in a node_modules of {check_file.path.parent} or above; "
            f"{install}"
        )
    path = packages.resolve()
    version = ""
    if package:
        version = json.loads((path / package / "package.json").read_text("utf-8"))["version"]
        if int(version.partition(".")[0]) < check_file.runner.least:
            raise TaskError(
                f"{name}: {package} is {version}, and {check_file.runner.least} is needed; "
                f"{install}@latest"
            )
    real = (path / package).resolve()
    outer = [top for top in (real, *real.parents) if top.name == "node_modules"]
    folders = dict.fromkeys([str(path), *map(str, outer[-1:])])
    return NodePackages(path=str(path), version=version, folders=tuple(folders))
