"""A check tells a wrong program from a check that is broken itself."""

from __future__ import annotations

import importlib
import pathlib
import re
from types import SimpleNamespace

import pytest

from pytest_promptse.errors import TaskError
from pytest_promptse.plugin._checks import (
    CandidateProxy,
    ProgramProxy,
    check_process,
    explain_comparison,
    refuse_soft_assertions,
    run_body,
)
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.sandbox.guest import landlock

PROGRAM = '''
def double(x):
    """Return twice the number."""
    if x < 0:
        raise ValueError("negative")
    return 2 * x

limit = 7
'''
PATH = __file__
# Never bound: the check of a test below would do so.
bound_later: int


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox("none", workers=1) as pool:
        yield pool


@pytest.fixture
def loaded(sandbox):
    with sandbox.load(PROGRAM, entry_point="double") as candidate:
        yield candidate


@pytest.fixture
def check(loaded):
    """Run a body, which gets the proxy of the program, and return cause and detail."""

    def check(body, proxy=None):
        proxy = proxy or CandidateProxy()
        result = run_body(lambda: body(proxy), loaded, proxy, PATH)
        return result.cause, result.detail

    return check


def line_of(text):
    with pathlib.Path(PATH).open(encoding="utf-8") as file:
        [number] = [n for n, line in enumerate(file, 1) if line.strip() == text]
    return number


def test_a_check_that_holds_has_no_cause(check):
    def body(candidate):
        assert candidate(2) == 4
        assert candidate.limit == 7
        assert candidate.__doc__ == "Return twice the number."
        assert repr(candidate) == "candidate"
        assert {"module", "run", "output"} < set(dir(candidate))

    assert check(body) == ("", "")


def test_a_name_of_the_module_is_set_there_and_any_other_at_the_entry_point(check):
    def body(candidate):
        candidate.limit = 8
        candidate.note = "x"
        assert (candidate.module.limit, candidate.note) == (8, "x")
        assert not hasattr(candidate.module, "note")
        del candidate.note
        assert not hasattr(candidate, "note")

    assert check(body) == ("", "")


def test_a_wrong_answer_has_the_line_of_the_check(check):
    def body(candidate):
        assert candidate(2) == 5

    cause, detail = check(body)
    assert cause == "wrong_answer"
    assert detail.startswith(f"line {line_of('assert candidate(2) == 5')}: ")
    assert "compare attributes" not in detail


def test_an_exception_of_the_program_is_its_failure(check):
    assert check(lambda candidate: candidate(-1)) == ("exception", "ValueError: negative")


def test_an_assertion_about_an_exception_of_the_program_is_a_wrong_answer(check):
    def body(candidate):
        with pytest.raises(KeyError):
            candidate(3)

    cause, detail = check(body)
    assert (cause, "DID NOT RAISE" in detail) == ("wrong_answer", True)


def test_an_error_of_the_check_after_an_answer_is_a_wrong_answer(check):
    cause, detail = check(lambda candidate: {}[candidate(2)])
    assert (cause, detail.partition(": ")[2]) == ("wrong_answer", "KeyError in the check: 4")
    assert detail.startswith("line ")


def fail_first(_candidate):
    assert not "first", "broken"


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (lambda candidate: candidate(2), TaskError, "returned 4 instead of None; write `assert`"),
        (lambda _: None, TaskError, "ended without using candidate, .*; call candidate$"),
        (fail_first, AssertionError, "broken"),
        (lambda _: {}["x"], KeyError, "x"),
        (lambda candidate: undefined_name(candidate(2)), NameError, "undefined_name"),  # type: ignore[name-defined]  # noqa: F821
        (lambda _: pytest.skip("no"), TaskError, r"the check skipped \(no\); a check must pass"),
        (lambda _: pytest.xfail("no"), TaskError, r"the check called pytest.xfail \(no\)"),
    ],
)
def test_a_broken_check_is_no_failure_of_the_program(check, body, error, message):
    with pytest.raises(error, match=message):
        check(body)


def test_an_assertion_before_the_program_is_used_has_a_note(check):
    with pytest.raises(AssertionError) as failed:
        check(fail_first)
    assert failed.value.__notes__ == [
        "raised before the test used candidate, so the check or a fixture is broken"
    ]


def test_a_statement_that_needs_a_class_is_a_mistake_of_the_check(check):
    def body(candidate):
        try:
            {}[candidate(2)]
        except candidate:
            raise AssertionError from None

    with pytest.raises(TaskError, match=r"^line \d+: the candidate stands for the entry point"):
        check(body)


