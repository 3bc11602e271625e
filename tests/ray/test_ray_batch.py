"""A batch on a cluster: no answered request is sent again after any loss."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from pytest_promptse.cli._main import main
from pytest_promptse.errors import SettingsError, StoreError
from pytest_promptse.sampling._ray_batch import VllmStage
from pytest_promptse.sampling._ray_results import RESULTS, ResultFile

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from tests.ray.conftest import ChatServer, Nodes

REQUESTS = 512
AT_ONCE = 16


def command(folder: Path, cluster: Nodes, server: ChatServer) -> tuple[str, ...]:
    return (
        *("batch", "run", str(folder), "--ray", cluster.address, "--base-url", server.url),
        *("--concurrency", str(AT_ONCE)),
    )


def answered(folder: Path) -> set[str]:
    """Return the prompts whose results are in the file, apart from a line being written."""
    lines = (folder / RESULTS).read_bytes().split(b"\n")[:-1]
    return {f"prompt {int(json.loads(line)['custom_id'].partition('-')[0], 16)}" for line in lines}


def test_the_loss_of_a_node_and_of_the_driver_pays_nothing_twice(
    batch: Callable[[int], Path],
    cluster: Nodes,
    server: ChatServer,
    promptse: Callable[..., subprocess.Popen[str]],
) -> None:
    folder = batch(REQUESTS)
    arguments = command(folder, cluster, server)
    driver = promptse(*arguments)
    server.wait_for(100)
    before_loss = answered(folder)
    sent = len(server.prompts)
    cluster.kill()
    server.wait_for(250)
    assert not before_loss & set(server.prompts[sent + AT_ONCE :])
    driver.kill()
    driver.communicate()
    before_resume = answered(folder)
    assert len(before_resume) >= 200
    sent = len(server.prompts)
    cluster.fill()

    driver = promptse(*arguments)
    out, err = driver.communicate(timeout=500)
    assert driver.returncode == 0, err
    # Requests that were open when the driver was killed may arrive a little later.
    again = Counter(server.prompts)
    assert not before_resume & set(server.prompts[sent + AT_ONCE :])
    assert len(server.prompts) <= REQUESTS + 2 * AT_ONCE
    assert set(again) == {f"prompt {number}" for number in range(REQUESTS)}
    assert "0 failed" in out
    assert f"stored {2 * REQUESTS:,} completions" in out
    assert len(answered(folder)) == REQUESTS


def test_refused_requests_are_reported_and_sent_again_by_the_next_run(
    batch: Callable[[int], Path],
    cluster: Nodes,
    server: ChatServer,
    promptse: Callable[..., subprocess.Popen[str]],
) -> None:
    folder = batch(20)
    arguments = command(folder, cluster, server)
    server.refusal = (400, "prompt 1")
    driver = promptse(*arguments)
    _, err = driver.communicate(timeout=500)
    assert driver.returncode == 2
    assert "HTTP 400, refused: prompt 1" in err
    assert len(err.splitlines()) == 1
    # A run that was killed while it wrote leaves an incomplete line.
    with (folder / RESULTS).open("ab") as file:
        file.write(b'{"custom_id":"00')
    known = answered(folder)
    server.refusal = None
    server.prompts.clear()
    out, err = promptse(*arguments).communicate(timeout=500)
    assert f"{len(known)} requests had a result, {20 - len(known)} were answered" in out, err
    assert len(server.prompts) == 20 - len(known)
    assert "stored 40 completions" in out


def test_wrong_options_are_refused_before_anything_is_sent(
    batch: Callable[[int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SettingsError, match="not a multiple of --tensor-parallel 2"):
        VllmStage(gpus=3, tensor_parallel=2, engine_args={})
    assert VllmStage(gpus=8, tensor_parallel=2, engine_args={}).replicas == 4
    with pytest.raises(SettingsError, match="--concurrency 0: must be at least 1"):
        VllmStage(concurrency=0, engine_args={})
    assert main(["batch", "run", str(batch(1)), "--ray", "ray://127.0.0.1:10001"]) == 2
    assert "a Ray Client address" in capsys.readouterr().err


def test_the_file_of_results_is_written_by_one_run_and_keeps_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = [_line(f"{number}-0-1") for number in range(3)]
    failed = b'{"custom_id":"3-0-1","response":null,"error":{"message":"no"}}\n'
    (tmp_path / RESULTS).write_bytes(b"".join([good[0], failed, good[1], good[1], good[2][:-9]]))
    file = ResultFile(tmp_path)
    assert (tmp_path / RESULTS).read_bytes() == good[0] + good[1]
    assert file.missing([f"{number}-0-1" for number in range(4)]) == [False, False, True, True]
    file.add([good[1], good[2], failed])
    assert (tmp_path / RESULTS).read_bytes() == b"".join([*good, failed])
    assert file.state() == ({"known": 2, "answered": 1, "failed": 1}, "")
    monkeypatch.setattr("pytest_promptse.sampling._ray_results._PATIENCE", 0.0)
    with pytest.raises(StoreError, match="another run writes results"):
        ResultFile(tmp_path)
    file.close()


def _line(custom_id: str) -> bytes:
    response = {"status_code": 200, "body": {}}
    return json.dumps({"custom_id": custom_id, "response": response}).encode() + b"\n"
