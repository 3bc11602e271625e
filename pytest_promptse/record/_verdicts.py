"""The result of each suite in words, at the start of the summary and of every report."""

from __future__ import annotations

import posixpath
from shlex import quote
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from pytest_promptse.config._metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_promptse.record._schema import Record, SuiteRecord, TaskRecord
    from pytest_promptse.store._measured_variant import VariantRecord

# If the originals pass less often than this, variants have hardly anything to lose.
_LEAST_PASS_RATE = 0.1
# A smaller loss is reported as none, since it would be shown as 0 %.
_LEAST_LOSS = 0.02
_SIGNIFICANT = 0.05
# With a wider interval of AUC-E than this, the size of the loss is unclear.
_WIDE = 0.2
_MOST = 4
# Verdicts in the order in which suites need attention.
_ATTENTION = ("fail", "inconclusive", None, "pass")
NOT_DECIDED, NO_GATE = "not decided", "no gate"
"""The result of `verdict_word` for a suite without a verdict."""


class VerdictInWords(NamedTuple):
    """The verdict of one suite in words, or of all suites if ``name`` is empty."""

    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.name} {self.text}" if self.name else self.text


def verdict_word(suite: SuiteRecord) -> str:
    """Return the verdict of a suite, or whether it has a gate that was not decided."""
    if suite.verdict is not None:
        return suite.verdict
    options = ["min_task_auc_e", *(metric.option for metric in METRICS.values() if metric.option)]
    has_gate = any(suite.settings.get(option) is not None for option in options)
    return NOT_DECIDED if has_gate else NO_GATE


def verdicts_in_words(record: Record) -> list[VerdictInWords]:
    """Return the results of the suites of a record, in words.

    Suites that fail or are inconclusive come first. With more than four suites, the first line has
    the counts. At most four failed or inconclusive suites follow.
    """
    described = sorted(enumerate(record.suites), key=lambda pair: _ATTENTION.index(pair[1].verdict))
    verdicts = []
    if len(record.suites) > _MOST:
        verdicts.append(VerdictInWords("", _count(record)))
        described = [pair for pair in described if pair[1].verdict in ("fail", "inconclusive")]
    if not described:
        return verdicts
    by_suite: dict[tuple[str, str, str | None], list[TaskRecord]] = {}
    for task in record.tasks:
        if task.original is not None and task.variants:
            by_suite.setdefault((task.suite, task.model, task.template), []).append(task)
    names = _names(record.suites)
    for number, suite in described[:_MOST]:
        tasks = by_suite.get((suite.id, suite.model, suite.template), [])
        verdicts.append(VerdictInWords(names[number], _sentence(suite, tasks)))
    return verdicts


def _count(record: Record) -> str:
    suites = record.suites
    failed = sum(suite.verdict == "fail" for suite in suites)
    undecided = sum(suite.verdict == "inconclusive" for suite in suites)
    # A node id of a suite's item begins with the id of the suite.
    unscored = sum(any(e.where.startswith(suite.id) for e in record.errors) for suite in suites)
    text = (
        f"{failed} of {len(suites)} suites fail"
        if failed
        else f"none of {len(suites)} suites fails"
    )
    if undecided:
        text += f", {undecided} are inconclusive"
    if unscored:
        text += f", {unscored} could not be measured completely"
    return f"{text}."


def _passed(prompts: Sequence[VariantRecord]) -> str:
    """Return how many of all samples of these prompts pass, as ``48 of 64``."""
    passes = sum(round(prompt.n * prompt.pass_rate) for prompt in prompts)
    return f"{passes} of {sum(prompt.n for prompt in prompts)}"


def _names(suites: Sequence[SuiteRecord]) -> list[str]:
    """Return the shortest names that distinguish the suites: function, template and model."""
    several_models = len({suite.model for suite in suites}) > 1
    several_templates = len({suite.template for suite in suites}) > 1
    several_ids = len({suite.id for suite in suites}) > 1
    short = {suite.id: _short_name(suite.id) for suite in suites}
    if len(set(short.values())) < len(short):
        # Functions of the same name in several files also need the file.
        short = {name: name for name in short}
    names = []
    for suite in suites:
        parts = [short[suite.id]]
        if several_templates:
            parts = [*(parts if several_ids else []), f"template {suite.template or 'none'}"]
        if several_models:
            parts.append(suite.model)
        names.append(", ".join(parts))
    return names


