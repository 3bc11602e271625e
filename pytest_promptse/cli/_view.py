"""``promptse view``: the page of a record, served on this machine."""

from __future__ import annotations

import sys
import webbrowser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    import argparse

    from pytest_promptse.cli._arguments import Subparsers

_HOST = "127.0.0.1"


def add_parser(subparsers: Subparsers) -> None:
    """Add the ``view`` command, which sets ``func``. ``func`` returns the exit code."""
    view = subparsers.add_parser(
        "view",
        help="show a saved record as a page in the browser",
        description="Serve the HTML page of a saved record on this machine until the command is "
        "interrupted. For several records on one page, use promptse compare --html.",
    )
    view.add_argument("record", metavar="RUN.json", help="path of a record, or name of a baseline")
    view.add_argument(
        "--port",
        type=int,
        default=0,
        help="port on which the page is served (default: any free port)",
    )
    view.add_argument(
        "--no-browser", action="store_true", help="print the address without opening a browser"
    )
    view.set_defaults(func=_view)


def _view(chosen: argparse.Namespace) -> int:
    from pytest_promptse.compare._baseline import Baselines  # noqa: PLC0415 - `--help` is quick
    from pytest_promptse.reports.html import _html  # noqa: PLC0415

    _html.check_installed()
    here = Path.cwd()
    page = _html.render(Baselines(here, here=here).load(chosen.record)).encode()
    with _serve(page, chosen.port) as server:
        address = f"http://{_HOST}:{server.server_address[1]}/"
        sys.stdout.write(f"{chosen.record} is shown at {address} until you press Ctrl+C\n")
        sys.stdout.flush()
        if not chosen.no_browser:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.stdout.write("\n")
    return 0


def _serve(page: bytes, port: int) -> ThreadingHTTPServer:
    """Return a server that answers ``/`` with `page`, and every other path with 404.

    It listens on the loopback interface only. Port 0 selects a free one.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.partition("#")[0].partition("?")[0] != "/":
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            """Print nothing for a request."""

    try:
        return ThreadingHTTPServer((_HOST, port), Handler)
    except (OSError, OverflowError) as error:
        raise SettingsError(f"view --port {port}: {error}; choose another port") from None
