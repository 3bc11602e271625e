"""``promptse batch``: sample through batch files instead of single requests."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_promptse.cli._arguments import add_store_option
from pytest_promptse.config._options import OPTIONS
from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    import argparse

    from pytest_promptse.cli._arguments import Subparsers
    from pytest_promptse.sampling._batch_files import ImportReport
    from pytest_promptse.sampling._batch_service import BatchService
    from pytest_promptse.store._store import Store

_SESSION = "promptse-session"
_BATCH_PRICE = 0.5


def add_parser(subparsers: Subparsers) -> None:
    """Add the ``batch`` commands. Each sets ``func``, which returns the exit code."""
    batch = subparsers.add_parser(
        "batch", help="sample through batch files for the OpenAI Batch API or vllm run-batch"
    )
    commands = batch.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_export(commands)

    import_ = commands.add_parser(
        "import",
        help="read completions from result files into the store",
        description="Read the completions from result files into the store. The exit code is 1 if "
        "completions of the batch are still missing.",
    )
    import_.add_argument(
        "results", nargs="+", type=Path, metavar="FILE", help="a result file of the batch"
    )
    import_.add_argument(
        "--batch",
        type=Path,
        metavar="FOLDER",
        help="folder of the batch (default: the folder of the first file)",
    )
    _add_store(import_)
    import_.set_defaults(func=_import)

    _add_run(commands)
    for name, function, text in (
        ("submit", _submit, "upload the request files and start the batches"),
        ("status", _status, "show the progress of the batches"),
        ("fetch", _fetch, "download and store the results of batches that have ended"),
        (
            "cancel",
            _cancel,
            "cancel the batches; the results of finished requests can still be fetched",
        ),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("folder", type=Path, metavar="FOLDER", help="folder of the batch")
        command.add_argument(
            "--base-url",
            metavar="URL",
            help="service with the OpenAI Batch API (default: the value of OPENAI_BASE_URL, else "
            "OpenAI)",
        )
        if name == "fetch":
            _add_store(command)
        command.set_defaults(func=function)


def _add_store(parser: argparse.ArgumentParser) -> None:
    add_store_option(parser)


def _add_export(commands: Subparsers) -> None:
    export = commands.add_parser(
        "export",
        help="write batch files for the samples that are missing from the store",
        usage="promptse batch export --into FOLDER [options] -- PYTEST-ARGUMENTS",
        description="Write batch files for the samples that are missing from the store. Give the "
        "tests and options of the later run after --, including --promptse-model.",
    )
    export.add_argument(
        "--into", type=Path, required=True, metavar="FOLDER", help="new folder for the batch"
    )
    export.add_argument(
        "--omit",
        action="append",
        default=[],
        metavar="FIELD",
        help="decoding field that the model refuses: temperature, top_p, n, seed or logprobs; "
        "repeatable",
    )
    export.add_argument(
        "--length-name",
        metavar="NAME",
        help="name of the field with the token limit, for example max_completion_tokens",
    )
    export.add_argument(
        "--discount",
        type=float,
        default=_BATCH_PRICE,
        metavar="X",
        help="price of batch requests as a fraction of --promptse-price (default: %(default)s)",
    )
    export.add_argument(
        "pytest",
        nargs="*",
        metavar="PYTEST-ARGUMENTS",
        help="tests and options of the later run, after --",
    )
    export.set_defaults(func=_export)


def _add_run(commands: Subparsers) -> None:
    run = commands.add_parser(
        "run",
        help="answer the requests on a Ray cluster, and store the completions",
        description="Answer the requests of a batch on a Ray cluster, with vLLM replicas or a "
        "server, and store the completions. If the command is killed, run it again: requests with "
        "a result are not sent again. The exit code is 1 if completions are still missing.",
    )
    run.add_argument("folder", type=Path, metavar="FOLDER", help="folder of the batch")
    run.add_argument(
        "--ray",
        required=True,
        metavar="ADDRESS",
        help="HOST:PORT of the cluster, auto for the cluster on this machine, or local to start a "
        "new cluster",
    )
    run.add_argument(
        "--base-url",
        metavar="URL",
        help="send the requests to this OpenAI-compatible server instead of vLLM replicas",
    )
    run.add_argument(
        "--concurrency",
        type=int,
        metavar="N",
        help="maximum number of concurrent requests: for the whole cluster with --base-url "
        "(default: 64), or for each vLLM replica (default: 256)",
    )
    run.add_argument(
        "--gpus",
        type=int,
        default=1,
        metavar="N",
        help="number of GPUs for all vLLM replicas together; 0 runs one replica on CPUs (default: "
        "1)",
    )
    run.add_argument(
        "--tensor-parallel",
        type=int,
        default=1,
        metavar="N",
        help="number of GPUs for each vLLM replica (default: 1)",
    )
    run.add_argument(
        "--weights",
        metavar="NAME-or-FOLDER",
        help="name or folder of the weights for the vLLM replicas (default: the name of the model)",
    )
    run.add_argument(
        "--vllm-args",
        default="",
        metavar="'NAME=VALUE …'",
        help="engine arguments of the vLLM replicas, with the names that `vllm serve` uses",
    )
    _add_store(run)
    run.set_defaults(func=_run)


class _PlanReader:
    """A pytest plugin that keeps the plan of a dry run."""

    def __init__(self) -> None:
        self.session: Any = None

    def pytest_sessionfinish(self, session: Any) -> None:
        self.session = session.config.pluginmanager.get_plugin(_SESSION)


def _export(chosen: argparse.Namespace) -> int:
    import pytest  # noqa: PLC0415 - only this command needs it

    from pytest_promptse.sampling._batch_files import BatchOptions, export_batch  # noqa: PLC0415
    from pytest_promptse.sampling._cost_estimate import estimate_cost  # noqa: PLC0415

    reader = _PlanReader()
    code = pytest.main(["-q", "--promptse-dry-run", *chosen.pytest], plugins=[reader])
    session = reader.session
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) or session is None:
        raise SettingsError("batch export: pytest could not plan the run; see its message above")
    settings = session.run.settings
    [model, *others] = settings.model or ("",)
    if others or not model or session.run.settings.shard is not None:
        raise SettingsError("batch export: give one --promptse-model and no --promptse-shard")
    price = None
    if settings.price is not None:
        price = (chosen.discount * settings.price[0], chosen.discount * settings.price[1])
    options = BatchOptions(
        api=settings.api or "chat",
        omit=tuple(chosen.omit),
        length_name=chosen.length_name,
        price=price,
    )
    with closing(_store(session.run.root / settings.store)) as store:
        estimates = estimate_cost(session.jobs, store, price=price)
        cost = sum(estimate.cost or 0.0 for estimate in estimates)
        if settings.max_cost is not None and cost > settings.max_cost:
            raise SettingsError(
                f"batch export: may cost up to {cost:.4g} at the batch price, more than "
                f"--promptse-max-cost {settings.max_cost:g}"
            )
        exported = export_batch(
            session.jobs,
            store,
            chosen.into,
            model=model,
            identity=session.run.backend(model).identity,
            options=options,
        )
    for line in (estimate.line() for estimate in estimates):
        sys.stdout.write(f"promptse: at the batch price: {line}\n")
    sys.stdout.write(
        f"{chosen.into}: {exported.requests:,} requests for {exported.samples:,} completions in "
        f"{len(exported.files)} files\n"
    )
    return 0


def _import(chosen: argparse.Namespace) -> int:
    from pytest_promptse.sampling._batch_files import import_batch  # noqa: PLC0415

    folder = chosen.batch or chosen.results[0].parent
    with closing(_store(chosen.store)) as store:
        return _report(import_batch(folder, chosen.results, store))


def _report(report: ImportReport) -> int:
    sys.stdout.write(f"stored {report.completions:,} completions\n")
    cost = "" if report.cost is None else f", cost {report.cost:.4g} at the batch price"
    sys.stdout.write(
        f"the responses have {report.usage.prompt_tokens:,} prompt tokens and "
        f"{report.usage.completion_tokens:,} completion tokens{cost}\n"
    )
    for reason, count in report.problems.items():
        sys.stdout.write(f"{count:,} lines not usable: {reason}\n")
    if report.missing:
        sys.stdout.write(f"{report.missing:,} completions are missing; export them again\n")
    return 1 if report.missing else 0


def _service(chosen: argparse.Namespace) -> BatchService:
    from importlib.util import find_spec  # noqa: PLC0415 - only these commands need it

    if find_spec("openai") is None:
        raise SettingsError(
            "batch: the package openai is missing; run `pip install 'pytest-promptse[openai]'`"
        )
    from pytest_promptse.sampling._batch_service import BatchService  # noqa: PLC0415

    return BatchService(chosen.folder, base_url=chosen.base_url)


def _submit(chosen: argparse.Namespace) -> int:
    service = _service(chosen)
    submitted = service.submit()
    sys.stdout.write(f"submitted {len(submitted)} of {len(service.files)} files\n")
    return _show(service)


def _status(chosen: argparse.Namespace) -> int:
    service = _service(chosen)
    service.refresh()
    return _show(service)


def _cancel(chosen: argparse.Namespace) -> int:
    service = _service(chosen)
    service.cancel()
    return _show(service)


def _fetch(chosen: argparse.Namespace) -> int:
    from pytest_promptse.sampling._batch_files import import_batch  # noqa: PLC0415

    service = _service(chosen)
    results = service.fetch()
    _show(service)
    if not results:
        sys.stdout.write("no batch has ended\n")
        return 1
    with closing(_store(chosen.store)) as store:
        return _report(import_batch(chosen.folder, results, store))


def _run(chosen: argparse.Namespace) -> int:
    from pytest_promptse.sampling._batch_files import (  # noqa: PLC0415
        import_batch,
        read_manifest,
    )
    from pytest_promptse.sampling._ray_cluster import connected  # noqa: PLC0415

    # A wrong folder is known at once, before a cluster starts.
    read_manifest(chosen.folder)
    concurrency = {} if chosen.concurrency is None else {"concurrency": chosen.concurrency}
    with connected(chosen.ray, command="batch run"):
        from pytest_promptse.sampling._ray_batch import (  # noqa: PLC0415 - needs Ray
            ServerStage,
            VllmStage,
            run_batch,
        )

        stage: ServerStage | VllmStage
        if chosen.base_url is not None:
            key = os.environ.get("OPENAI_API_KEY") or "none"
            stage = ServerStage(base_url=chosen.base_url, api_key=key, **concurrency)
        else:
            given = chosen.vllm_args
            arguments = OPTIONS["vllm_args"].read(given, "batch run --vllm-args") if given else {}
            stage = VllmStage(
                weights=chosen.weights,
                gpus=chosen.gpus,
                tensor_parallel=chosen.tensor_parallel,
                engine_args=arguments,
                **concurrency,
            )
        answers = run_batch(chosen.folder, stage, progress=_show_progress)
    sys.stdout.write(
        f"{answers.results}: {answers.known:,} requests had a result, {answers.answered:,} were "
        f"answered, {answers.failed:,} failed\n"
    )
    with closing(_store(chosen.store)) as store:
        return _report(import_batch(chosen.folder, [answers.results], store))


def _show_progress(done: int, total: int) -> None:
    sys.stdout.write(f"{done:,} of {total:,} requests\n")
    sys.stdout.flush()


def _show(service: BatchService) -> int:
    for name, state in service.files.items():
        problem = f": {state.problem}" if state.problem else ""
        sys.stdout.write(
            f"{name}: {state.status}, {state.completed} of {state.total} requests completed, "
            f"{state.failed} failed{problem}\n"
        )
    return 1 if any(state.status == "failed" for state in service.files.values()) else 0


def _store(folder: Path) -> Store:
    from pytest_promptse.store._store import Store  # noqa: PLC0415 - `promptse --help` is quick

    return Store(folder)
