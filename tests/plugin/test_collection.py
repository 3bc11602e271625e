"""A mark or a suite file becomes items, without a session of pytest."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from planned_suites import plan, settings

from pytest_promptse.errors import ModelError, VariantError
from pytest_promptse.plugin import _collection, _fixtures
from pytest_promptse.plugin._collection import SuiteFileCollector, parametrise, set_target
from pytest_promptse.plugin._invocation import BAD_MARKS, NO_MODEL
from pytest_promptse.plugin._targets import TARGET, IdParts, NodeIds, targets_of
from pytest_promptse.tasks._task import PROGRAM_ENTRY, Task

PROMPT = "Write `double(x)`: return twice the number."


class Session:
    """Stands for the session object, and notes what is planned."""

    has_models = True

    def __init__(self):
        self.planned, self.keywords = [], None
        self.given = SimpleNamespace(settings=settings(), of_suite=self._of_suite)
        self.run = SimpleNamespace(plan=self._plan, library=None)
        self.error = None

    def _of_suite(self, keywords, *, where, folder):
        self.keywords, self.folder, self.place = dict(keywords), folder, where("seed")
        return settings(**{"variants": 1, "distances": "0.3"} | dict(keywords))

    def _plan(self, suite_id, tasks, _chosen, **more):
        if self.error is not None:
            raise self.error
        self.planned, self.more = list(tasks), more
        self.suite = plan(self.planned, suite_id=suite_id, variants=1, distances="0.3")
        return [self.suite]

    def suite_with_id(self, suite, suite_id):
        return SimpleNamespace(id=suite_id, of=suite)


@pytest.fixture
def session(monkeypatch):
    session = Session()
    monkeypatch.setattr(_collection, "promptse_session", lambda _: session)
    return session


class Function:
    """Stands for the definition of a test function with marks."""

    nodeid, name, originalname = "a.py::test_double", "test_double", "test_double"

    def __init__(self, path, *marks, nodes=()):
        self.path = path
        self._marks = [mark.mark for mark in marks]
        self._nodes = list(nodes) or [self] * len(marks)
        self.parent = SimpleNamespace(stash=pytest.Stash())

    def iter_markers(self, _name):
        return iter(self._marks)

    def iter_markers_with_node(self, _name):
        return zip(self._nodes, self._marks, strict=True)


def body(candidate):
    raise NotImplementedError(candidate)


async def awaiting(candidate):
    raise NotImplementedError(candidate)


@pytest.fixture
def collect(tmp_path):
    """Parametrise a function, and return the ids of its items or the error of its mark."""

    def collect(*marks, fixtures=("candidate",), function=body, nodes=(), defined=None, **more):
        definition = Function(tmp_path / "a.py", *marks, nodes=nodes)
        made = {}

        def parametrize(name, parameters, *, indirect):
            assert indirect
            made[name] = [parameter.id for parameter in parameters]

        parametrise(
            SimpleNamespace(
                definition=definition,
                config=SimpleNamespace(args=more.get("args", ["a.py"])),
                function=function,
                fixturenames=fixtures,
                parametrize=parametrize,
                _arg2fixturedefs=defined or {},
            )
        )
        return definition.parent.stash.get(BAD_MARKS, {}).get("test_double") or made

    return collect


mark = pytest.mark.promptse
ITEMS = ["original", "d0.3-tired-expert.senior.plan-0", "elasticity-d0.3", "auc-e"]


def test_a_prompt_is_a_task_named_after_its_function(collect, session, tmp_path):
    assert collect(mark(PROMPT, seed=3, reference="def double(x): return 2 * x")) == {
        "candidate": ITEMS
    }
    [task] = session.planned
    assert (task.id, task.prompt, task.entry_point) == ("test_double", PROMPT, "double")
    assert task.reference == "def double(x): return 2 * x"
    assert session.keywords == {"seed": 3}
    assert session.folder == tmp_path
    assert session.place == "a.py::test_double, promptse mark, seed"
    assert session.more == {"line": body.__code__.co_firstlineno, "door": "candidate"}


def test_a_nearer_mark_overrides_keywords_and_prompt(collect, session):
    near, far = mark(seed=4), mark(PROMPT, seed=3, samples=2)
    collect(near, far)
    assert session.keywords == {"seed": 4, "samples": 2}
    other = "Write `half(x)`: return half of the number."
    collect(mark(other), far)
    assert [task.prompt for task in session.planned] == [other]


def test_a_prompt_of_a_class_is_a_task_named_after_the_class(collect, session):
    node = pytest.Class.__new__(pytest.Class)
    node.name = "TestDouble"
    collect(mark(PROMPT), nodes=[node])
    assert [task.id for task in session.planned] == ["TestDouble"]


def test_tasks_may_be_one_or_several_or_made_by_a_function(collect, session):
    one, two = (Task(id=name, prompt=PROMPT) for name in ("one", "two"))
    for source, ids in ((one, ["one"]), ([one, two], ["one", "two"]), (lambda: [two], ["two"])):
        made = collect(mark(source))
        assert [task.id for task in session.planned] == ids
        assert made["candidate"][0] == f"{ids[0]}-original"


def test_a_program_that_is_run_needs_no_name(collect, session):
    fixtures = ("program",)
    for prompt, name in (("Write a program that prints 1.", PROGRAM_ENTRY), (PROMPT, "double")):
        assert list(collect(mark(prompt), fixtures=fixtures)) == ["program"]
        assert [task.entry_point for task in session.planned] == [name]


@pytest.mark.usefixtures("session")
def test_items_that_are_not_given_are_not_made_but_there_is_one(collect):
    assert collect(mark(PROMPT), args=["a.py::test_double[auc-e]"]) == {"candidate": ["auc-e"]}
    assert collect(mark(PROMPT), args=["a.py::test_other[auc-e]"]) == {"candidate": ["original"]}
    assert collect(mark(PROMPT), args=["a.py::test_double[x]"]) == {"candidate": ["original"]}


def test_without_a_model_no_item_is_made(collect, session):
    session.has_models = False
    assert collect(mark(PROMPT)) == {}


def fixture_of(module):
    function = SimpleNamespace(__module__=module)
    return [SimpleNamespace(func=function, argname="check")]


@pytest.mark.parametrize(
    ("marks", "changed", "message"),
    [
        ([mark()], {}, "the promptse mark has no prompt; give it a prompt, or tasks, as its first"),
        ([mark("a", "b")], {}, "takes one prompt, or one iterable of tasks, not 2 arguments"),
        ([mark(PROMPT)], {"function": awaiting}, "is an async function; make it a plain one"),
        ([mark(PROMPT)], {"fixtures": ()}, "does not take 'candidate'; add it"),
        ([mark(PROMPT)], {"fixtures": ("candidate", "program")}, "takes both 'candidate' and 'pro"),
        ([mark(3)], {}, "got 3; give it a prompt, a Task or an iterable of Tasks"),
        ([mark([3])], {}, "3 among the tasks is not a Task"),
        ([mark([])], {}, "got no tasks; give it at least one"),
        ([mark([], reference="x", entry_point="y")], {}, "entry_point, reference belongs to a sin"),
        ([mark([Task(id="a", prompt=PROMPT)] * 2)], {}, "two tasks have the id 'a'"),
        (
            [mark(PROMPT)],
            {"fixtures": ("candidate", "check"), "defined": {"check": fixture_of("pytest_check")}},
            "takes 'check', whose failures do not end the test",
        ),
        (
            [],
            {"defined": {"candidate": fixture_of(_fixtures.__name__)}},
            "takes 'candidate' but has no promptse mark; add @pytest.mark.promptse('the prompt')",
        ),
    ],
)
@pytest.mark.usefixtures("session")
def test_a_mark_that_cannot_be_used_is_an_error_of_its_module(collect, marks, changed, message):
    error = collect(*marks, **changed)
    assert error.startswith("a.py::test_double: ")
    assert error.count("a.py::test_double") == 1
    assert message in error


@pytest.mark.usefixtures("session")
def test_a_fixture_of_the_users_own_needs_no_mark(collect):
    assert collect(defined={"candidate": fixture_of("conftest")}) == {}
    assert collect() == {}


def test_an_error_of_the_plan_has_the_name_of_the_test(collect, session):
    session.error = ModelError("no file")
    assert collect(mark(PROMPT)) == "a.py::test_double: no file"


# -- targets -----------------------------------------------------------------------------------


class Item(pytest.Function):
    """An item of pytest that was not made by it."""

    nodeid = "a.py::test_double[x]"


class Other:
    nodeid = "a.py::test_double[x]"


def item_of(kind=Item, *, target=None, params=None, fixtures=("candidate",)):
    item = kind.__new__(kind)
    item.name, item.originalname = "test_double[x]", "test_double"
    item.fixturenames, item.stash, item.config = fixtures, pytest.Stash(), None
    item.parent = SimpleNamespace(stash=pytest.Stash())
    item.marks = []
    item.add_marker = item.marks.append
    if params is not None:
        name = f"{target.id}-3" if len(params) > 1 else target.id
        item.callspec = SimpleNamespace(params=params, id=name)
    return item


def first_target():
    suite = plan(variants=1, distances="0.3")
    return next(targets_of(suite, IdParts(model=False, template=False, task=False), NodeIds(None)))


def test_an_item_has_the_target_of_its_parameter():
    target = first_target()
    item = item_of(target=target, params={"candidate": target})
    set_target(item)
    assert item.stash[TARGET] is target
    assert item.marks == []


@pytest.mark.usefixtures("session")
def test_parameters_of_the_users_own_make_another_suite():
    target = first_target()
    item = item_of(target=target, params={"candidate": target, "x": 3})
    set_target(item)
    assert item.stash[TARGET].suite.id == f"{target.suite.id}[3]"
    assert item.stash[TARGET].suite.of is target.suite


def test_an_item_without_a_target_is_skipped_for_want_of_a_model():
    for params in (None, {"candidate": "other"}):
        item = item_of(target=SimpleNamespace(id="x"), params=params)
        set_target(item)
        [skip] = item.marks
        assert (skip.name, skip.kwargs) == ("skip", {"reason": NO_MODEL})
        assert TARGET not in item.stash


def test_an_item_whose_mark_cannot_be_used_is_left_alone():
    item = item_of()
    item.parent.stash[BAD_MARKS] = {"test_double": "wrong"}
    set_target(item)
    assert item.marks == []
    item.parent.stash[BAD_MARKS] = {"test_other": "wrong"}
    set_target(item)
    assert len(item.marks) == 1


@pytest.mark.parametrize(("kind", "fixtures"), [(Other, ["candidate"]), (Item, ["other"])])
def test_only_a_function_that_takes_a_program_can_be_marked(kind, fixtures):
    with pytest.raises(pytest.UsageError, match="a promptse mark needs a plain pytest function"):
        set_target(item_of(kind, fixtures=fixtures))


# -- suite files -------------------------------------------------------------------------------

SUITE = """\
promptse: 1
settings: {seed: 3}
tasks:
  - id: one
    prompt: "Write `one(x)`: return x plus one."
    examples: [{call: "one(1)", expect: 2}]
  - id: two
    prompt: "Write `two(x)`: return x plus two."
    examples: [{call: "two(1)", expect: 3}]
