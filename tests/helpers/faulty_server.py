"""A server on this machine that has all three APIs and fails on demand.

Run as a script, it serves until interrupted: ``python faulty_server.py --latency 0.2``.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping
    from email.message import Message

Fault = Literal[
    "none",
    "429",
    "500",
    "503",
    "quota",
    "context",
    "hang",
    "drop",
    "broken_json",
    "wrong_shape",
    "empty_choices",
    "null_content",
]
_API_OF_PATH = {
    "/v1/chat/completions": "chat",
    "/v1/completions": "completions",
    "/v1/responses": "responses",
}
ANSWER = "```python\ndef one():\n    return 1\n```"


@dataclass
class Behaviour:
    """The behaviour of the server, which may be changed while it runs.

    Each of the next requests gets one of ``faults``. ``refuses`` maps a parameter to the message of
    HTTP 400 for requests with this parameter.
    """

    faults: deque[Fault] = field(default_factory=deque)
    apis: tuple[str, ...] = ("chat", "completions", "responses")
    models: tuple[str, ...] = ("m",)
    key: str | None = None
    refuses: dict[str, str] = field(default_factory=dict)
    names_the_parameter: bool = True
    ignores_n: bool = False
    most_n: int = 128
    logprobs: bool = True
    finish_reason: str = "stop"
    retry_after: str | None = None
    latency: float = 0.0
    room: int | None = None
    answer: Callable[[Mapping[str, Any], int], str] = lambda _body, _number: ANSWER


class FaultyServer:
    """Serves from a thread while its ``with`` block lasts.

    ``requests`` has each received body, and ``headers`` its headers. With `tls` it speaks HTTPS.
    """

    def __init__(self, *, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.behaviour = Behaviour()
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[Message] = []
        self.busiest = 0
        self._busy = 0
        self.lock = threading.Lock()
        self.released = threading.Event()
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.owner = self
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            # The handshake happens in the thread of the connection, where its failure ends.
            self._http.socket = tls.wrap_socket(
                self._http.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()

    def arrive(self) -> bool:
        """Count a request. Return False if there is no room for it."""
        with self.lock:
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
            return self.behaviour.room is None or self._busy <= self.behaviour.room

    def leave(self) -> None:
        with self.lock:
            self._busy -= 1


class _Http(ThreadingHTTPServer):
    owner: FaultyServer
    daemon_threads = True
    request_queue_size = 256


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        owner = self.server.owner
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with owner.lock:
            owner.requests.append(body)
            owner.paths.append(self.path)
            owner.headers.append(self.headers)
        try:
            has_room = owner.arrive()
            time.sleep(owner.behaviour.latency)
            self._answer(body, owner, has_room=has_room)
        finally:
            owner.leave()

    def _answer(self, body: dict[str, Any], owner: FaultyServer, *, has_room: bool) -> None:
        behaviour = owner.behaviour
        with owner.lock:
            fault = behaviour.faults.popleft() if behaviour.faults else None
        # A proxy receives whole addresses.
        api = _API_OF_PATH.get(urlsplit(self.path).path)
        sent_key = self.headers["authorization"].removeprefix("Bearer ")
        if behaviour.key not in (None, sent_key):
            self._refuse(401, f"Incorrect API key provided: {sent_key}", code="invalid_api_key")
        elif api not in behaviour.apis:
            self._refuse(404, f"{self.path} is not served here")
        elif body["model"] not in behaviour.models:
            self._refuse(404, f"no model {body['model']}", code="model_not_found")
        elif fault == "429" or not has_room:
            self._refuse(429, "slow down", retry_after=behaviour.retry_after)
        elif fault == "quota":
            self._refuse(429, "You exceeded your current quota", code="insufficient_quota")
        elif fault == "context":
            self._refuse(400, "maximum context length is 8", code="context_length_exceeded")
        elif fault in ("500", "503"):
            self._refuse(int(fault), "out of order", retry_after=behaviour.retry_after)
        elif fault == "hang":
            owner.released.wait()
            self.close_connection = True
        elif self._refuses_a_parameter(body, behaviour):
            pass
        else:
            content = _content(api, body, behaviour, fault)
            self._send(200, content, cut=fault == "drop")

    def _refuses_a_parameter(self, body: dict[str, Any], behaviour: Behaviour) -> bool:
        for name, message in behaviour.refuses.items():
            if name in body:
                param = name if behaviour.names_the_parameter else None
                self._refuse(400, message, code="unsupported_parameter", param=param)
                return True
        if body.get("n", 1) > behaviour.most_n:
            self._refuse(400, f"n must be at most {behaviour.most_n}", param="n")
            return True
        return False

    def _refuse(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after: str | None = None,
    ) -> None:
        error = {"message": message, "type": "error", "code": code, "param": param}
        self._send(status, json.dumps({"error": error}).encode(), retry_after=retry_after)

    def _send(
        self, status: int, content: bytes, *, retry_after: str | None = None, cut: bool = False
    ) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        if retry_after is not None:
            self.send_header("retry-after", retry_after)
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        self.close_connection = self.close_connection or cut


def _content(
    api: str | None, body: dict[str, Any], behaviour: Behaviour, fault: Fault | None
) -> bytes:
    n = 1 if behaviour.ignores_n else body.get("n", 1)
    texts = [behaviour.answer(body, number) for number in range(n)]
    wants = bool(body.get("logprobs")) or "message.output_text.logprobs" in body.get("include", ())
    with_logprobs = behaviour.logprobs and wants
    shape = {"chat": _chat, "completions": _text, "responses": _response}[api or "chat"]
    answer = shape(
        texts, behaviour.finish_reason, with_logprobs=with_logprobs, nothing=fault == "null_content"
    )
    if fault == "empty_choices":
        answer |= {"choices": [], "output": []}
    if fault == "wrong_shape":
        answer = {"detail": "all is well"}
    content = json.dumps(answer).encode()
    return content[: len(content) // 2] if fault == "broken_json" else content


def tokens_of(text: str) -> list[float]:
    """Return a made-up log-probability for each word of `text`."""
    return [-0.25 * (place + 1) for place in range(len(text.split()))]


def _usage(texts: list[str]) -> dict[str, int]:
    n_words = sum(len(text.split()) for text in texts)
    return {"prompt_tokens": 7, "completion_tokens": n_words, "total_tokens": 7 + n_words}


def _chat(texts: list[str], finish: str, *, with_logprobs: bool, nothing: bool) -> dict[str, Any]:
    choices = [
        {
            "index": number,
            "message": {"role": "assistant", "content": None if nothing else text},
            "finish_reason": finish,
            "logprobs": {"content": [{"token": "t", "logprob": p} for p in tokens_of(text)]}
            if with_logprobs
            else None,
        }
        for number, text in enumerate(texts)
    ]
    return {"id": "x", "object": "chat.completion", "choices": choices, "usage": _usage(texts)}


def _text(texts: list[str], finish: str, *, with_logprobs: bool, nothing: bool) -> dict[str, Any]:
    choices = [
        {
            "index": number,
            "text": None if nothing else text,
            "finish_reason": finish,
            "logprobs": {"token_logprobs": tokens_of(text)} if with_logprobs else None,
        }
        for number, text in enumerate(texts)
    ]
    return {"id": "x", "object": "text_completion", "choices": choices, "usage": _usage(texts)}


def _response(
    texts: list[str], finish: str, *, with_logprobs: bool, nothing: bool
) -> dict[str, Any]:
    part = {"type": "output_text", "text": texts[0], "annotations": []}
    if with_logprobs:
        part["logprobs"] = [{"token": "t", "logprob": p} for p in tokens_of(texts[0])]
    message = {"type": "message", "role": "assistant", "content": [] if nothing else [part]}
    cut = finish == "length"
    return {
        "id": "x",
        "object": "response",
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": [{"type": "reasoning", "summary": []}, message],
        "usage": {"input_tokens": 7, "output_tokens": len(texts[0].split()), "total_tokens": 0},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--room", type=int, help="most requests at once; the rest gets a 429")
    chosen = parser.parse_args()
    with FaultyServer(port=chosen.port) as serving:
        serving.behaviour.latency = chosen.latency
        serving.behaviour.room = chosen.room
        print(serving.base_url, flush=True)  # noqa: T201 - the caller waits for it
        threading.Event().wait()
