from __future__ import annotations

import pytest

from pytest_promptse._suggestions import nearest


@pytest.mark.parametrize(
    ("word", "suggestion"),
    [
        ("confidnt", " (did you mean 'confident'?)"),
        ("pont", " (did you mean 'point'?)"),
        ("zzz", ""),
        ("", ""),
    ],
)
def test_the_most_similar_name_is_suggested(word, suggestion):
    assert nearest(word, ("point", "confident")) == suggestion
