from __future__ import annotations

import subprocess
import sys

from pytest_promptse.sampling._leader_election import Leadership

TAKE = """\
import sys
from pathlib import Path
from pytest_promptse.sampling._leader_election import Leadership
leadership = Leadership(Path(sys.argv[1]))
print(leadership.take(), flush=True)
sys.stdin.read()
"""


def test_one_process_leads_until_it_releases(tmp_path):
    first, second = (Leadership(tmp_path / "leader") for _ in range(2))
    assert first.take()
    assert first.take()
    assert not second.take()
    first.release()
    assert second.take()
    assert not first.take()
    first.release()
    second.release()


def test_a_leader_that_was_killed_leads_no_more(tmp_path):
    path = tmp_path / "leader"
    command = [sys.executable, "-c", TAKE, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"True\n"
        mine = Leadership(path)
        assert not mine.take()
        other.kill()
        other.wait()
        assert mine.take()
        mine.release()


def test_a_run_of_one_process_needs_no_lock():
    alone = Leadership(None)
    assert alone.take()
    assert not alone.is_shared
    alone.release()
