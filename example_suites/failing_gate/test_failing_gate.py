"""A gate that fails: the program is right for the original and wrong for too many variants."""

import pytest


@pytest.mark.promptse(
    """Write `slugify(title: str) -> str`: lower-case the title, keep letters and digits,
    join the words with single hyphens.""",
    reference="""
import re

def slugify(title: str) -> str:
    return "-".join(re.findall("[a-z0-9]+", title.lower()))
""",
    min_auc_e=0.9,
)
def test_slugify(candidate):
    assert candidate("Hello,  World!") == "hello-world"
    assert candidate("") == ""
