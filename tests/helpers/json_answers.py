"""The common request handler of servers that replace JSON services."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler


class JsonAnswers(BaseHTTPRequestHandler):
    """Answers with JSON and writes no log."""

    def send_json(self, value: object, *, status: int = 200) -> None:
        self.send_content(json.dumps(value).encode(), status=status)

    def send_content(self, content: bytes, *, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass
