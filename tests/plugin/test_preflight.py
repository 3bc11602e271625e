"""A mistake that can be known before the first request costs none: a server counts them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from faulty_server import FaultyServer

from pytest_promptse.config._options import OPTIONS
from pytest_promptse.errors import PromptseError
from pytest_promptse.plugin._invocation import given_settings
from pytest_promptse.plugin._preflight import check_settings

TWICE = """
import pytest

@pytest.mark.promptse(
    "Write `twice(x: int) -> int`: return twice x.", variants=1, samples=1, original_samples=1
)
def test_twice(candidate):
    assert candidate(3) == 6
"""
# A model of another package that cannot be used, as one without its key.
UNUSABLE = """
from pytest_promptse.errors import SettingsError

class Unusable:
    spec, identity, concurrency = "unusable", {"backend": "unusable"}, 1
    def check(self): raise SettingsError("unusable: no key; export one")
    async def start(self): raise NotImplementedError
    async def reach(self, guard): raise NotImplementedError
    async def complete(self, request): raise NotImplementedError
    async def close(self): pass

def pytest_promptse_backend(name):
    return Unusable() if name == "unusable" else None
"""
NO_BASELINE = "--promptse-compare: there is no baseline 'mian' yet "


@pytest.fixture(scope="module")
def server():
    with FaultyServer() as running:
        running.behaviour.answer = lambda _body, _number: "def twice(x):\n    return 2 * x"
        yield running


@pytest.fixture
def project(pytester, server, monkeypatch):
    """A project with one test, a file, a folder and the baseline ``main``."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    pytester.makepyfile(test_twice=TWICE, conftest=UNUSABLE)
    pytester.makeini(
        f"[pytest]\npromptse_model = openai:m\npromptse_base_url = {server.base_url}\n"
    )
    (pytester.path / "file").write_text("")
    (pytester.path / "folder").mkdir()
    baselines = pytester.path / ".promptse" / "baselines"
    baselines.mkdir(parents=True)
    (baselines / "main.json").write_text('{"schema": "promptse.run/0"}')
    del server.requests[:]
    return pytester.path


MISTAKES = [
    (["compare=mian"], NO_BASELINE),
    (["compare=mian"], "(did you mean 'main'?); there are main; make it with: pytest … --promptse"),
    (
        ["compare=mian", "compare-fail=auc_e:0.1"],
        "or give --promptse-compare-missing warn",
    ),
    (["compare=no/such.json"], "--promptse-compare: there is no record 'no/such.json' yet ("),
    (["compare=main"], "main.json is a record of schema version 0"),
    (["save=new", "-k", "original"], "--promptse-save new: 3 of 4 variants are not selected"),
    (["report=json:file/run.json"], "--promptse-report json:file/run.json: "),
    (["report=md:folder"], "folder is a folder; give another path"),
    (["report=csv:file"], "file is a file; give another path"),
    (["report=json:a", "report=html:a"], "two reports at a; give each a path of its own"),
    (["store=file/store"], "name another folder with --promptse-store"),
    (["variant-judge=opnai:m"], "--promptse-variant-judge: model 'opnai:m': there is no backend"),
    (["variant-judge=replay:gone.jsonl"], "--promptse-variant-judge: replay:gone.jsonl: cannot"),
    (["rewriter=llm:replay:gone.jsonl"], "--promptse-rewriter: replay:gone.jsonl: cannot read"),
    (["rewriter=llm:openai:m", "model=unusable"], "unusable: no key; export one"),
    (["model=openai:m", "model=unusable"], "unusable: no key; export one"),
    (["model=openai:m", "model=replay:gone.jsonl"], "replay:gone.jsonl: cannot read gone.jsonl"),
    (["model=openai:m", "model=ct2:gone"], "ct2:gone: gone has no model.bin"),
    (["sandbox=podman"], "podman is not installed: apt-get install podman"),
    (["ca-bundle=gone.pem"], "--promptse-ca-bundle: gone.pem does not exist; check the path"),
    (["ca-bundle=file"], "--promptse-ca-bundle: file cannot be read as PEM"),
    (["client-certificate=gone.pem"], "--promptse-client-certificate: gone.pem does not exist"),
    (["client-key=gone.pem"], "give --promptse-client-certificate FILE"),
    (["header=X: $GONE"], "--promptse-header X: the environment variable GONE is not set"),
    (["proxy=nonsense"], "--promptse-proxy: 'nonsense' is not the address of a proxy; give"),
    (["base-url=localhost:1/v1"], "'localhost:1/v1' is not the address of a server; give one"),
    (["variants-dir=gone"], "gone' is not a folder; make it with: promptse variants freeze"),
    (["library-dir=gone"], "gone' is not a folder; give that of your emotions"),
    (["template=gone.j2"], "--promptse-template: template 'gone.j2' matches no file in "),
    (["template=shipped:gone"], "shipped ones are written shipped:NAME"),
    (["max-cost=1"], "--promptse-max-cost: 1 needs prices; add --promptse-price"),
]


@pytest.mark.parametrize(("options", "message"), MISTAKES)
def test_a_mistake_costs_no_request(project, run, server, monkeypatch, options, message):  # noqa: PLR0917 - fixtures
    if options == ["sandbox=podman"]:
        # A podman of this machine must not matter.
        monkeypatch.setenv("PATH", str(project))
    result = run(*(o if o[0] == "-" or "=" not in o else f"--promptse-{o}" for o in options))
    assert server.requests == []
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line]
    assert line.startswith("ERROR: ")
    assert message in line


def test_a_full_trace_says_where_a_mistake_was_found(project, run):
    result = run("--promptse-model=unusable", "--full-trace")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: unusable: no key; export one", "Traceback *"])


