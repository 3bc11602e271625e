"""A stand-in for a service with the OpenAI Batch API, with its real endpoints."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from email.parser import BytesParser
from email.policy import HTTP
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from json_answers import JsonAnswers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAM = "```python\ndef add(a, b):\n    return a + b\n```"


class BatchServer:
    """Files and batches of the service; the test decides when a batch ends."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.fail_creation = False
        self.url = ""

    def upload(self, content: bytes) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return name

    def create(self, fields: dict[str, Any]) -> dict[str, Any]:
        name = f"batch_{len(self.batches) + 1}"
        lines = self.files[fields["input_file_id"]].splitlines()
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "created_at": 1,
            "status": "validating",
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
            **fields,
        }
        return self.batches[name]

    def end(
        self,
        status: str = "completed",
        *,
        answered: int | None = None,
        change: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda line: line,
    ) -> None:
        """End all open batches with `status` after the first `answered` requests of each."""
        for batch in self.batches.values():
            if batch["status"] not in {"validating", "in_progress", "cancelling"}:
                continue
            requests = [
                json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()
            ]
            results = [result_of(request) for request in requests[:answered]]
            changed = [line for each in results if (line := change(each)) is not None]
            text = "".join(json.dumps(line) + "\n" for line in changed)
            batch["status"] = status
            batch["request_counts"]["completed"] = len(changed)
            batch["output_file_id"] = self.upload(text.encode())
            expired = [error_of(request) for request in requests[len(results) :]]
            if expired:
                text = "".join(json.dumps(line) + "\n" for line in expired)
                batch["error_file_id"] = self.upload(text.encode())


def result_of(request: dict[str, Any]) -> dict[str, Any]:
    """Return the result line of a chat request that was answered."""
    body = request["body"]
    choice = {"message": {"content": PROGRAM}, "finish_reason": "stop"}
    choice["logprobs"] = {"content": [{"logprob": -0.25}, {"logprob": -0.5}]}
    answer = {
        "model": f"{body['model']}-2025-04-14",
        "choices": [choice] * body.get("n", 1),
        "usage": {"prompt_tokens": 20, "completion_tokens": 2 * body.get("n", 1)},
    }
    response = {"status_code": 200, "request_id": "r", "body": answer}
    return {"id": "b", "custom_id": request["custom_id"], "response": response, "error": None}


def error_of(request: dict[str, Any]) -> dict[str, Any]:
    """Return the error line of a request that expired."""
    error = {"code": "batch_expired", "message": "This request could not be executed in time."}
    return {"id": "b", "custom_id": request["custom_id"], "response": None, "error": error}


class _Server(ThreadingHTTPServer):
    state: BatchServer


class _Handler(JsonAnswers):
    server: _Server

    def do_GET(self) -> None:  # noqa: N802 - http.server calls it by this name
        state = self.server.state
        if found := re.fullmatch(r"/v1/files/([\w-]+)/content", self.path):
            self.send_content(state.files[found[1]])
        elif found := re.fullmatch(r"/v1/batches/(\w+)", self.path):
            self.send_json(state.batches[found[1]])
        elif self.path.startswith("/v1/batches"):
            self.send_json(
                {"object": "list", "data": list(state.batches.values()), "has_more": False}
            )
        else:
            self.send_error(404)

    def do_POST(self) -> None:  # noqa: N802 - http.server calls it by this name
        state = self.server.state
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/files":
            name = state.upload(self._uploaded(content))
            self.send_json({"id": name, "object": "file", "purpose": "batch"})
        elif self.path == "/v1/batches":
            batch = state.create(json.loads(content))
            # With `fail_creation` the batch exists, but the client never learns its name.
            self.send_json(batch, status=500 if state.fail_creation else 200)
        elif found := re.fullmatch(r"/v1/batches/(\w+)/cancel", self.path):
            state.batches[found[1]]["status"] = "cancelling"
            self.send_json(state.batches[found[1]])
        else:
            self.send_error(404)

    def _uploaded(self, content: bytes) -> bytes:
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        message = BytesParser(policy=HTTP).parsebytes(head + content)
        for part in message.iter_parts():
            if part.get_param("name", header="content-disposition") == "file":
                payload: bytes = part.get_payload(decode=True)
                return payload
        raise ValueError("the upload has no file")


@contextmanager
def batch_server() -> Iterator[BatchServer]:
    """Run the service on a free port of this machine."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.state = BatchServer()
    server.state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
