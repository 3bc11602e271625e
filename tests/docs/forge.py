"""A server on this machine that keeps comments as GitHub and GitLab do."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit

GITHUB = "/repos/team/project/issues/7/comments"
GITHUB_SINGLE = "/repos/team/project/issues/comments"
GITLAB = "/projects/12/merge_requests/7/notes"
_CHANGES = {GITHUB_SINGLE: "PATCH", GITLAB: "PUT"}
_TOKENS = {"/repos": ("authorization", "Bearer t"), "/projects": ("private-token", "t")}
_PAGE = 100


class Forge:
    """A server that runs while its ``with`` block lasts. ``comments`` has the bodies by number."""

    def __init__(self, *, others: int = 0) -> None:
        self.comments = dict.fromkeys(range(others), "Looks good")
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.forge = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    forge: Forge


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = parse_qs(address.query)
        first = (int(query["page"][0]) - 1) * int(query["per_page"][0])
        listed = [{"id": i, "body": body} for i, body in self.server.forge.comments.items()]
        known = address.path in (GITHUB, GITLAB) and self._is_allowed()
        self._answer(200 if known else 404, listed[first : first + _PAGE] if known else {})

    def do_POST(self) -> None:
        comments = self.server.forge.comments
        if self.path not in (GITHUB, GITLAB) or not self._is_allowed():
            self._answer(404, {})
            return
        comments[len(comments)] = self._body()
        self._answer(201, {})

    def do_PUT(self) -> None:
        self._change()

    def do_PATCH(self) -> None:
        self._change()

    def _change(self) -> None:
        folder, _, number = self.path.rpartition("/")
        if _CHANGES.get(folder) != self.command or not self._is_allowed():
            self._answer(404, {})
            return
        assert int(number) in self.server.forge.comments
        self.server.forge.comments[int(number)] = self._body()
        self._answer(200, {})

    def _is_allowed(self) -> bool:
        header, value = next(v for k, v in _TOKENS.items() if self.path.startswith(k))
        return self.headers[header] == value

    def _body(self) -> str:
        return json.loads(self.rfile.read(int(self.headers["content-length"])))["body"]

    def _answer(self, status: int, content: object) -> None:
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
