"""Test sessions for every supported Python and for the oldest and newest supported libraries.

``nox`` runs all of them, ``nox -s lowest`` one, and ``nox -s lowest -P 3.13`` one with another
Python. Arguments after ``--`` go to pytest.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import nox

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# The libraries whose oldest supported versions are tested. The tools of the development
# environment stay at their newest.
LOWEST = ("pytest", "pytest-xdist", "numpy", "scipy", "rich", "msgspec", "PyYAML", "pyseccomp")
PYTEST = ("pytest", "-n", "auto", "--dist", "worksteal")

nox.options.default_venv_backend = "uv"
nox.options.error_on_missing_interpreters = False


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the unit tests with the newest versions of all dependencies."""
    session.install("-e", ".[dev]")
    session.run(*PYTEST, *session.posargs)


@nox.session(python=PYTHONS[0])
def coverage(session: nox.Session) -> None:
    """Run the unit tests and fail below the least branch coverage in pyproject.toml.

    Not in `.ci/run`: measuring the processes that tests start takes as long as the tests.
    """
    session.install("-e", ".[dev]")
    session.run("coverage", "run", "-m", *PYTEST, *session.posargs)
    # The cluster needs all CPUs.
    session.run("coverage", "run", "-m", "pytest", "-p", "no:xdist", "tests/ray")
    session.run("coverage", "combine", "-q")
    session.run("coverage", "report", "--skip-covered", "--sort=cover")


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """Run the unit tests with the oldest supported versions of the core's dependencies."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    extras = [need for needs in project["optional-dependencies"].values() for need in needs]
    direct = [
        need
        for need in (*project["dependencies"], *extras)
        if need.partition(">")[0].partition("[")[0] in LOWEST
    ]
    # Not in the session's own folder: pytest would take this project's settings in tests below it.
    with tempfile.TemporaryDirectory() as folder:
        needs, pins = Path(folder, "lowest.in"), Path(folder, "lowest.txt")
        needs.write_text("\n".join(dict.fromkeys(direct)) + "\n", encoding="utf-8")
        session.run_install(
            *("uv", "pip", "compile", "--quiet", "--resolution", "lowest-direct"),
            # The oldest that were built for this Python.
            *("--only-binary", ":all:", "--python", f"{session.virtualenv.bin}/python"),
            *(str(needs), "--output-file", str(pins)),
            external=True,
        )
        session.install("-e", ".[dev]", "--constraint", str(pins))
    session.run("uv", "pip", "list", external=True)
    session.run(*PYTEST, *session.posargs)


@nox.session(python=PYTHONS[0])
def litellm(session: nox.Session) -> None:
    """Run the tests of the backend over LiteLLM, which cannot be installed beside openai 3."""
    session.install("-e", ".[litellm]")
    session.run("pytest", "tests/models/test_litellm.py", *session.posargs)


@nox.session(python=PYTHONS[0])
def package(session: nox.Session) -> None:
    """Build both distributions, check them, and use each as a user without a checkout would."""
    session.install("build", "twine", "check-wheel-contents")
    for old in Path("dist").glob("pytest_promptse-*"):
        old.unlink()
    session.run("python", "-m", "build", "--outdir", "dist", silent=True)
    session.run("twine", "check", "--strict", *map(str, Path("dist").glob("*")))
    [wheel] = Path("dist").glob("*.whl")
    [source] = Path("dist").glob("*.tar.gz")
    session.run("check-wheel-contents", str(wheel))
    # The types of the installed package, as those of a third party's plugin see them.
    session.install("mypy", str(wheel))
    plugin = Path("tests/data/typed_plugin.py").resolve()
    with tempfile.TemporaryDirectory() as folder, session.chdir(folder):
        session.run("mypy", "--strict", str(plugin))
    for distribution in (wheel, source):
        with tempfile.TemporaryDirectory() as folder:
            session.run("uv", "venv", "--quiet", f"{folder}/env", external=True)
            python = f"{folder}/env/bin/python"
            session.run(
                *("uv", "pip", "install", "--quiet", "--python", python),
                f"{distribution.resolve()}[tiny]",
                external=True,
            )
            project = Path(folder, "project")
            project.mkdir()
            with session.chdir(project):
                session.run(f"{folder}/env/bin/promptse", "init", "--yes", external=True)
                # The first test of a new project may fail its gate. It must not end otherwise.
                session.run(
                    *(python, "-m", "pytest", "-q", "--promptse-model", "reference"),
                    external=True,
                )


@nox.session(python=PYTHONS[0])
def audit(session: nox.Session) -> None:
    """Look up known vulnerabilities of the dependencies; list their licences and an SBOM."""
    session.install("pip-licenses", "cyclonedx-bom", "pip-audit")
    Path("build").mkdir(exist_ok=True)
    # An environment of its own, so that the tools above are not listed.
    with tempfile.TemporaryDirectory() as env:
        session.run(
            *("uv", "venv", "--quiet", "--python", f"{session.bin}/python", env), external=True
        )
        python = f"{env}/bin/python"
        extras = "openai,html,templates,statistics,tiny,humaneval,psychometrics"
        install = ("uv", "pip", "install", "--quiet", "--python", python)
        session.run(*install, f".[{extras}]", external=True)
        session.run(
            *("pip-licenses", "--python", python, "--order=license"),
            "--output-file=build/licences.txt",
        )
        session.run("cyclonedx-py", "environment", python, "--output-file", "build/sbom.json")
        # Of what an index does not know, nothing is known: without --strict that would pass. This
        # package itself is not there before its release.
        session.run(
            *("uv", "pip", "uninstall", "--quiet", "--python", python, "pytest-promptse"),
            external=True,
        )
        [packages] = Path(env).glob("lib/python*/site-packages")
        session.run("pip-audit", "--strict", "--path", str(packages), *session.posargs)