def refused(error=None):
    """Raise what a call in C raises, as `open` does, possibly as the cause of `error`."""

    def wait():
        yield

    waiting = wait()
    next(waiting)
    try:
        waiting.throw(PermissionError(13, "denied"))
    except PermissionError as cause:
        if error is None:
            raise
        raise error from cause


@pytest.mark.parametrize("wrapper", [None, OSError("no connection")])
def test_a_refused_file_is_a_mistake_of_the_check_unless_it_has_an_answer(
    check, monkeypatch, wrapper
):
    monkeypatch.setattr(landlock, "version", lambda: 4)
    text = r"the check is refused a file or a connection \(\[Errno 13\] denied\); it can write only"
    with pytest.raises(TaskError, match=text):
        check(lambda _: refused(wrapper))
    # Without Landlock nothing is refused.
    monkeypatch.setattr(landlock, "version", lambda: 0)
    with pytest.raises(OSError, match="denied" if wrapper is None else "no connection"):
        check(lambda _: refused(wrapper))
    monkeypatch.setattr(landlock, "version", lambda: 4)
    cause, detail = check(lambda candidate: candidate(2) and refused(wrapper))
    assert cause == "wrong_answer"
    assert re.match(rf"line \d+: {text}", detail)
    monkeypatch.setattr(landlock, "version", lambda: 0)
    name = "PermissionError" if wrapper is None else "OSError"
    cause, detail = check(lambda candidate: candidate(2) and refused(wrapper))
    assert f"{name} in the check: " in detail


@pytest.mark.parametrize("number", [None, 13])
def test_a_permission_error_that_the_check_raises_is_not_that_of_the_kernel(
    check, monkeypatch, number
):
    monkeypatch.setattr(landlock, "version", lambda: 4)
    error = PermissionError("no") if number is None else PermissionError(number, "no")

    def body(candidate):
        candidate(2)
        raise error

    cause, detail = check(body)
    assert (cause, detail.partition(": ")[2]) == (
        "wrong_answer",
        f"PermissionError in the check: {error}",
    )


def test_a_name_that_the_check_would_have_bound_depends_on_the_program(check):
    def body(candidate):
        global bound_later  # noqa: PLW0603 - what is tested
        if candidate(2) == 5:
            bound_later = 1
        assert bound_later

    cause, detail = check(body)
    assert cause == "wrong_answer"
    assert "NameError in the check: name 'bound_later' is not defined" in detail


@pytest.mark.parametrize(
    "body",
    [
        lambda candidate: eval("nothing" * bool(candidate(2))),
        lambda candidate: importlib.import_module("nothing" * bool(candidate(2))),
    ],
)
def test_a_name_that_a_program_may_have_given_is_its_own(check, body):
    cause, detail = check(body)
    assert cause == "wrong_answer"
    assert "nothing" in detail


def test_an_import_that_fails_is_a_mistake_of_the_check(check):
    def body(candidate):
        candidate(2)
        import no_such_module  # noqa: F401, PLC0415 # type: ignore[import-not-found]

    with pytest.raises(ImportError, match="no_such_module"):
        check(body)


def test_a_check_that_skips_after_an_answer_has_judged_the_program(check):
    def body(candidate):
        pytest.skip(f"got {candidate(2)}")

    cause, detail = check(body)
    assert cause == "wrong_answer"
    assert detail.endswith("the check skipped (got 4); a check must pass or fail for every program")


def test_a_check_that_skips_for_an_exception_of_the_program_has_it_as_the_cause(check):
    def body(candidate):
        try:
            candidate(-1)
        except ValueError:
            pytest.skip("not implemented")

    assert check(body)[0] == "exception"


def test_a_program_that_is_run_is_used_and_has_an_answer():
    texts = []

    def result_of(*, stdin, args):
        texts.append((stdin, args))
        return SimpleNamespace(stdout="out")

    candidate = SimpleNamespace(
        run=result_of, used=False, failed=[], raised=lambda _: False, has_raised=lambda _: False
    )
    candidate.require_no_failure = lambda: None
    candidate.compared = []
    program = ProgramProxy()
    assert run_body(lambda: program.run("1") and None, candidate, program, PATH).cause == ""
    skips = run_body(lambda: pytest.skip(program.run("1").stdout), candidate, program, PATH)
    assert skips.cause == "wrong_answer"
    assert [stdin for stdin, _ in texts] == ["1", "1"]
    # A program that is bound anew has no answer yet.
    with pytest.raises(TaskError, match="the check skipped"):
        run_body(lambda: pytest.skip("no"), candidate, program, PATH)
    with pytest.raises(TaskError, match=r"without using program, .*; call program.run\(\)$"):
        run_body(lambda: None, candidate, program, PATH)


