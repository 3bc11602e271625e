"""The shards of a run on a cluster, which runs here each task at once in this process."""

from __future__ import annotations

import importlib
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from scripted_backend import make_job, put

import pytest_promptse.run
from pytest_promptse.errors import SettingsError
from pytest_promptse.store._store import Store
from pytest_promptse.store._transfer import export_store, import_store

NAME = "pytest_promptse.run._ray_shards"


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause):
        self.cause = cause


class Cluster(ModuleType):
    """Stands for the package ``ray``."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
    util = SimpleNamespace(get_node_ip_address=lambda: "10.0.0.1")

    def __init__(self):
        super().__init__("ray")
        self.options = []
        self.loses = None

    def put(self, value):
        return ("shared", value)

    def remote(self, **options):
        self.options.append(options)

        def start(function):
            def run(index, shared, **given):
                assert shared[0] == "shared"
                return lambda: function(index, shared[1], **given)

            return SimpleNamespace(remote=run)

        return start

    def wait(self, running, num_returns):
        # The last one is done first.
        assert num_returns == 1
        return [running[-1]], running[:-1]

    def get(self, task):
        if self.loses is not None:
            raise self.loses
        try:
            return task()
        except Exception as error:
            raise RayTaskError(error) from error


class Pytest:
    """Stands for pytest in a shard, which adds a completion to its store and writes its record."""

    def __init__(self):
        self.commands, self.environments = [], []
        self.status, self.printed, self.has_record = 0, ("", ""), True

    def __call__(self, command, *, env, **options):
        assert options == {"capture_output": True, "text": True, "check": False}
        self.commands.append(command)
        self.environments.append(env)
        given = dict(word.split("=", 1) for word in command if word.startswith("--promptse-"))
        index = int(given["--promptse-shard"].partition("/")[0])
        with closing(Store(Path(given["--promptse-store"]))) as store:
            put(store, make_job(index), [0])
        if self.has_record:
            path = Path(given["--promptse-report"].removeprefix("json:"))
            path.write_text(f"record {index}")
        out, err = self.printed
        return SimpleNamespace(returncode=self.status, stdout=out, stderr=err)


@pytest.fixture
def cluster():
    return Cluster()


@pytest.fixture
def in_shard(monkeypatch):
    in_shard = Pytest()
    monkeypatch.setattr(subprocess, "run", in_shard)
    return in_shard


@pytest.fixture
def run_shards(cluster, monkeypatch):
    for name, module in (("ray", cluster), (NAME, ModuleType(NAME))):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(pytest_promptse.run, "_ray_shards", None, raising=False)
    del sys.modules[NAME]
    return importlib.import_module(NAME).run_shards


@pytest.fixture
def paid(tmp_path):
    """The export of a store with the completion of job 7."""
    with closing(Store(tmp_path / "paid")) as store:
        put(store, make_job(7), [0])
        export_store(store, tmp_path / "paid.jsonl.gz")
    return (tmp_path / "paid.jsonl.gz").read_bytes()


@pytest.mark.usefixtures("in_shard")
def test_each_shard_gives_its_record_and_what_it_added(run_shards, cluster, paid, tmp_path):
    results = list(run_shards(["-k", "add"], count=3, paid=paid, cpus=2.0))
    assert [(result.index, result.record) for result in results] == [
        (index, b"record %d" % index) for index in (3, 2, 1)
    ]
    assert {result.node for result in results} == {"10.0.0.1"}
    assert cluster.options == [{"num_cpus": 2.0, "scheduling_strategy": "SPREAD"}]
    for number, result in enumerate(results):
        export = tmp_path / f"{number}.jsonl.gz"
        export.write_bytes(result.added)
        with closing(Store(tmp_path / f"store {number}")) as store:
            import_store(store, export)
            keys = {make_job(index).key for index in (1, 2, 3, 7)}
            kept = {key for key in keys if store.completions(key, 1)}
        assert kept == {make_job(result.index).key}, "without what was paid before"


def test_a_shard_calls_pytest_with_the_arguments_and_its_number(
    run_shards, cluster, in_shard, paid
):
    list(run_shards(["-k", "add"], count=1, paid=paid))
    assert cluster.options[0]["num_cpus"] == 1.0
    [[python, flag, start, *words]] = in_shard.commands
    assert (python, flag, words[:5]) == (
        sys.executable,
        "-c",
        ["-p", "no:cacheprovider", "-k", "add", "--promptse-shard=1/1"],
    )
    assert "prctl(1, 9)" in start
    assert [word.partition("=")[0] for word in words[5:]] == [
        "--promptse-store",
        "--promptse-report",
    ]


@pytest.mark.parametrize("status", [0, 1, 5])
def test_a_shard_worked_if_tests_passed_or_failed_or_none_was_collected(
    run_shards, in_shard, paid, status
):
    in_shard.status = status
    [result] = run_shards([], count=1, paid=paid)
    assert result.record == b"record 1"


@pytest.mark.parametrize(
    ("status", "has_record"), [(2, True), (3, True), (4, True), (6, True), (0, False), (5, False)]
)
def test_a_shard_that_did_not_work_is_one_line_with_the_end_of_what_it_printed(
    run_shards, in_shard, paid, status, has_record
):
    in_shard.status, in_shard.has_record = status, has_record
    in_shard.printed = ("1\n2\n 3\n4\n", "5\n6\n\n")
    with pytest.raises(SettingsError) as error:
        list(run_shards([], count=1, paid=paid))
    assert str(error.value) == (
        f"shard run: pytest ended shard 1/1 with code {status}: 2 | 3 | 4 | 5 | 6"
    )
    assert error.value.__suppress_context__


@pytest.mark.usefixtures("in_shard")
def test_any_other_error_of_a_shard_keeps_its_traceback(run_shards):
    with pytest.raises(RayTaskError) as error:
        list(run_shards([], count=1, paid=b"no export"))
    assert not isinstance(error.value.cause, SettingsError)


def test_a_cluster_that_loses_a_shard_is_one_line(run_shards, cluster, paid):
    cluster.loses = RayError("\nthe node died\nat 12:00")
    with pytest.raises(SettingsError, match=r"lost a shard \(the node died\); run the command"):
        list(run_shards([], count=2, paid=paid))


@pytest.mark.parametrize("value", ["=1/2", ""])
@pytest.mark.parametrize("option", ["--promptse-shard", "--promptse-store", "--promptse-report"])
def test_options_of_single_shards_are_refused(run_shards, cluster, option, value):
    with pytest.raises(SettingsError, match=f"^shard run: {option} is set for each shard; give"):
        next(run_shards(["-q", f"{option}{value}"], count=1, paid=b""))
    assert cluster.options == []


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OTHER"])
def test_variables_of_the_driver_reach_the_shards(run_shards, in_shard, paid, monkeypatch, name):
    shards = run_shards([], count=1, paid=paid)
    monkeypatch.setenv(name, "of the driver")
    started = Cluster.remote

    def remote(self, **options):
        start = started(self, **options)
        monkeypatch.delenv(name)
        return start

    monkeypatch.setattr(Cluster, "remote", remote)
    list(shards)
    [environment] = in_shard.environments
    assert environment.get(name) == ("of the driver" if name != "OTHER" else None)
    assert "PATH" in environment
