"""The word lists of the judge are checked when they are read."""

from __future__ import annotations

import pytest

from pytest_promptse.config._data_files import templates_dir
from pytest_promptse.errors import TaskError, VariantError
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


def test_the_words_that_frame_others_are_data(lists):
    assert "exceed" not in lists(ENGLISH).frames.limiting
    added = ENGLISH.replace("  limiting: |\n    keep", "  limiting: |\n    exceed keep")
    assert "exceed" in lists(added).frames.limiting


def test_a_language_may_lack_these_words(lists):
    start, _, rest = ENGLISH.partition("\nframes:\n")
    without = start + rest[rest.index("\n\n") :]
    assert not lists(without).frames.limiting


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  limiting: |", "  limitng: |", r"xx\.yaml:\d+: frames has no key 'limitng'.*limiting"),
        (
            "sort order arrange",
            "sort|order",
            r"xx\.yaml:\d+: frames: sorting: 'sort\|order' is not",
        ),
        ("    status code", "    Status", r"xx\.yaml:\d+: frames: codes: 'Status' is not a word"),
        ("    status code", "", r"xx\.yaml:\d+: frames: codes is empty"),
        (
            "every # = every #",
            "every # = every",
            r"xx\.yaml:\d+: rewrite: 'once every # = every' has",
        ),
        ("\nsoft: |", "\nsift: |", r"xx\.yaml:\d+: xx\.yaml has no key 'sift'.*soft"),
    ],
)
def test_an_error_in_the_lists_names_the_file_the_key_and_the_remedy(lists, old, new, message):
    assert old in ENGLISH
    with pytest.raises(TaskError, match=message):
        lists(ENGLISH.replace(old, new))


def test_a_missing_section_and_a_missing_file_are_named(lists):
    text = ENGLISH[: ENGLISH.index("\n# Verbs that make an added sentence an instruction")]
    with pytest.raises(TaskError, match=r"has no key 'verbs'; add it"):
        lists(text)
    with pytest.raises(VariantError, match=r"yy\.yaml: the judge's word lists for 'yy'"):
        _vocabulary.vocabulary.__wrapped__("yy")
