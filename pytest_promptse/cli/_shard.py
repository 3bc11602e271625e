"""``promptse shard run``: run the shards of a test run on a cluster, and merge their records."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pytest_promptse.cli._arguments import add_store_option
from pytest_promptse.cli._merge import add_merge_options, check_merge_options, merge_files
from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    import argparse

    from pytest_promptse.cli._arguments import Subparsers

# Not sent to the cluster, besides what `.gitignore` names.
_EXCLUDED = (".git", ".promptse", ".venv", "__pycache__", "node_modules")


def add_parser(subparsers: Subparsers) -> None:
    """Add the ``shard`` commands. Each sets ``func``, which returns the exit code."""
    shard = subparsers.add_parser("shard", help="run the shards of a test run on a Ray cluster")
    commands = shard.add_subparsers(title="commands", metavar="COMMAND", required=True)
    run = commands.add_parser(
        "run",
        help="run all shards on a Ray cluster and merge their records",
        usage="promptse shard run --ray ADDRESS --shards N [options] -- PYTEST-ARGUMENTS",
        description="Run all shards of a test run on a Ray cluster and merge their records. The "
        "current folder is sent to the cluster, except files that .gitignore excludes. Each shard "
        "starts with a copy of the store, and the new entries of each copy are added to the store.",
    )
    run.add_argument(
        "--ray",
        required=True,
        metavar="ADDRESS",
        help="HOST:PORT of the cluster, auto for the cluster on this machine, or local to start a "
        "new cluster",
    )
    run.add_argument("--shards", type=int, required=True, metavar="N", help="number of shards")
    run.add_argument(
        "--cpus",
        type=float,
        default=1.0,
        metavar="N",
        help="number of CPUs that the cluster reserves for each shard (default: 1)",
    )
    add_store_option(run)
    add_merge_options(run)
    run.add_argument(
        "pytest",
        nargs="*",
        metavar="PYTEST-ARGUMENTS",
        help="tests and options of pytest, after --",
    )
    run.set_defaults(func=_run)


def _run(chosen: argparse.Namespace) -> int:
    from pytest_promptse.sampling._ray_cluster import connected  # noqa: PLC0415
    from pytest_promptse.store._store import Store  # noqa: PLC0415 - `--help` is quick
    from pytest_promptse.store._transfer import export_store, import_store  # noqa: PLC0415

    if chosen.shards < 1:
        raise SettingsError(f"shard run --shards {chosen.shards}: must be at least 1")
    check_merge_options("shard run", chosen)
    environment = {"working_dir": str(Path.cwd()), "excludes": list(_EXCLUDED)}
    with (
        TemporaryDirectory(prefix="promptse-shards-") as name,
        closing(Store(chosen.store)) as store,
    ):
        folder = Path(name)
        exported = folder / "store.jsonl.gz"
        export_store(store, exported)
        with connected(chosen.ray, command="shard run", runtime_env=environment):
            from pytest_promptse.run._ray_shards import run_shards  # noqa: PLC0415 - needs Ray

            results = run_shards(
                chosen.pytest, count=chosen.shards, paid=exported.read_bytes(), cpus=chosen.cpus
            )
            for done, result in enumerate(results, start=1):
                exported.write_bytes(result.added)
                added = import_store(store, exported)
                (folder / f"shard-{result.index}.json").write_bytes(result.record)
                sys.stdout.write(
                    f"shard {result.index}/{chosen.shards} done on {result.node} ({done} of "
                    f"{chosen.shards}), {added.completions:,} new completions\n"
                )
                sys.stdout.flush()
        return merge_files([str(path) for path in sorted(folder.glob("shard-*.json"))], chosen)
