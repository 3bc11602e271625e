"""Measure templates by runs of pytest, whose checks and fixtures only pytest can run."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse.errors import BudgetError, PromptseError
from pytest_promptse.harden._search import SEARCH_SEED, TaskOutcome
from pytest_promptse.record._schema import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_promptse.harden._candidates import TemplateCandidate
    from pytest_promptse.harden._search import Outcomes

_MEASURED = (0, 1)
_LINES_OF_AN_ERROR = 3
_REFUSAL = "ERROR: harden: "
# By its name, since the packages of pytest's hooks are above this one.
_PLANNER = "pytest_promptse.plugin._harden_plan"


class PytestRuns:
    """Runs of pytest over the same tests with different templates.

    Parameters
    ----------
    tests
        Files, folders or node ids, and further arguments of pytest.
    model
        The model as ``BACKEND:NAME``.
    candidates
        The templates by name.
    max_cost, max_requests
        The budget of all runs together; None for no limit.
    say
        Called with one line before each run.

    Attributes
    ----------
    records
        The record of each run, in order.
    """

    def __init__(
        self,
        tests: Sequence[str],
        *,
        model: str,
        candidates: Mapping[str, TemplateCandidate],
        max_cost: float | None = None,
        max_requests: float | None = None,
        say: Callable[[str], object],
    ) -> None:
        self._tests, self._model, self._candidates = tests, model, candidates
        self._max_cost, self._max_requests = max_cost, max_requests
        self._say = say
        self.records: list[Record] = []

    @property
    def cost(self) -> float | None:
        """Cost of all runs so far, or None without a price."""
        costs = [record.usage.cost for record in self.records if record.usage.cost is not None]
        return sum(costs) if costs else None

    @property
    def requests(self) -> int:
        """Requests of all runs so far."""
        return sum(record.usage.requests for record in self.records)

    def plan(self) -> None:
        """Plan the first round of the search in a dry run, which sends no request.

        Raises
        ------
        PromptseError
            If the tests cannot be measured with each of the candidates.
        """
        options = self._options(list(self._candidates), SEARCH_SEED, 1, None)
        self._pytest(["--promptse-dry-run", "-p", _PLANNER, *self._tests, *options])

    def measure(
        self,
        templates: Sequence[str],
        *,
        seed: int | None = None,
        variants: int | None = None,
        originals: int | None = None,
    ) -> Outcomes:
        """Measure templates on the same variants, as `_search.Measure` describes.

        Raises
        ------
        BudgetError
            If the budget is used up. What was measured is in the store.
        PromptseError
            If pytest cannot run the tests, or something could not be measured.
        """
        plan = f"variants per distance: {variants}" if variants else "as the project does"
        self._say(f"measuring {', '.join(templates)} ({plan})")
        record = self._run([*self._tests, *self._options(templates, seed, variants, originals)])
        self.records.append(record)
        missing = sum(suite.n_missing for suite in record.suites)
        if missing:
            raise PromptseError(
                f"harden: {missing} variants were not measured: {_why_missing(record)}; run "
                "the same command again to continue"
            )
        return outcomes_of(record)

    def _options(
        self,
        templates: Sequence[str],
        seed: int | None,
        variants: int | None,
        originals: int | None,
    ) -> list[str]:
        # In one argument with its option, no path can count as a test when pytest looks for the
        # root directory, which is where the store is.
        paths = [self._candidates[name].template.path for name in templates]
        options = [f"--promptse-model={self._model}"]
        options += [f"--promptse-template={path}" for path in paths]
        if seed is not None:
            options.append(f"--promptse-seed={seed}")
        if variants is not None:
            options.append(f"--promptse-variants={variants}")
        if originals is not None:
            options.append(f"--promptse-original-samples={originals}")
        if self._max_cost is not None:
            rest = self._max_cost - (self.cost or 0.0)
            if rest <= 0.0:
                raise BudgetError(f"harden: max_cost={self._max_cost:g} is used up")
            options.append(f"--promptse-max-cost={rest:.12g}")
        if self._max_requests is not None:
            left = self._max_requests - self.requests
            if left <= 0:
                raise BudgetError(f"harden: max_requests={self._max_requests:g} is used up")
            options.append(f"--promptse-max-requests={left:g}")
        return options

    def _run(self, arguments: Sequence[str]) -> Record:
        with tempfile.TemporaryDirectory(prefix="promptse-harden-") as folder:
            path = Path(folder) / "run.json"
            self._pytest([f"--promptse-report=json:{path}", *arguments])
            return Record.load(path)

    def _pytest(self, arguments: Sequence[str]) -> None:
        done = subprocess.run(  # noqa: S603 - the arguments are the user's own
            [sys.executable, "-m", "pytest", "-q", "--tb=no", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode in _MEASURED:
            return
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")]
        if refusal := [line for line in errors if line.startswith(_REFUSAL)]:
            raise PromptseError(refusal[0].removeprefix("ERROR: "))
        reason = " / ".join((errors or lines)[-_LINES_OF_AN_ERROR:])
        raise PromptseError(f"harden: pytest ended with {done.returncode}: {reason}")


def _why_missing(record: Record) -> str:
    """Return the error of a suite of which variants are missing.

    A gate without a solved original is an error as well, but of a suite that was measured.
    """
    several = len({suite.template for suite in record.suites}) > 1
    starts = tuple(
        f"{suite.id}[{suite.template}-" if several else suite.id
        for suite in record.suites
        if suite.n_missing
    )
    messages = (error.message for error in record.errors if error.where.startswith(starts))
    return next(messages, "their items did not run; take out options such as -k, -x and --lf")


def outcomes_of(record: Record) -> Outcomes:
    """Return the outcomes of a record by template and task. Unmeasured tasks are left out."""
    outcomes: dict[str, dict[str, TaskOutcome]] = defaultdict(dict)
    for task in record.tasks:
        if task.template is None or task.original is None or not task.variants:
            continue
        outcomes[task.template][f"{task.suite}::{task.id}"] = TaskOutcome(
            original=task.original.pass_rate,
            n=task.original.n,
            samples=min(variant.n for variant in task.variants),
            variants={variant.id: variant.pass_rate for variant in task.variants},
        )
    return outcomes
