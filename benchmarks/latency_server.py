"""A server with almost no CPU cost: answers chat requests after a latency, many at once.

    python benchmarks/latency_server.py PROGRAMS.json [--latency 0.2] [--room 64] [--ignore-n]

``PROGRAMS.json`` maps a function's name to the program for prompts that name the function. Of four
samples one is wrong, and no two variants get the same programs. Requests beyond the room wait. The
server prints its address, serves until its input ends, and then prints its counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
import zlib
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

DISTINCT = 4
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_FUNCTION = re.compile(rb"def (\w+)\(")
_NUMBER = re.compile(rb'"(n|seed)": ?(\d+)')


@dataclass
class ServerState:
    """State that all connections share, and the counts."""

    programs: dict[str, str]
    latency: float
    room: int
    ignore_n: bool
    under_way: int = 0
    waiting: deque[tuple[Connection, bytes]] = field(default_factory=deque)
    requests: int = 0
    busiest: int = 0
    first: float = 0.0
    last: float = 0.0

    def take(self, connection: Connection, body: bytes) -> None:
        """Begin to serve a request, or queue it until there is room."""
        if self.under_way >= self.room:
            self.waiting.append((connection, body))
            return
        now = time.time()
        self.first = self.first or now
        self.requests += 1
        self.under_way += 1
        self.busiest = max(self.busiest, self.under_way)
        loop = asyncio.get_running_loop()
        loop.call_later(self.latency, self.give, connection, body)

    def give(self, connection: Connection, body: bytes) -> None:
        """Answer a request and begin with the next queued one."""
        connection.answer(self.content(body))
        self.under_way -= 1
        self.last = time.time()
        if self.waiting:
            self.take(*self.waiting.popleft())

    def content(self, body: bytes) -> bytes:
        """Return an answer in the format of ``/v1/chat/completions``."""
        numbers = {name: int(value) for name, value in _NUMBER.findall(body)}
        n = 1 if self.ignore_n else numbers.get(b"n", 1)
        names = [name.decode() for name in _FUNCTION.findall(body)]
        name = next((each for each in reversed(names) if each in self.programs), "one")
        prompt = zlib.crc32(body[: body.find(b'"seed"')])
        choices = []
        for number in range(n):
            kind = (numbers.get(b"seed", 0) + number) % DISTINCT
            program = self.programs.get(name, "") if kind else f"def {name}(*_):\n    return None\n"
            mark = f"_ = ({prompt}, {kind})"
            choices.append(
                {
                    "index": number,
                    "message": {
                        "role": "assistant",
                        "content": f"```python\n{program}\n{mark}\n```",
                    },
                    "finish_reason": "stop",
                }
            )
        usage = {"prompt_tokens": 150, "completion_tokens": 120 * n}
        return json.dumps({"choices": choices, "usage": usage}).encode()


class Connection(asyncio.Protocol):
    """One connection that stays open. Its requests come one after another."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for the answers."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Serve a request once it has arrived completely."""
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        found = _LENGTH.search(head)
        if separator and found and len(body) >= int(found[1]):
            self._received.clear()
            self._state.take(self, bytes(body))

    def answer(self, content: bytes) -> None:
        """Send an answer."""
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        self._transport.write(head % len(content) + content)


async def serve(state: ServerState) -> None:
    """Serve until the input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(state), "127.0.0.1", 0, backlog=256)
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}/v1", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()
    seen: dict[str, float] = {"requests": state.requests, "busiest": state.busiest}
    seen |= {"first": state.first, "last": state.last, "cpu": time.process_time()}
    print(json.dumps(seen), flush=True)


def main() -> None:
    """Serve with the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--room", type=int, default=64)
    parser.add_argument("--ignore-n", action="store_true")
    chosen = parser.parse_args()
    programs = json.loads(chosen.programs.read_text())
    asyncio.run(
        serve(
            ServerState(
                programs=programs,
                latency=chosen.latency,
                room=chosen.room,
                ignore_n=chosen.ignore_n,
            )
        )
    )


if __name__ == "__main__":
    main()