"""


@pytest.fixture
def suite_file(request, tmp_path, monkeypatch):
    """Collect the items of a suite file below the folder of these tests."""

    def suite_file(text=SUITE):
        path = tmp_path / "a.promptse.yaml"
        path.write_text(text)
        collector = SuiteFileCollector.from_parent(request.session, path=path, nodeid="a.yaml")
        monkeypatch.setattr(collector.config, "args", ["a.yaml"])
        return list(collector.collect())

    return suite_file


def test_a_suite_file_has_items_named_after_tasks(suite_file, session):
    items = suite_file()
    assert [item.name for item in items] == [
        "one[original]",
        f"one[{ITEMS[1]}]",
        "two[original]",
        f"two[{ITEMS[1]}]",
        "suite[elasticity-d0.3]",
        "suite[auc-e]",
    ]
    assert [item.nodeid for item in items] == [f"a.yaml::{item.name}" for item in items]
    assert [item.reportinfo()[1] for item in items] == [3, 3, 6, 6, 0, 0]
    assert all(item.stash[TARGET].suite is session.suite for item in items)
    assert session.keywords == {"seed": 3}
    assert session.place == "a.promptse.yaml:2, seed"
    assert session.more == {"line": 1}


def test_without_a_model_each_task_of_a_suite_file_is_skipped(suite_file, session):
    session.has_models = False
    items = suite_file()
    assert [item.name for item in items] == ["one", "two"]
    for item in items:
        assert TARGET not in item.stash
        assert item.reportinfo()[1] == 0
        assert item.get_closest_marker("skip").kwargs == {"reason": NO_MODEL}


def test_a_suite_file_that_cannot_be_used_is_an_error(suite_file, session):
    with pytest.raises(pytest.Collector.CollectError, match=r"a\.promptse\.yaml"):
        suite_file("promptse: 2\n")
    session.error = VariantError("too few")
    session.run.library = SimpleNamespace(emotions={}, personalities={})
    with pytest.raises(pytest.Collector.CollectError, match=r"^too few$"):
        suite_file()
