"""``promptse store info|prune|export``."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse.errors import SettingsError, StoreError

if TYPE_CHECKING:
    from pytest_promptse.store.store import Store

_DEFAULT_FOLDER = Path(".promptse")


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],  # argparse names no other
) -> None:
    """Add the ``store`` commands; each sets ``func``, which returns the exit code."""
    store = subparsers.add_parser(
        "store", help="look into, thin out or export what models answered"
    )
    commands = store.add_subparsers(title="commands", metavar="COMMAND", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--store",
        type=Path,
        default=_DEFAULT_FOLDER,
        metavar="FOLDER",
        help="where the store lies (default: %(default)s)",
    )

    info = commands.add_parser("info", parents=[common], help="show what the store holds")
    info.set_defaults(func=_info)

    prune = commands.add_parser("prune", parents=[common], help="throw away what is not needed")
    prune.add_argument("--model", metavar="BACKEND:NAME", help="only what this model answered")
    prune.add_argument(
        "--older-than", type=float, metavar="DAYS", help="only what is older than so many days"
    )
    prune.add_argument(
        "--verdicts", action="store_true", help="all verdicts, and nothing that was paid for"
    )
    prune.add_argument("--dry-run", action="store_true", help="only say what would go")
    prune.set_defaults(func=_prune)

    export = commands.add_parser(
        "export", parents=[common], help="write completions as JSON lines that replay: reads"
    )
    export.add_argument("--model", metavar="BACKEND:NAME", help="only what this model answered")
    export.add_argument(
        "--output", type=Path, metavar="FILE", help="write here (default: standard output)"
    )
    export.set_defaults(func=_export)


def _open(folder: Path) -> Store:
    from pytest_promptse.store.database import FILE_NAME  # noqa: PLC0415 - `promptse --help` is quick
    from pytest_promptse.store.store import Store  # noqa: PLC0415

    if not folder.joinpath(FILE_NAME).is_file():
        raise StoreError(f"there is no store in {str(folder)!r}; name its folder with --store")
    store = Store(folder)
    for warning in store.warnings:
        sys.stderr.write(f"promptse: {warning}\n")
    return store


def _info(chosen: argparse.Namespace) -> int:
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from pytest_promptse.store.maintenance import contents, count_verdicts  # noqa: PLC0415
    from pytest_promptse.store.migrations import SCHEMA_VERSION  # noqa: PLC0415

    with closing(_open(chosen.store)) as store:
        table = Table("model", box=None, header_style="bold", pad_edge=False)
        numbers = ("variants", "completions", "requests", "tokens in", "tokens out")
        for title in numbers:
            table.add_column(title, justify="right")
        table.add_column("newest")
        for held in contents(store):
            table.add_row(
                held.model,
                f"{held.variants:,}",
                f"{held.completions:,}",
                f"{held.requests:,}",
                f"{held.prompt_tokens:,}",
                f"{held.completion_tokens:,}",
                f"{datetime.fromtimestamp(held.newest, UTC):%Y-%m-%d}",
            )
        path = store.database.path
        size = sum(
            part.stat().st_size
            for part in (path, path.with_name(f"{path.name}-wal"))
            if part.exists()
        )
        console = Console(highlight=False, soft_wrap=True)
        console.print(f"{path}: {size / 1e6:.1f} MB, schema {SCHEMA_VERSION}", markup=False)
        console.print(table)
        console.print(f"{count_verdicts(store):,} verdicts")
    return 0


def _prune(chosen: argparse.Namespace) -> int:
    from pytest_promptse.store.maintenance import delete_verdicts, prune  # noqa: PLC0415

    verb = "would remove" if chosen.dry_run else "removed"
    if chosen.model is None and chosen.older_than is None:
        if not chosen.verdicts:
            raise SettingsError(
                "store prune: choose what to delete: --older-than DAYS, --model NAME or --verdicts"
            )
        with closing(_open(chosen.store)) as store:
            count = delete_verdicts(store, dry_run=chosen.dry_run)
        sys.stdout.write(f"{verb} {count:,} verdicts\n")
        return 0
    if chosen.verdicts:
        raise SettingsError("store prune: --verdicts deletes all verdicts; use it alone")
    if chosen.older_than is not None and chosen.older_than < 0:
        raise SettingsError(f"store prune: --older-than {chosen.older_than:g}: give days from 0 up")
    with closing(_open(chosen.store)) as store:
        gone = prune(
            store, model=chosen.model, older_than=chosen.older_than, dry_run=chosen.dry_run
        )
    sys.stdout.write(
        f"{verb} {gone.completions:,} completions of {gone.variants:,} variants and "
        f"{gone.verdicts:,} verdicts\n"
    )
    return 0


def _export(chosen: argparse.Namespace) -> int:
    from pytest_promptse.store.maintenance import count_ambiguous, replay_lines  # noqa: PLC0415

    with closing(_open(chosen.store)) as store:
        try:
            output = (
                nullcontext(sys.stdout)
                if chosen.output is None
                else chosen.output.open("w", encoding="utf-8")
            )
        except OSError as error:
            raise StoreError(
                f"store export: {str(chosen.output)!r} cannot be written ({error.strerror})"
            ) from error
        with output as file:
            for line in replay_lines(store, model=chosen.model):
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        several = count_ambiguous(store, model=chosen.model)
    if several:
        sys.stderr.write(
            f"promptse: {several} variants occur several times (other model, decoding, seed "
            "or prompt); replay: needs each variant once; select one model with --model\n"
        )
    return 0
