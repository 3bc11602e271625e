"""One run of one process, without pytest items."""

from __future__ import annotations

import pytest
from planned_suites import plan, settings

from pytest_promptse.errors import VariantError
from pytest_promptse.run._run import PromptseRun


def test_all_tasks_whose_variants_cannot_be_made_are_named_at_once(tmp_path):
    def fail(task):
        raise VariantError(f"task {task!r}: too short")

    suites = [plan([name], make=lambda name=name: fail(name)) for name in ("inc", "dec")]
    run = PromptseRun(
        settings(),
        root=tmp_path,
        id="run",
        create_backend=pytest.fail,
        create_rewriter=pytest.fail,
        show_progress=pytest.fail,
    )
    with pytest.raises(VariantError) as error:
        run.make_variants((suite, planned) for suite in suites for planned in suite.variants)
    assert str(error.value).splitlines() == [
        "test_a.py::test_a: task 'dec': too short",
        "test_a.py::test_a: task 'inc': too short",
    ]
