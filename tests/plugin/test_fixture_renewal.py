"""Fixtures are set up anew for every program, those of pytest and of popular plugins too."""

from __future__ import annotations

import pytest

PROMPT = "Write `double(x: int) -> int`: return twice the number. Keep it short."
HEAD = f"""
import pytest

PROMPT = "{PROMPT}"
three = pytest.mark.promptse(PROMPT, samples=3, original_samples=3, variants=1)
"""
# Three programs, so that one item sets up its fixtures three times.
PROGRAMS = [f"def double(x):\n    y = {n}\n    return 2 * x\n" for n in range(3)]


@pytest.fixture
def check(pytester, run, replay):
    """Run tests on three programs and expect each item to pass with all samples."""

    def check(body: str, *arguments: str, tests: tuple[str, ...] = ("test_double",)):
        pytester.makepyfile(test_double=HEAD + body)
        model = replay(dict.fromkeys(tests, PROGRAMS), PROMPT)
        result = run("-v", "--promptse-model", model, *arguments)
        assert result.parseoutcomes() == {"passed": 8 * len(tests)}, result.stdout.str()
        assert str(result.stdout).count("(3/3)") == 4 * len(tests)
        return result

    return check


CAPTURES = ("capsys", "capfd", "capsysbinary", "capfdbinary")
BUILT_IN = """
@three
def test_CAPTURE(
    candidate, request, tmp_path, tmpdir, monkeypatch, CAPTURE, caplog, recwarn, cache,
    record_property, record_testsuite_property, pytestconfig, doctest_namespace, tmp_path_factory,
):
    assert candidate(2) == 4
    assert request.node.name.startswith("test_CAPTURE")
    assert list(tmp_path.iterdir()) == [] == tmpdir.listdir()
    (tmp_path / "a").touch()
    assert "CHANGED" not in os.environ
    monkeypatch.setenv("CHANGED", "1")
    assert len(CAPTURE.readouterr().out) == 0
    print("out")
    assert caplog.messages == caplog.get_records("call") == []
    caplog.set_level("INFO")
    logging.info("a")
    assert caplog.messages == ["a"]
    caplog.clear()
    logging.info("b")
    assert len(recwarn) == 0
    warnings.warn("advice")
    cache.set("a/b", 1)
    record_property("a", 1)
    record_testsuite_property("a", 1)
    tmp_path_factory.mktemp("a")
"""


def test_fixtures_of_pytest_and_ones_own(check):
    built_in = "".join(BUILT_IN.replace("CAPTURE", capture) for capture in CAPTURES)
    own = """
import logging
import os
import random
import warnings

drawn = set()
made = []

@pytest.fixture
def seen():
    return []

@three
def test_drawn(candidate, request):
    drawn.add(random.random())
    assert len(drawn) == 1, "another program has had other numbers"
    assert request.getfixturevalue("seen") == [] == list(
        request.getfixturevalue("tmp_path").iterdir()
    )
    request.getfixturevalue("seen").append(1)
    (request.getfixturevalue("tmp_path") / "a").touch()
    assert candidate(2) == 4

@three
def test_folder(candidate, tmp_path, monkeypatch):
    before = os.getcwd()
    monkeypatch.chdir(tmp_path)
    assert candidate(2) == 4 and os.listdir() == []
    assert "test_folder" not in before
    open("a", "w").close()

class TestMethod:
    def setup_method(self):
        self.fresh = True

    @three
    def test_instance(self, candidate):
        assert not hasattr(self, "used"), "another program has used this instance"
        assert self.fresh
        self.used = True
        assert candidate(2) == 4

@pytest.fixture(scope="module")
def module_made():
    made.append(1)

@three
def test_scopes(candidate, module_made, tmp_path):
    assert candidate(2) == 4
    assert made == [1]
"""
    captures = tuple(f"test_{capture}" for capture in CAPTURES)
    names = ("test_drawn", "test_folder", "test_instance", "test_scopes")
    check(own + built_in, tests=(*names, *captures))


def test_temporary_folders_follow_the_retention_settings_of_pytest(check):
    check(
        """
@three
def test_double(candidate, tmp_path):
    assert candidate(2) == 4
""",
        "-o",
        "tmp_path_retention_policy=failed",
    )


def test_with_pytest_cov(check):
    result = check(
        """
@three
def test_double(candidate, tmp_path):
    assert candidate(2) == 4
""",
        # From Python 3.13 on, the databases that it leaves open are warned of.
        *("-p", "pytest_cov.plugin", "--cov", ".", "-W", "ignore:unclosed database"),
    )
    result.stdout.fnmatch_lines(["TOTAL*100%"])


def test_with_pytest_asyncio(check):
    check(
        """
import pytest_asyncio

@pytest_asyncio.fixture
async def number():
    yield 2

@three
def test_double(candidate, number):
    assert candidate(number) == 4
""",
        *("-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=auto"),
    )


def test_with_pytest_randomly(check):
    check(
        """
@three
def test_double(candidate, tmp_path):
    assert candidate(2) == 4
""",
        *("-p", "pytest_randomly", "--randomly-seed=1"),
    )


def test_with_pytest_timeout(check):
    check(
        """
@three
def test_double(candidate, tmp_path):
    assert candidate(2) == 4
""",
        *("-p", "pytest_timeout", "--timeout", "60"),
    )


def test_with_pytest_rerunfailures(check):
    check(
        """
@three
def test_double(candidate, tmp_path):
    assert candidate(2) == 4
""",
        *("-p", "pytest_rerunfailures", "--reruns", "2"),
    )


def test_a_failed_gate_that_is_rerun_fails_again(pytester, run, replay):
    pytester.makepyfile(
        test_double=HEAD
        + """
@pytest.mark.promptse(min_pass_rate=1.0)
@three
def test_double(candidate, tmp_path):
    assert candidate(2) == 5
"""
    )
    model = replay({"test_double": PROGRAMS}, PROMPT)
    result = run(
        *("-p", "pytest_rerunfailures", "--reruns", "1", "--promptse-model", model),
        *("-k", "original"),
    )
    assert result.parseoutcomes() == {"failed": 1, "rerun": 1, "deselected": 7}


def test_with_pytest_django(check, pytester):
    pytester.makepyfile(
        project_settings="""
SECRET_KEY = "x"
USE_TZ = True
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
"""
    )
    check(
        """
@three
@pytest.mark.django_db
def test_double(candidate, settings, client):
    from django.contrib.auth.models import User
    assert candidate(2) == 4
    assert User.objects.count() == 0
    User.objects.create(username="a")
    settings.DEBUG = True
""",
        *("-p", "pytest_django.plugin", "--ds", "project_settings"),
    )


def test_a_teardown_that_uses_the_program_is_an_error_of_one_line(pytester, run, replay):
    pytester.makepyfile(
        test_double=HEAD
        + """
@pytest.fixture
def used(candidate):
    yield
    candidate(2)


@three
def test_double(candidate, used):
    assert candidate(2) == 4
"""
    )
    result = run("--promptse-model", replay({"test_double": PROGRAMS}, PROMPT))
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*candidate can be used in the test body only; its program*"])
    result.stdout.no_fnmatch_line("*EBADF*")
