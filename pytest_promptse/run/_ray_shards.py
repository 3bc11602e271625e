"""Run the shards of a test run on a Ray cluster.

Each shard is a Ray task that runs pytest with its own store and sandbox. Its input is the tests and
the contents of the driver's store. It returns its record, and the completions and verdicts that it
added.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import ray

from pytest_promptse.errors import SettingsError
from pytest_promptse.store._store import Store
from pytest_promptse.store._transfer import contents, export_store, import_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_OWN_OPTIONS = ("--promptse-shard", "--promptse-store", "--promptse-report")
# Environment variables that the driver passes to pytest.
_PASSED = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
# Exit codes of a shard that worked: tests passed, failed, or not collected (no tasks).
_RAN = (0, 1, 5)
_LINES = 5
# Kill pytest if the worker dies, since Ray repeats the task elsewhere and it must not run twice.
# https://man7.org/linux/man-pages/man2/pr_set_pdeathsig.2const.html
_START = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); "
    "os.execv(sys.executable, [sys.executable, '-m', 'pytest', *sys.argv[1:]])"
)


@dataclass(frozen=True, kw_only=True)
class ShardResult:
    """The result of one shard.

    Attributes
    ----------
    index
        The number of the shard, from 1.
    record
        The record as JSON.
    added
        The completions and verdicts that the shard added, as a compressed export of its store.
    node
        The address of the machine that ran the shard.
    """

    index: int
    record: bytes
    added: bytes
    node: str


def run_shards(
    arguments: Sequence[str], *, count: int, paid: bytes, cpus: float = 1.0
) -> Iterator[ShardResult]:
    """Run all shards on the connected cluster, and yield the result of each when it is done.

    A shard whose node is lost runs again on another node.

    Parameters
    ----------
    arguments
        The arguments of pytest, including the model.
    count
        The number of shards.
    paid
        A compressed export of the store with which every shard starts.
    cpus
        Number of CPUs that the cluster reserves for each shard.

    Raises
    ------
    SettingsError
        If pytest cannot run in a shard, or the arguments contain an option of the shards.
    """
    for argument in arguments:
        if argument.partition("=")[0] in _OWN_OPTIONS:
            raise SettingsError(
                f"shard run: {argument.partition('=')[0]} is set for each shard; give --store and "
                "--report before the --"
            )
    environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
    shared = ray.put(paid)
    task = ray.remote(num_cpus=cpus, scheduling_strategy="SPREAD")(_run_shard)
    running = [
        task.remote(index, shared, count=count, arguments=arguments, environment=environment)
        for index in range(1, count + 1)
    ]
    while running:
        [done], running = ray.wait(running, num_returns=1)
        try:
            result: ShardResult = ray.get(done)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, SettingsError):
                raise error.cause from None
            raise
        except ray.exceptions.RayError as error:
            reason = str(error).strip().splitlines()[0]
            raise SettingsError(
                f"shard run: the cluster lost a shard ({reason}); run the command again"
            ) from None
        yield result


def _run_shard(
    index: int,
    paid: bytes,
    *,
    count: int,
    arguments: Sequence[str],
    environment: Mapping[str, str],
) -> ShardResult:
    with TemporaryDirectory(prefix="promptse-shard-") as name:
        folder = Path(name)
        exported, record = folder / "store.jsonl.gz", folder / "record.json"
        exported.write_bytes(paid)
        with closing(Store(folder / "store")) as store:
            import_store(store, exported)
            before = contents(store)
        command = [sys.executable, "-c", _START, "-p", "no:cacheprovider", *arguments]
        command += [f"--promptse-shard={index}/{count}", f"--promptse-store={folder / 'store'}"]
        command += [f"--promptse-report=json:{record}"]
        done = subprocess.run(  # noqa: S603 - the user's own tests
            command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )
        if done.returncode not in _RAN or not record.exists():
            lines = (done.stdout + done.stderr).strip().splitlines()[-_LINES:]
            raise SettingsError(
                f"shard run: pytest ended shard {index}/{count} with code {done.returncode}: "
                f"{' | '.join(line.strip() for line in lines)}"
            )
        with closing(Store(folder / "store")) as store:
            export_store(store, exported, beyond=before)
        node: Any = ray.util.get_node_ip_address()
        return ShardResult(
            index=index, record=record.read_bytes(), added=exported.read_bytes(), node=node
        )
