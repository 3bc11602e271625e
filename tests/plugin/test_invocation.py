"""Settings that were given by their old names."""

from __future__ import annotations

import pytest


@pytest.fixture
def voices(pytester):
    pytester.mkdir("voices")
    pytester.makepyfile("def test_it(): pass")


@pytest.mark.parametrize("value", ["voices", "missing"])
def test_an_old_flag_still_works_and_says_its_new_name(run, voices, value):
    result = run("--promptse-templates-dir", value)
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(
        ["*--promptse-templates-dir is deprecated; use --promptse-library-dir*"]
    )


def test_an_old_ini_key_still_works_and_says_its_new_name(run, voices, pytester):
    pytester.makeini("[pytest]\npromptse_templates_dir = voices")
    result = run()
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "tox.ini:2",
            "*tox.ini:2: PytestDeprecationWarning: promptse_templates_dir is deprecated; use *",
        ]
    )
    result.stdout.no_fnmatch_line("*hooks.py*")


def test_as_an_error_the_warning_is_a_usage_error(run, voices):
    result = run("--promptse-templates-dir", "voices", "-W", "error::DeprecationWarning")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --promptse-templates-dir is deprecated*"])


def test_the_new_name_brings_no_warning(run, voices):
    run("--promptse-library-dir", "voices").assert_outcomes(passed=1, warnings=0)
