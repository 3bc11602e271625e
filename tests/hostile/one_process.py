"""A pytest plugin that runs the programs of ``everyday/`` in the process of the check.

It shows that a check is right: its right program passes, and its wrong program fails.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import scripted_answers
from pairs import Local, Pair


class Candidate(Local):
    def run(self, stdin="", args=()):
        return subprocess.run(
            [sys.executable, "-c", self._program, *args],
            input=stdin,
            capture_output=True,
            text=True,
        )


def pytest_generate_tests(metafunc):
    if "candidate" in metafunc.fixturenames:
        metafunc.parametrize("candidate", ["right", "wrong"], indirect=True)


@pytest.fixture
def candidate(request):
    mark = request.node.get_closest_marker("promptse")
    key = mark.args[0].split("`")[3]
    settings = scripted_answers.SETTINGS[key]
    if settings["jail_only"]:
        pytest.skip("the check uses what only the plugin offers")
    program = scripted_answers.PROGRAMS[key][request.param == "wrong"]
    pair = Pair(name=key, program=program, check="", entry=settings["entry_point"])
    program = Candidate(pair)
    program.__dict__["_program"] = pair.program
    return program


def pytest_runtest_logreport(report):
    if report.when == "call" or report.failed:
        key = report.nodeid.partition("[")[0]
        path = os.environ["PROMPTSE_JOURNAL"]
        with open(path, "a") as file:
            file.write(f"{report.outcome} {report.nodeid} {key}\n")