def test_a_second_program_is_not_used_by_the_check_of_the_first(check):
    proxy = CandidateProxy()
    assert check(lambda candidate: candidate(2) and None, proxy)[0] == ""
    with pytest.raises(TaskError, match="without using candidate"):
        check(lambda _: None, proxy)


def test_a_fixture_cannot_use_a_program():
    proxy, program = CandidateProxy(), ProgramProxy()
    assert proxy.__doc__ is None
    assert not isinstance(proxy, type)
    assert not hasattr(proxy, "__wrapped__")
    with pytest.raises(TaskError, match="in the test body only"):
        proxy(2)
    with pytest.raises(TaskError, match="in the test body only"):
        program.run()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"files": {"/etc/x": ""}}, "the file '/etc/x' must have a relative path"),
        ({"files": {"a/../b": ""}}, "the file 'a/../b' must have a relative path"),
        ({"args": "-v"}, "program.run takes texts"),
        ({"args": [1]}, "program.run takes texts"),
        ({"stdin": 1}, "program.run takes texts"),
        ({"files": {"a": 1}}, "program.run takes texts"),
        ({"env": {"A": 1}}, "program.run takes texts"),
    ],
)
def test_a_program_takes_texts_and_relative_files(given, message):
    program = ProgramProxy()
    candidate = SimpleNamespace(
        used=False,
        failed=[],
        raised=lambda _: False,
        has_raised=lambda _: False,
        require_no_failure=lambda: None,
    )
    with pytest.raises(TaskError, match=message):
        run_body(lambda: program.run(**given), candidate, program, PATH)


def test_a_program_may_have_files_in_folders_whose_names_have_points():
    program = ProgramProxy()
    candidate = SimpleNamespace(
        run=lambda **_: SimpleNamespace(), failed=[], require_no_failure=lambda: None
    )
    body = lambda: program.run(files={"a..b/c": ""}) and None  # noqa: E731
    assert run_body(body, candidate, program, PATH).cause == ""


def test_values_are_shown_in_one_line_only_while_a_program_is_judged(check):
    shown = []

    def body(candidate):
        shown.append(explain_comparison("==", candidate(2), 5))

    assert check(body) == ("", "")
    assert shown == [["4 == 5"]]
    assert explain_comparison("==", 4, 5) is None


@pytest.mark.parametrize(
    ("names", "folders"),
    [
        ((), []),
        (("tmp_path", "tmpdir", "other"), ["/a", "/b"]),
        (("tmp_path_factory", "tmpdir_factory"), ["/base", "/base"]),
        (("request", "tmp_path"), ["/a", "/base"]),
    ],
)
def test_a_check_may_write_into_the_folders_of_its_fixtures(names, folders):
    factory = SimpleNamespace(getbasetemp=lambda: "/base")
    given = {
        "tmp_path": "/a",
        "tmpdir": "/b",
        "other": "/c",
        "tmp_path_factory": factory,
        "tmpdir_factory": factory,
        "request": SimpleNamespace(getfixturevalue={"tmp_path_factory": factory}.get),
    }
    option = SimpleNamespace(usepdb=False, trace=False)
    item = SimpleNamespace(
        funcargs={name: given[name] for name in names}, config=SimpleNamespace(option=option)
    )
    run = SimpleNamespace(needed_descriptors={7})
    process = check_process(item, run)
    assert process.writable() == folders
    assert (process.forks, process.needed) == (True, {7})
    assert not process.prepare(None)
    del item.funcargs
    assert process.writable() == []
    for name in ("usepdb", "trace"):
        item.config.option = SimpleNamespace(**{"usepdb": False, "trace": False, name: True})
        assert not check_process(item, run).forks


def test_fixtures_whose_failures_do_not_end_the_test_are_refused():
    def fixture(module):
        function = SimpleNamespace(__module__=module)
        return SimpleNamespace(func=function, argname="check")

    refuse_soft_assertions(fixture("tests.pytest_check"), "a.py::test")
    with pytest.raises(TaskError, match=r"a\.py::test: takes 'check', whose failures"):
        refuse_soft_assertions(fixture("pytest_check.plugin"), "a.py::test")