def test_a_report_whose_packages_are_missing_costs_no_request(project, run, server):
    (project / "conftest.py").write_text("import sys\nsys.modules['matplotlib'] = None\n")
    result = run("--promptse-report=html:page.html")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *needs matplotlib; pip install 'pytest-promptse?html?'"])
    assert server.requests == []


def test_a_baseline_that_cannot_be_saved_costs_no_request(project, run, server):
    baselines = project / ".promptse" / "baselines"
    (baselines / "main.json").unlink()
    baselines.rmdir()
    baselines.write_text("")
    result = run("--promptse-save", "main")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --promptse-save main: *baselines is a file, and*"])
    assert server.requests == []


@pytest.mark.parametrize(
    "allowed",
    [
        ["--promptse-compare-missing=warn"],
        ["--promptse-save=new"],
        ["--promptse-save=new", "--promptse-compare-fail=auc_e:0.1"],
    ],
)
def test_a_first_run_without_a_baseline_says_that_it_may(project, run, server, allowed):
    result = run("--promptse-compare=new", *allowed)
    assert result.ret == pytest.ExitCode.OK
    assert len(server.requests) > 0
    saved = project / ".promptse" / "baselines" / "new.json"
    assert saved.exists() == (allowed[0] == "--promptse-save=new")


def test_without_a_model_a_missing_baseline_stops_no_other_test(pytester, run):
    pytester.makepyfile(test_other="def test_other():\n    pass\n", test_twice=TWICE)
    pytester.makeini("[pytest]\npromptse_compare = main\n")
    run().assert_outcomes(passed=1, skipped=1)


# -- without a session -------------------------------------------------------------------------


@pytest.fixture
def check(tmp_path):
    """Check settings as they are given on the command line, and return the configuration."""

    def check(*, arguments=(), backend=None, names=(), writer=None, **flags):
        by_ini = {option.ini: option for option in OPTIONS.values()}
        hooks = {
            "backend": lambda **_: backend,
            "rewriter": lambda **_: None,
            "report": lambda **_: writer,
            "names": lambda **_: [list(names)],
        }
        lines = []
        config = SimpleNamespace(
            rootpath=tmp_path,
            inipath=None,
            args=list(arguments),
            stash=pytest.Stash(),
            invocation_params=SimpleNamespace(args=[], dir=tmp_path),
            getoption=lambda name, default: flags.get(by_ini[name].name, default),
            getini=lambda _: None,
            addinivalue_line=lambda *line: lines.append(line),
            lines=lines,
            hook=SimpleNamespace(**{f"pytest_promptse_{name}": h for name, h in hooks.items()}),
        )
        check_settings(config, given_settings(config))
        return config

    return check


def test_warnings_of_the_libraries_of_vllm_are_ignored(check):
    lines = check(model=["vllm:m"], backend=SimpleNamespace()).lines
    assert (("filterwarnings", r"ignore:::torch(\.|\Z)")) in lines
    assert {name for name, _ in lines} == {"filterwarnings"}
    assert check(model=["reference"]).lines == []


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"model": ["own:x"]}, "^model 'own:x': there is no backend"),
        ({"report": ["jsn:x"]}, "^--promptse-report jsn:x: there is no report 'jsn'"),
        ({"template": ["gone.j2"]}, "^--promptse-template: template 'gone.j2' matches no file"),
        (
            {"template": ["a.j2"], "arguments": ["b.j2"]},
            r"^--promptse-template: b\.j2 is a prompt template, not a test; quote the pattern",
        ),
        ({"save": "a/b"}, "^--promptse-save"),
        ({"compare": "mian", "model": ["reference"]}, "^--promptse-compare: there is no baseline"),
        ({"variants_dir": "gone", "model": ["reference"]}, "gone' is not a folder; make it with"),
        (
            {"variant_judge": "own:x", "model": ["reference"]},
            "^--promptse-variant-judge: model 'own:x': there is no backend",
        ),
        ({"library_dir": "gone", "model": ["reference"]}, "^--promptse-library-dir: .*gone"),
        ({"emotions": "hapy", "model": ["reference"]}, "^--promptse-emotions: unknown emotion"),
        ({"rewriter": "typo", "model": ["reference"]}, "^--promptse-rewriter: unknown rewriter"),
        (
            {"rewriter": "llm:own:x", "model": ["reference"]},
            "^--promptse-rewriter: model 'own:x': there is no backend",
        ),
    ],
)
def test_what_settings_name_must_exist(check, flags, message):
    with pytest.raises(PromptseError, match=message):
        check(**flags)


@pytest.mark.parametrize(
    "flags",
    [
        {"variants_dir": "gone"},
        {"emotions": "hapy"},
        {"compare": "mian"},
        {"compare": "mian", "compare_missing": "warn", "model": ["reference"]},
        {"compare": "mian", "save": "mian", "model": ["reference"]},
        {"rewriter": "rules", "model": ["reference"]},
    ],
)
def test_what_is_not_needed_or_will_be_made_may_be_missing(check, flags):
    check(**flags)


@pytest.mark.parametrize("kind", ["backend", "rewriter"])
def test_a_conftest_that_is_read_too_late_is_named(check, tmp_path, kind):
    for folder in (".hidden", "tests"):
        (tmp_path / folder).mkdir()
        hook = f"def pytest_promptse_{kind}():\n    pass\n"
        (tmp_path / folder / "conftest.py").write_text(hook)
    if kind == "rewriter":
        # It may be there once pytest has read the file.
        check(rewriter="own", model=["reference"])
        return
    with pytest.raises(PromptseError) as error:
        check(model=["own:x"])
    text = str(error.value)
    assert "tests/conftest.py defines a backend, and pytest has not read it yet; move the" in text
    assert text.endswith(f"move the hook to {tmp_path / 'conftest.py'}, or run pytest tests")
