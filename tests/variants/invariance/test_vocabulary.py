"""The word lists of the judge are checked when they are read."""

from __future__ import annotations

import pytest

from pytest_promptse.config._data_files import templates_dir
from pytest_promptse.errors import TaskError
from pytest_promptse.variants.invariance import _vocabulary

ENGLISH = (templates_dir() / "judge" / "en.yaml").read_text(encoding="utf-8")


@pytest.fixture
def lists(tmp_path, monkeypatch):
    """Return a function that reads a text as the lists of a language."""
    (tmp_path / "judge").mkdir()
    monkeypatch.setattr(_vocabulary, "templates_dir", lambda: tmp_path)

    def read(text):
        (tmp_path / "judge" / "xx.yaml").write_text(text, encoding="utf-8")
        return _vocabulary.vocabulary.__wrapped__("xx")

    return read


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_the_package_has_lists_for_three_languages(language):
    words = _vocabulary.vocabulary(language)
    assert {rule for rule, _ in words.rules.values()} >= {"negation", "comparison", "order", "case"}


def test_a_language_without_a_file_has_no_lists(lists):
    lists(ENGLISH)
    assert _vocabulary.vocabulary.__wrapped__("yy") is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\nhedges: |", "\nhedge: |", r"xx\.yaml:\d+: xx\.yaml has no key 'hedge'.*hedges"),
        ("  asking: |", "  askin: |", r"xx\.yaml:\d+: talk has no key 'askin'.*asking"),
    ],
)
def test_an_error_in_the_lists_names_the_file_the_key_and_the_remedy(lists, old, new, message):
    assert old in ENGLISH
    with pytest.raises(TaskError, match=message):
        lists(ENGLISH.replace(old, new))


def test_a_missing_section_is_named(lists):
    text = ENGLISH[: ENGLISH.index("\n# Verbs that make an added sentence an instruction")]
    with pytest.raises(TaskError, match=r"has no key 'verbs'; add it"):
        lists(text)
