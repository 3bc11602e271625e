"""What one item does: it measures a variant or decides a gate, and ends accordingly."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from planned_suites import plan, row_of

from pytest_promptse.errors import NotScoredError, NotStoredError
from pytest_promptse.plugin import _items
from pytest_promptse.plugin._baseline_items import ComparisonResult
from pytest_promptse.plugin._checks import TASK
from pytest_promptse.plugin._collection import SuiteFileItem
from pytest_promptse.plugin._items import run_function, run_suite_file_item
from pytest_promptse.plugin._results import DETAILS, NOT_SCORED, NOTES, RESULT_WORD
from pytest_promptse.plugin._targets import TARGET, IdParts, NodeIds, targets_of
from pytest_promptse.record._outcomes import Outcome
from pytest_promptse.run._measuring import PassCount
from pytest_promptse.scoring._scores import Gate

PARTS = IdParts(model=False, template=False, task=True)
GATE = Gate(name="drop", threshold=0.1, value=0.0, verdict="pass", message="drop 0.00", ci95=None)


class Measuring:
    """Stands for the part of a run that measures; `error` is raised instead."""

    def __init__(self, *, passes=3, end=None, gate=GATE, error=None, unsolved=None):
        self.calls, self.checks = [], []
        self._passes, self._end, self._gate = passes, end, gate
        self._error, self.unsolved = error, unsolved

    def _called(self, name, check, node_of):
        assert node_of is not None
        self.calls.append(name)
        self.checks.append(check)
        if self._error is not None:
            raise self._error

    def end_before(self, _suite, _planned, check, *, node_of):
        self._called("end_before", check, node_of)
        return self._end

    def measure(self, _suite, _planned, check, *, node_of):
        self._called("measure", check, node_of)
        return PassCount(passes=self._passes, n=4)

    def decide(self, _suite, _gate, check, *, node_of):
        self._called("decide", check, node_of)
        return self._gate

    def measure_share(self, _suite, _gate, check, *, node_of):
        self._called("measure_share", check, node_of)

    def measure_for(self, _suite, _comparison, check, *, node_of):
        self._called("measure_for", check, node_of)

    def measured_prompt(self, suite, planned):
        causes = ("",) * self._passes + ("wrong_answer",) * (4 - self._passes)
        return row_of(suite, planned, causes)

    def why_nothing_is_solved(self, _suite):
        return self.unsolved


class Ran:
    """An item that was run, and how it ended."""

    def __init__(self, place, measuring, *, fulltrace=False, **settings):
        suite = plan(variants=1, distances="0.3", samples=4, original_samples=4, **settings)
        self.target = list(targets_of(suite, PARTS, NodeIds(None)))[place]
        self.stash = pytest.Stash()
        self.stash[TARGET] = self.target
        # Those of an earlier attempt.
        self.stash[NOT_SCORED] = "earlier"
        self.logged, self.properties = [], []
        option = SimpleNamespace(usepdb=False, trace=False, fulltrace=fulltrace)
        writer = SimpleNamespace(fullwidth=80, hasmarkup=False)
        config = SimpleNamespace(
            option=option,
            get_terminal_writer=lambda: writer,
            rootpath=Path("/root"),
            invocation_params=SimpleNamespace(args=[], dir=Path("/root")),
        )
        self.item = SimpleNamespace(
            stash=self.stash,
            nodeid="a.promptse.yaml::x",
            name="x",
            path=Path(__file__),
            config=config,
            user_properties=self.properties,
        )
        run = SimpleNamespace(
            settings=suite.settings,
            sandbox=SimpleNamespace(isolation_level="none"),
            needed_descriptors=set(),
            measuring=measuring,
            log_error=lambda where, error: self.logged.append((where, str(error))),
        )
        self.end = None
        try:
            run_suite_file_item(self.item, run)
        except (pytest.fail.Exception, pytest.skip.Exception, NotScoredError) as end:
            self.end = end

    @property
    def word(self):
        return self.stash.get(RESULT_WORD, None)


def test_a_variant_shows_its_pass_rate():
    ran = Ran(1, Measuring())
    assert (ran.end, ran.word) == (None, "MEASURED (3/4)")
    assert ran.properties == [("promptse_pass_rate", 0.75)]
    assert NOT_SCORED not in ran.stash
    assert Ran(1, Measuring(passes=0)).end is None


@pytest.mark.parametrize(
    ("floor", "gate", "word", "kind"),
    [
        (0.75, "point", "PASSED (3/4)", None),
        (0.76, "point", "PASSED (3/4)", pytest.fail.Exception),
        (0.75, "confident", "INCONCLUSIVE (3/4)", pytest.skip.Exception),
    ],
)
def test_a_variant_has_a_least_pass_rate(floor, gate, word, kind):
    ran = Ran(1, Measuring(), min_pass_rate=floor, gate=gate)
    assert ran.word == word
    assert (None if ran.end is None else type(ran.end)) is kind
    assert (DETAILS in ran.stash) == (kind is pytest.fail.Exception)
    if kind is pytest.fail.Exception:
        assert "program wrong_answer" in ran.stash[DETAILS]
        assert "Really, 0.3 0" in ran.stash[DETAILS]


def test_the_least_pass_rate_is_not_for_controls():
    ran = Ran(2, Measuring(passes=0), min_pass_rate=0.9, gate="point", control="neutral")
    assert ran.target.subject.control
    assert (ran.end, ran.word) == (None, "MEASURED (0/4)")


def test_a_variant_that_is_not_needed_is_skipped():
    measuring = Measuring(end=SimpleNamespace(completions=8, max_completions=32))
    ran = Ran(1, measuring)
    assert isinstance(ran.end, pytest.skip.Exception)
    assert ran.end.msg == "not needed: decided after 8 of 32 completions"
    assert measuring.calls == ["end_before"]


@pytest.mark.parametrize(("verdict", "fails"), [("pass", False), ("fail", True)])
def test_a_gate_is_decided(verdict, fails):
    gate = Gate(name="drop", threshold=0.1, value=0.3, verdict=verdict, message="drop 0.30")
    measuring = Measuring(gate=gate)
    ran = Ran(2, measuring, max_drop=0.1)
    assert isinstance(ran.end, pytest.fail.Exception) == fails
    assert ran.word == "PASSED (drop 0.30)"
    assert ran.stash[NOTES] == []
    assert measuring.calls == ["decide"]


def test_a_gate_stays_open_in_a_shard():
    measuring = Measuring()
    ran = Ran(2, measuring, shard="1/2")
    assert isinstance(ran.end, pytest.skip.Exception)
    assert ran.end.msg == "open in shard 1/2; promptse merge decides it"
    assert measuring.calls == ["measure_share"]


@pytest.mark.parametrize("place", [1, 2])
def test_what_cannot_be_measured_is_an_error_and_what_is_not_stored_is_skipped(place):
    ran = Ran(place, Measuring(error=NotStoredError("absent")))
    assert isinstance(ran.end, pytest.skip.Exception)
    assert ran.logged == [("a.promptse.yaml::x", "absent")]
    ran = Ran(place, Measuring(error=NotScoredError("broken")))
    assert isinstance(ran.end, pytest.fail.Exception)
    assert (ran.end.msg, ran.end.pytrace, ran.end.__context__) == ("broken", False, None)
    assert ran.stash[NOT_SCORED] == "broken"
    assert ran.logged == [("a.promptse.yaml::x", "broken")]
    ran = Ran(place, Measuring(error=NotScoredError("broken")), fulltrace=True)
    assert isinstance(ran.end, NotScoredError)
    assert NOT_SCORED not in ran.stash


@pytest.mark.parametrize(
    ("margin", "unsolved", "worsened", "not_scored"),
    [
        ("auc_e:0.1", None, False, False),
        ("auc_e:0.1", "nothing is solved", False, True),
        ("auc_e:0.1", "nothing is solved", True, False),
        ("pass_at_1:0.1", "nothing is solved", False, False),
    ],
)
def test_a_comparison_needs_a_model_that_solves_something(
    monkeypatch, margin, unsolved, worsened, not_scored
):
    outcome = Outcome(kind="failed" if worsened else "passed", reasons=["fell"])
    result = ComparisonResult(word="compared with main", outcome=outcome, has_worsened=worsened)
    monkeypatch.setattr(_items, "compare_suite", lambda *_: result)
    measuring = Measuring(unsolved=unsolved)
    ran = Ran(-1, measuring, compare="main", compare_fail=[margin])
    assert measuring.calls == ["measure_for"]
    assert ran.word == (None if not_scored else "PASSED (compared with main)")
    assert isinstance(ran.end, pytest.fail.Exception) == (not_scored or worsened)
    assert ran.logged == ([("a.promptse.yaml::x", "nothing is solved")] if not_scored else [])


# -- the check ---------------------------------------------------------------------------------


def check_of(**settings):
    measuring = Measuring()
    Ran(1, measuring, **settings)
    return measuring.checks[-1]


def test_the_check_of_a_suite_file_names_the_line_of_the_file():
    def fail(candidate):
        candidate.run()
        assert candidate is None

    candidate = SimpleNamespace(
        run=lambda **_: None, failed=[], raised=lambda _: False, compared=[], used=True
    )
    task = SimpleNamespace(door="program", check=fail)
    result = check_of().run(candidate, task)
    line = fail.__code__.co_firstlineno + 2
    assert (result.cause, result.detail.partition(":")[0]) == ("wrong_answer", f"line {line}")


def test_a_verdict_is_kept_as_long_as_the_limits_are_the_same():
    check = check_of()
    assert check.key == check_of().key
    assert len({check.key, check_of(timeout="2").key, check_of(memory="600").key}) == 3
    limits = check_of(timeout="2", memory="600").limits
    assert (limits.wall, limits.cpu, limits.memory) == (2.0, 2.0, 600 * 2**20)


def test_a_check_has_a_process_of_its_own_except_under_a_debugger():
    assert check_of().process.forks
    assert not check_of().process.prepare(SimpleNamespace(may_change_modules=False))
    assert check_of().process.prepare(SimpleNamespace(may_change_modules=True))


def test_a_function_without_a_target_is_called_by_pytest():
    assert run_function(SimpleNamespace(stash=pytest.Stash()), None) is None


def test_an_item_of_a_suite_file_is_in_the_line_of_its_task(request):
    item = SuiteFileItem.from_parent(request.node.parent, name="add[x]", target=None, line=7)
    assert item.reportinfo() == (request.node.path, 6, "add[x]")
    assert TARGET not in item.stash


def body(candidate, data):
    assert candidate(data)


def function_item(*, fixtures, **changed):
    """Return a marked test function, whose fixtures have these modules from outermost to last."""
    definitions = {
        name: [
            SimpleNamespace(func=SimpleNamespace(__module__=module), scope="session")
            for module in modules
        ]
        for name, modules in fixtures.items()
    }
    suite = plan(variants=1, distances="0.3", samples=4, original_samples=4)
    target = list(targets_of(suite, PARTS, NodeIds(None)))[1]
    values = {
        "stash": pytest.Stash(),
        "nodeid": f"{suite.id}[x]",
        "name": "test_a[x]",
        "originalname": "test_a",
        "path": Path(__file__),
        "parent": None,
        "obj": body,
        "function": body,
        "fixturenames": ["candidate"],
        "funcargs": {},
        "session": SimpleNamespace(stash=pytest.Stash()),
        "user_properties": [],
        "_fixtureinfo": SimpleNamespace(name2fixturedefs=definitions, argnames=("candidate",)),
        "config": SimpleNamespace(
            option=SimpleNamespace(usepdb=False, trace=False, fulltrace=False),
            rootpath=Path("/root"),
        ),
    } | changed
    values["stash"][TARGET] = target
    return SimpleNamespace(**values), suite


def run_of(suite, measuring):
    return SimpleNamespace(
        settings=suite.settings,
        sandbox=SimpleNamespace(isolation_level="none"),
        needed_descriptors=set(),
        measuring=measuring,
    )


def test_a_verdict_depends_on_the_modules_of_the_function_and_of_its_fixtures(monkeypatch):
    asked = []

    def digest(modules, root):
        asked.append((modules, root))
        return "digest"

    monkeypatch.setattr(_items, "source_digest", digest)
    measuring = Measuring()
    item, suite = function_item(fixtures={"data": ["conftest", "test_a"], "own": ["own"]})
    assert run_function(item, run_of(suite, measuring)) is True
    assert asked == [({__name__, "test_a", "own"}, Path("/root"))]
    assert measuring.calls == ["end_before", "measure"]
    monkeypatch.setattr(_items, "source_digest", lambda *_: "another digest")
    run_function(item, run_of(suite, measuring))
    named, _ = function_item(fixtures={}, originalname="test_b")
    run_function(named, run_of(suite, measuring))
    assert len({check.key for check in measuring.checks}) == 3
    assert {check.door for check in measuring.checks} == {"candidate"}


@pytest.mark.parametrize("changes_modules", [True, False])
@pytest.mark.parametrize("calls_check", [True, False])
def test_a_function_that_only_calls_the_check_of_its_task_shares_a_process(
    monkeypatch, changes_modules, calls_check
):
    def of_task(task, candidate):
        task.check(candidate)

    monkeypatch.setattr(_items, "source_digest", lambda *_: "digest")
    measuring = Measuring()
    function = of_task if calls_check else body
    item, suite = function_item(fixtures={}, obj=function, function=function)
    run_function(item, run_of(suite, measuring))
    [*_, check] = measuring.checks
    task = SimpleNamespace(may_change_modules=changes_modules)
    assert check.process.prepare(task) is (changes_modules or not calls_check)
    assert item.stash[TASK] is task
    check.process.restore()
