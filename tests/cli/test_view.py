"""`promptse view` serves the page of a record on this machine, and nothing else."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from pytest_promptse.cli._main import main

SAVED = Path(__file__).parents[1] / "record" / "records" / "0.1.0.json"


@pytest.fixture
def server():
    command = [sys.executable, "-c", "from pytest_promptse.cli._main import main; main()"]
    with subprocess.Popen(
        [*command, "view", str(SAVED), "--no-browser"], stdout=subprocess.PIPE, text=True
    ) as process:
        line = process.stdout.readline()
        yield process, re.search(r"http://127\.0\.0\.1:\d+/", line)[0]
        process.kill()


def test_the_page_is_served_until_the_command_is_interrupted(server):
    process, address = server
    with urllib.request.urlopen(address, timeout=60) as answer:
        page = answer.read().decode()
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.startswith("<!doctype html>")
    with pytest.raises(urllib.error.HTTPError, match="404") as refused:
        urllib.request.urlopen(f"{address}etc/passwd", timeout=60)
    refused.value.close()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.json"], "gone.json"),
        ([str(SAVED), "--port", "70000"], "choose another port"),
    ],
)
def test_a_mistake_is_one_line(arguments, said, capsys):
    assert main(["view", "--no-browser", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