def _short_name(suite_id: str) -> str:
    path, _, function = suite_id.partition("::")
    return function or path.rpartition("/")[2].partition(".promptse.")[0]


def _sentence(suite: SuiteRecord, tasks: Sequence[TaskRecord]) -> str:
    verdicts = {"fail": "fails: ", "pass": "passes: ", "inconclusive": "is inconclusive: "}
    word = verdict_word(suite)
    begin = verdicts.get(word, "is not decided: " if word == NOT_DECIDED else "has no gate: ")
    return begin + " ".join(_parts(suite, tasks))


def _parts(suite: SuiteRecord, tasks: Sequence[TaskRecord]) -> Iterator[str]:
    originals = [task.original for task in tasks if task.original is not None]
    if suite.pass_at_1 is None or not originals:
        yield (
            f"{suite.n_measured} of {suite.n_variants} prompts were measured, which is too few to "
            "compare variants with their original."
            if suite.n_missing
            else "no original was measured together with variants of it."
        )
        return
    pass_rate = fmean(original.pass_rate for original in originals)
    reworded = fmean(fmean(variant.pass_rate for variant in task.variants) for task in tasks)
    if pass_rate < _LEAST_PASS_RATE:
        yield (
            f"the model solves {pass_rate:.0%} of these tasks as they are written, so they "
            "cannot show whether it is stable."
        )
        return
    # With --promptse-aa the variants are the original itself.
    again = suite.settings.get("aa")
    when = "the same request is sent again" if again else "the request is reworded"
    counts = (
        f"(you: {_passed(originals)}; {'again' if again else 'reworded'}: "
        f"{_passed([variant for task in tasks for variant in task.variants])})"
    )
    loss = 1.0 - reworded / pass_rate
    if loss >= _LEAST_LOSS:
        yield (
            f"the model loses {loss:.0%} of what it solves when {when} {counts}"
            + (", which chance could explain." if _chance_explains(suite, tasks) else ".")
        )
    elif suite.verdict == "fail":
        yield f"the model solves as much in total when {when} {counts}, but not in every figure."
    elif differing := _differing(tasks):
        yield (
            f"the model keeps what it solves in total when {when} {counts}, but chance does "
            f"not explain the pass rate of {differing} variant{'s' if differing > 1 else ''}."
        )
    else:
        yield f"the model keeps what it solves when {when} {counts}."
    if suite.n_missing:
        verb = "variant was" if suite.n_missing == 1 else "variants were"
        yield f"{suite.n_missing} {verb} not measured."
    # The line below the figures says what the interval of a single task covers.
    if suite.n_tasks > 1 and suite.ci95 is not None and suite.ci95[1] - suite.ci95[0] > _WIDE:
        yield f"{suite.n_tasks} tasks are too few to say how much other tasks would lose."


def _differing(tasks: Sequence[TaskRecord]) -> int:
    """Return how many variants differ significantly from their original, after adjustment."""
    tests = [variant.p_adjusted for task in tasks for variant in task.variants]
    return sum(p is not None and p < _SIGNIFICANT for p in tests)


def _chance_explains(suite: SuiteRecord, tasks: Sequence[TaskRecord]) -> bool:
    """Return whether no gate and no test excludes chance: of the drop, AUC-E and the variants."""
    drop = suite.estimate("drop").ci95
    if suite.verdict == "fail" or (drop is not None and drop[0] > 0.0) or _differing(tasks):
        return False
    return suite.p_adjusted is not None and suite.p_adjusted >= _SIGNIFICANT


def remedy(record: Record, *, of_losses: bool = False) -> list[str]:
    """Return the command that looks for a template with which failing suites lose less.

    Its parts are quoted for a shell. It is empty without a suite that fails. A suite with a
    template of its own has no command: the search compares with the prompt as it is.

    Parameters
    ----------
    record
        The record of the run.
    of_losses
        True to include suites that do not fail, and solve less when their prompts are reworded.
    """
    suites = [
        suite
        for suite in record.suites
        if suite.template is None
        and (
            suite.verdict == "fail"
            or (of_losses and (suite.estimate("drop").value or 0.0) >= _LEAST_LOSS)
        )
    ]
    if record.invocation is None or not suites:
        return []
    files = dict.fromkeys(
        posixpath.relpath(suite.id.partition("::")[0], record.invocation.directory)
        for suite in suites
        if suite.model == suites[0].model
    )
    return ["promptse harden", *map(quote, files), f"--model {quote(suites[0].model)}"]
