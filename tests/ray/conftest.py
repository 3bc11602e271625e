"""A Ray cluster of two nodes with one CPU each, and a server that counts what it answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import closing
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from batch_server import result_of
from json_answers import JsonAnswers

from pytest_promptse.models import Decoding, Prompt
from pytest_promptse.sampling._batch_files import BatchOptions, export_batch
from pytest_promptse.sampling._job import Job
from pytest_promptse.store._store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# Ray reads it when it is imported.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
cluster_utils = pytest.importorskip("ray.cluster_utils")

MODEL = "openai:m"
PROMPTSE = "import sys; from pytest_promptse.cli._main import main; sys.exit(main())"


class Nodes:
    """A head node, which tests leave alone, and one more, which they may kill."""

    def __init__(self) -> None:
        self._cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        self.address: str = self._cluster.address
        self._other: Any = None

    def fill(self) -> None:
        """Start the second node unless it runs."""
        if self._other is None:
            self._other = self._cluster.add_node(num_cpus=1)

    def kill(self) -> None:
        """End the second node and all that runs on it at once."""
        self._cluster.remove_node(self._other, allow_graceful=False)
        self._other = None

    def close(self) -> None:
        self._cluster.shutdown()


@pytest.fixture(scope="session")
def nodes() -> Iterator[Nodes]:
    nodes = Nodes()
    yield nodes
    nodes.close()


@pytest.fixture
def cluster(nodes: Nodes) -> Nodes:
    nodes.fill()
    return nodes


class ChatServer(ThreadingHTTPServer):
    """A server for chat completions. It notes the prompts that it answered."""

    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.latency = 0.02
        self.refusal: tuple[int, str] | None = None
        self.prompts: list[str] = []

    def wait_for(self, n: int) -> None:
        """Return when `n` requests were answered."""
        deadline = time.monotonic() + 300
        while len(self.prompts) < n:
            assert time.monotonic() < deadline, f"{len(self.prompts)} of {n} requests came"
            time.sleep(0.01)


class _Handler(JsonAnswers):
    protocol_version = "HTTP/1.1"
    server: ChatServer

    def do_POST(self) -> None:  # noqa: N802 - http.server calls it by this name
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(self.server.latency)
        prompt = body["messages"][-1]["content"]
        if self.server.refusal is not None and prompt.startswith(self.server.refusal[1]):
            status = self.server.refusal[0]
            self.send_json({"error": {"message": f"refused: {prompt}"}}, status=status)
            return
        self.server.prompts.append(prompt)
        self.send_json(result_of({"custom_id": "", "body": body})["response"]["body"])


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def batch(tmp_path: Path) -> Callable[[int], Path]:
    """Export a batch of `n` requests for two completions each, and return its folder."""

    def export(n: int) -> Path:
        jobs = [
            Job(
                key=f"{number:064x}",
                model=MODEL,
                prompt=Prompt(user=f"prompt {number}"),
                decoding=Decoding(max_tokens=48),
                n=2,
                seed=number,
                task_id="add",
                variant_id=f"d0.1-tired-{number}",
            )
            for number in range(n)
        ]
        folder = tmp_path / "batch"
        with closing(Store(tmp_path / "store")) as store:
            export_batch(
                jobs, store, folder, model=MODEL, identity={"a": "b"}, options=BatchOptions()
            )
        return folder

    return export


@pytest.fixture
def promptse(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start the ``promptse`` command in the temporary folder."""

    def start(*arguments: str, folder: str = ".") -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", PROMPTSE, *arguments],
            cwd=tmp_path / folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start
