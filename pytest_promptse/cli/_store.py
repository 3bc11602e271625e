"""``promptse store info|prune|export|import``."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse._suggestions import nearest
from pytest_promptse.cli._arguments import add_store_option
from pytest_promptse.errors import SettingsError, StoreError

if TYPE_CHECKING:
    from pytest_promptse.cli._arguments import Subparsers
    from pytest_promptse.store._store import Store


def add_parser(subparsers: Subparsers) -> None:
    """Add the ``store`` commands; each sets ``func``, which returns the exit code."""
    store = subparsers.add_parser(
        "store", help="show, prune, export or import completions and verdicts"
    )
    commands = store.add_subparsers(title="commands", metavar="COMMAND", required=True)
    common = argparse.ArgumentParser(add_help=False)
    add_store_option(common)

    info = commands.add_parser("info", parents=[common], help="show the contents of the store")
    info.set_defaults(func=_info)

    prune = commands.add_parser("prune", parents=[common], help="delete completions or verdicts")
    prune.add_argument("--model", metavar="BACKEND:NAME", help="only completions of this model")
    prune.add_argument(
        "--older-than",
        type=float,
        metavar="DAYS",
        help="only entries older than this number of days",
    )
    prune.add_argument(
        "--verdicts", action="store_true", help="delete all verdicts, but no completions"
    )
    prune.add_argument("--dry-run", action="store_true", help="count without deleting")
    prune.set_defaults(func=_prune)

    export = commands.add_parser(
        "export",
        parents=[common],
        help="write completions to a file, for a replay or for a different store",
    )
    export.add_argument("--model", metavar="BACKEND:NAME", help="only completions of this model")
    export.add_argument(
        "--format",
        choices=("replay", "store"),
        default="replay",
        help="replay (default) writes completions for the model replay:FILE; store writes "
        "completions and verdicts for promptse store import",
    )
    export.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="file to write (default: standard output); with format store, a file whose name ends "
        "in .gz is compressed",
    )
    export.set_defaults(func=_export)

    import_ = commands.add_parser(
        "import",
        parents=[common],
        help="add completions and verdicts of other stores",
        description="Add the completions and verdicts of other stores. Existing entries are "
        "kept, and importing a file twice changes nothing.",
    )
    import_.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="file that promptse store export --format store wrote",
    )
    import_.set_defaults(func=_import)


def _open(folder: Path) -> Store:
    from pytest_promptse.store._database import FILE_NAME  # noqa: PLC0415 - `promptse --help` is quick
    from pytest_promptse.store._store import Store  # noqa: PLC0415

    if not folder.joinpath(FILE_NAME).is_file():
        raise StoreError(f"there is no store in {str(folder)!r}; name its folder with --store")
    store = Store(folder)
    for warning in store.warnings:
        sys.stderr.write(f"promptse: {warning}\n")
    return store


def _require_model(store: Store, model: str | None) -> None:
    """Raise StoreError if the store has no completions of the model whose export is wanted."""
    from pytest_promptse.store._maintenance import models  # noqa: PLC0415

    stored = models(store)
    if model is not None and model not in stored:
        raise StoreError(
            f"store export: --model {model!r} has no completions in {str(store.folder)!r}"
            f"{nearest(model, stored)}; promptse store info lists the models"
        )


def _info(chosen: argparse.Namespace) -> int:
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from pytest_promptse.store._maintenance import contents, count_verdicts  # noqa: PLC0415
    from pytest_promptse.store._tables import SCHEMA_VERSION  # noqa: PLC0415

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
    from pytest_promptse.store._maintenance import delete_verdicts, prune  # noqa: PLC0415

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
    if chosen.format == "store":
        return _export_store(chosen)
    return _export_replay(chosen)


def _export_store(chosen: argparse.Namespace) -> int:
    from pytest_promptse.store._transfer import export_store  # noqa: PLC0415

    if chosen.output is None:
        raise SettingsError("store export --format store: name the file with --output FILE")
    with closing(_open(chosen.store)) as store:
        _require_model(store, chosen.model)
        count = export_store(store, chosen.output, model=chosen.model)
    sys.stdout.write(
        f"{chosen.output}: {count.completions:,} completions of {count.variants:,} variants and "
        f"{count.verdicts:,} verdicts\n"
    )
    return 0


def _import(chosen: argparse.Namespace) -> int:
    from pytest_promptse.store._store import Store  # noqa: PLC0415
    from pytest_promptse.store._transfer import import_store  # noqa: PLC0415

    with closing(Store(chosen.store)) as store:
        for path in chosen.files:
            count = import_store(store, path)
            sys.stdout.write(
                f"{path}: added {count.completions:,} completions, {count.variants:,} new variants "
                f"and {count.verdicts:,} verdicts\n"
            )
    return 0


def _export_replay(chosen: argparse.Namespace) -> int:
    from pytest_promptse.store._maintenance import count_ambiguous, replay_lines  # noqa: PLC0415

    with closing(_open(chosen.store)) as store:
        _require_model(store, chosen.model)
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
