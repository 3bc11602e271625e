"""``promptse templates`` and ``promptse variants``: show the library; make and check variants."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from pytest_promptse._suggestions import nearest
from pytest_promptse.cli._arguments import DEFAULT_STORE
from pytest_promptse.cli._extensions import extensions, tasks_of_tests
from pytest_promptse.cli._ini import project_file
from pytest_promptse.config._option import placed
from pytest_promptse.config._settings import check_names, resolve
from pytest_promptse.errors import VariantError
from pytest_promptse.reports.terminal._harmful import difference
from pytest_promptse.variants._audit import audit
from pytest_promptse.variants._choices import check_choices, selection_of
from pytest_promptse.variants._edit import edited, from_text, to_text
from pytest_promptse.variants._files import (
    folders,
    read,
    read_original,
    template_folder,
    write,
    write_variants,
)
from pytest_promptse.variants._generate import VariantSet, generate
from pytest_promptse.variants._library_files import load_library
from pytest_promptse.variants._registry import REWRITERS
from pytest_promptse.variants._show import described, facts
from pytest_promptse.variants.invariance._finding import no_findings

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pytest_promptse.cli._arguments import Subparsers
    from pytest_promptse.config._settings import Settings
    from pytest_promptse.tasks._suitefile import SuiteFile
    from pytest_promptse.tasks._task import Task
    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants.invariance._finding import Finding

_CACHE = DEFAULT_STORE / "variants"
UNNAMED = "unnamed"
"""Entry point in the written files of a prompt that names none."""
_STDIN = "-"
_YAML = (".yaml", ".yml")
_MARK = "promptse"
"""Word in a test file with marks. A Python file without it is a prompt: code to complete."""


def add_parser(subparsers: Subparsers) -> None:
    """Add both commands. Each sets ``func``, which returns the exit code."""
    _add_templates(subparsers)
    variants = subparsers.add_parser(
        "variants", help="generate, show, measure, check and freeze variants"
    )
    actions = variants.add_subparsers(title="commands", metavar="COMMAND", required=True)
    make = actions.add_parser("make", help="generate variants of tasks and write them to files")
    _add_making(make)
    make.add_argument(
        "--into",
        type=Path,
        default=_CACHE,
        help="folder to which the variants are written (default: %(default)s)",
    )
    make.set_defaults(func=_make)
    freeze = actions.add_parser("freeze", help="write variants to a folder that you can commit")
    _add_making(freeze)
    freeze.add_argument(
        "into",
        type=Path,
        help="folder to which the variants are written; to use them, set promptse_variants_dir to "
        "this folder",
    )
    freeze.set_defaults(func=_make)
    show = actions.add_parser("show", help="show variants and their differences from the original")
    _add_making(show)
    show.add_argument(
        "--plain", action="store_true", help="print the variants without marking their changes"
    )
    show.set_defaults(func=_show)
    stats = actions.add_parser(
        "stats",
        help="print the levels, the measured distances and the counts of rejected candidates",
    )
    _add_making(stats)
    stats.set_defaults(func=_stats)
    edit = actions.add_parser(
        "edit", help="open frozen variants in your editor, measure them again and check them"
    )
    edit.add_argument("folder", type=Path, help="folder of the frozen variants")
    edit.add_argument("--task", action="append", help="only the task with this id; repeatable")
    _add_library(edit)
    edit.set_defaults(func=_edit)
    audit = actions.add_parser(
        "audit", help="check variants in files; the exit code is 1 if a variant is invalid"
    )
    audit.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=_CACHE,
        help="folder of the variants (default: %(default)s)",
    )
    _add_library(audit)
    audit.set_defaults(func=_audit)


def _add_library(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--library-dir",
        type=Path,
        metavar="DIR",
        help="folder of your own emotions and personas, which are added to the shipped ones",
    )


def _add_templates(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("templates", help="list emotions, personas and contexts")
    parser.add_argument(
        "name", nargs="?", help="name of an emotion, trait, level or control condition"
    )
    parser.add_argument(
        "--all", action="store_true", help="print every phrase instead of one phrase of each kind"
    )
    _add_library(parser)
    parser.set_defaults(func=_templates)


def _add_making(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        help="source of the prompts: humaneval, a suite file (.promptse.yaml), a test file with "
        "marks (.py), a file with one prompt (text, Markdown or code to complete), or - for "
        "standard input",
    )
    parser.add_argument("--task", action="append", help="only the task with this id; repeatable")
    parser.add_argument(
        "--entry-point",
        metavar="NAME",
        help="name that the program of a single prompt must define; needed only if programs are "
        "checked later",
    )
    parser.add_argument(
        "--template",
        action="append",
        default=[],
        metavar="FILE|GLOB",
        help="also generate variants of this prompt template for each task; needed for "
        "--promptse-perturb template and both; repeatable",
    )
    parser.add_argument(
        "--distances",
        metavar="D,D,…",
        help="perturbation distances in (0, 1) (default: from the suite or ini file, else "
        "0.1,0.2,0.3)",
    )
    parser.add_argument(
        "--per-distance",
        metavar="K",
        help="variants per distance and task (default: from the suite or ini file, else 4)",
    )
    parser.add_argument(
        "--emotions",
        metavar="NAME,…",
        help="emotions of the variants (default: from the suite or ini file, else all); !NAME "
        "excludes an emotion",
    )
    parser.add_argument(
        "--exclude-emotions",
        metavar="NAME,…",
        help="emotions to exclude (default: from the suite or ini file); excluding an emotion "
        "leaves the variants with other emotions unchanged",
    )
    parser.add_argument(
        "--personalities",
        metavar="T.L.C,…",
        help="personas of the variants, such as expert.senior.logic (default: from the suite or "
        "ini file, else all 32)",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        help="seed of the variants (default: from the suite or ini file, else 0)",
    )
    parser.add_argument(
        "--rewriter",
        help=f"rewriter of the variants: {', '.join(REWRITERS)} or llm:BACKEND:NAME (default: "
        "from the suite or ini file, else rules)",
    )
    _add_library(parser)


_SETTINGS = {
    "rewriter": "rewriter",
    "distances": "distances",
    "variants": "per_distance",
    "emotions": "emotions",
    "exclude_emotions": "exclude_emotions",
    "personalities": "personalities",
    "seed": "seed",
}
"""The settings that variants depend on, and the flag for each."""


def _chosen_settings(chosen: argparse.Namespace) -> tuple[Settings, Callable[[str], str | None]]:
    """Return the settings by the flags, the suite file, the ini file and the defaults.

    The second value returns the place where a setting was given, or None if it has its default.
    """
    flags = {
        name: value
        for name, flag in _SETTINGS.items()
        if (value := getattr(chosen, flag)) is not None
    }
    place, given = "", dict[str, Any]()
    if Path(chosen.source).suffix in _YAML:
        file = _suite(chosen.source)
        place = f"{file.path}:{file.settings_line}"
        check_names(list(file.settings), marker=True, where=place)
        given = {name: file.settings[name] for name in _SETTINGS if name in file.settings}
    ini = project_file()
    layers: list[tuple[Mapping[str, Any], Callable[[str], str]]] = [
        (flags, lambda name: f"--{_SETTINGS[name].replace('_', '-')}"),
        (given, lambda name: f"{place}, {name}"),
        (ini.given("preset", *_SETTINGS), ini.place),
    ]
    return resolve(layers), lambda name: next(
        (where(name) for values, where in layers if name in values), None
    )


def _library(chosen: argparse.Namespace) -> Library:
    """Return the library with the user's folder, which a flag or the ini file names."""
    ini = project_file()
    folder, place = chosen.library_dir, "--library-dir"
    if folder is None:
        folder, place = ini.folder_of("library_dir"), ini.place("library_dir")
    return placed(place, lambda: load_library(folder))


def _suite(source: str) -> SuiteFile:
    from pytest_promptse.tasks._suitefile import load_suite  # noqa: PLC0415 - not for every source

    path = Path(source)
    if not path.is_file():
        raise _no_source(source)
    return load_suite(path)


def _no_source(source: str) -> VariantError:
    return VariantError(f"{source!r} is neither 'humaneval' nor a file; check the path")


def _tasks(chosen: argparse.Namespace) -> Sequence[Task]:
    source = chosen.source
    if source == "humaneval":
        from pytest_promptse.tasks import humaneval  # noqa: PLC0415 - needs an extra

        return tuple(humaneval.tasks(only=chosen.task))
    if source == _STDIN:
        return (_prompt_task("stdin", sys.stdin.read(), chosen.entry_point),)
    path = Path(source)
    if not path.is_file():
        raise _no_source(source)
    if path.suffix in _YAML:
        tasks = _suite(source).tasks
    else:
        text = path.read_text(encoding="utf-8-sig")
        # Other files in Python are stubs: a signature with a docstring, as HumanEval has them.
        is_test = path.suffix == ".py" and (
            _MARK in text or path.stem.startswith("test_") or path.stem.endswith("_test")
        )
        tasks = (
            tasks_of_tests(path)
            if is_test
            else (_prompt_task(path.stem, text, chosen.entry_point),)
        )
    if chosen.task is None:
        return tasks
    selected = tuple(task for task in tasks if task.id in chosen.task)
    if missing := set(chosen.task) - {task.id for task in selected}:
        raise _no_task(source, missing, (task.id for task in tasks))
    return selected


def _no_task(place: object, missing: Iterable[str], known: Iterable[str]) -> VariantError:
    names = ", ".join(sorted(missing))
    return VariantError(f"--task: {place} has no task {names}; its tasks are {', '.join(known)}")


def _prompt_task(name: str, prompt: str, entry_point: str | None) -> Task:
    from pytest_promptse.tasks._task import Task, find_entry_point  # noqa: PLC0415 - one of three

    if not prompt.strip():
        raise VariantError(f"{name}: empty; write a prompt")
    entry_point = entry_point or find_entry_point(prompt) or UNNAMED
    return Task(id=name, prompt=prompt, entry_point=entry_point)


@dataclass(frozen=True, kw_only=True)
class _Reworded:
    """A task, or a prompt template around a task, of which variants are made.

    Attributes
    ----------
    task
        The task. For a template, its sentences as one text.
    around
        The task in the template, or None for a task.
    findings
        Returns findings against a text, in addition to those of the invariance rules.
    """

    task: Task
    around: Task | None = None
    findings: Callable[[str], Iterable[Finding]] = no_findings

    @property
    def name(self) -> str:
        """Name of the task, with the name of the template if there is one."""
        around = f" around {self.around.id}" if self.around else ""
        return f"template {self.task.id}{around}" if around else self.task.id

    @property
    def within(self) -> str:
        """The prompt in the template."""
        return self.around.prompt if self.around else ""


def _reworded(chosen: argparse.Namespace) -> Iterator[_Reworded]:
    """Yield each task, and the templates around it that have a sentence to reword."""
    views = []
    if chosen.template:
        from pytest_promptse.tasks._template import load_templates  # noqa: PLC0415 - needs an extra
        from pytest_promptse.variants._templated import View  # noqa: PLC0415 - as above

        views = [View.of(template) for template in load_templates(chosen.template, Path.cwd())]
    for task in _tasks(chosen):
        yield _Reworded(task=task)
        for view in views:
            if view is not None:
                yield _Reworded(task=view.task, around=task, findings=view.findings)


def _made(chosen: argparse.Namespace) -> Iterator[tuple[_Reworded, VariantSet]]:
    """Yield tasks and templates with the variants that the arguments request."""
    library = _library(chosen)
    settings, place_of = _chosen_settings(chosen)
    check_choices(settings, library, place_of)
    rewriter = placed(
        place_of("rewriter"), lambda: extensions().rewriter(settings.rewriter, library=library)
    )
    subjects = [
        (subject, selection_of(settings, library, within=subject.within))
        for subject in _reworded(chosen)
    ]
    if rewriter.model is None:
        for subject, choice in subjects:
            yield subject, generate(subject.task, choice, rewriter=rewriter, also=subject.findings)
        return
    from pytest_promptse.run._model_variants import rewrites  # noqa: PLC0415 - only a model needs a store
    from pytest_promptse.run._writing import write_all  # noqa: PLC0415 - only a model needs a store

    wanted = [
        rewrites(
            subject.task,
            choice,
            rewriter=rewriter,
            backend=extensions().backend,
            also=subject.findings,
        )
        for subject, choice in subjects
    ]
    everything = [text for texts in wanted for text in texts]
    written = write_all(
        everything, partial(extensions().backend, rewriter.model.spec), folder=DEFAULT_STORE
    )
    sys.stdout.write(
        f"{rewriter.name}: {written.usage.requests} requests, {written.usage.prompt_tokens} tokens "
        f"in, {written.usage.completion_tokens} out; {len(everything)} of {written.n_texts} texts "
        "accepted\n"
    )
    for (subject, _), texts in zip(subjects, wanted, strict=True):
        variants = tuple(written.variants[text] for text in texts)
        rules = Counter(rule for text in texts for rule in written.rejected[text])
        yield subject, VariantSet(variants=variants, rejected=rules, snippets={})


def _make(chosen: argparse.Namespace) -> int:
    rejected: Counter[str] = Counter()
    count = 0
    n_tasks = 0
    templates = set[str]()
    for subject, made in _made(chosen):
        if subject.around is None:
            n_tasks += 1
            write(chosen.into, subject.task, made.variants)
        else:
            templates.add(subject.task.id)
            write(template_folder(chosen.into, subject.around.id), subject.task, made.variants)
        rejected.update(made.rejected)
        count += len(made.variants)
    around = f" and {_number(len(templates), 'template')} around each" if templates else ""
    made_of = f"{_number(count, 'variant')} of {_number(n_tasks, 'task')}{around}"
    sys.stdout.write(f"{made_of} in {chosen.into}\n")
    if rejected:
        sys.stdout.write(f"candidates rejected and replaced: {_counts(rejected)}\n")
    return 0


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _counts(rejected: Mapping[str, int]) -> str:
    ordered = sorted(rejected.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{rule} {count}" for rule, count in ordered)


def _show(chosen: argparse.Namespace) -> int:
    from rich.console import Console  # noqa: PLC0415 - only what is looked at needs it

    console = Console(highlight=False, soft_wrap=True)
    for subject, made in _made(chosen):
        task = subject.task
        console.rule(f"{subject.name} original")
        console.print(task.prompt, markup=False)
        for variant in made.variants:
            console.rule(f"{variant.id}  measured {variant.measured_distance:.3f}")
            shown = (
                variant.text
                if chosen.plain
                else difference(task.prompt, variant.text, context=None)
            )
            console.print(shown, markup=False)
            for line in facts(variant):
                console.print(line, markup=False, style="dim")
    return 0


def _stats(chosen: argparse.Namespace) -> int:
    measured: defaultdict[float, list[float]] = defaultdict(list)
    emotions: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    library = _library(chosen)
    for _, made in _made(chosen):
        rejected.update(made.rejected)
        for variant in made.variants:
            measured[variant.distance].append(variant.measured_distance)
            emotions[variant.emotion or variant.rewriter] += 1
    sys.stdout.write("distance  level      variants  lowest  mean   highest\n")
    for distance, values in measured.items():
        level = library.level(distance)
        sys.stdout.write(
            f"{distance:<8g}  {level.operation:<9}  {len(values):>8}  {min(values):.3f}   "
            f"{mean(values):.3f}  {max(values):.3f}\n"
        )
    sys.stdout.write(f"emotions: {_counts(emotions)}\n")
    sys.stdout.write(f"candidates rejected and replaced: {_counts(rejected) or 'none'}\n")
    return 0


def _edit(chosen: argparse.Namespace) -> int:
    n_edited = n_broken = 0
    library = _library(chosen)
    editor = _editor()
    originals = {folder: read_original(folder) for folder in folders(chosen.folder)}
    frozen = {original.task_id for original in originals.values()}
    if missing := set(chosen.task or ()) - frozen:
        raise _no_task(chosen.folder, missing, sorted(frozen))
    for folder, original in originals.items():
        if chosen.task is not None and original.task_id not in chosen.task:
            continue
        variants = [stored.variant for stored in read(folder)]
        ids = [variant.id for variant in variants]
        texts = from_text(_opened(editor, to_text(original.prompt, variants)), ids)
        changed = edited(original.prompt, variants, texts)
        count = sum(new != old for new, old in zip(changed, variants, strict=True))
        if not count:
            continue
        n_edited += count
        write_variants(folder, changed)
        for place, problem in audit(folder, library):
            if problem is not None:
                n_broken += 1
                sys.stdout.write(f"{place}: {problem}\n")
    sys.stdout.write(f"{_number(n_edited, 'variant')} edited, {n_broken} broken\n")
    return 1 if n_broken else 0


def _editor() -> list[str]:
    for name in ("VISUAL", "EDITOR"):
        if command := os.environ.get(name):
            return shlex.split(command)
    raise VariantError("no editor: set the environment variable EDITOR, as in EDITOR=nano")


def _opened(editor: Sequence[str], text: str) -> str:
    """Return `text` as the user leaves it in `editor`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "variants.txt"
        path.write_text(text, encoding="utf-8")
        try:
            subprocess.run([*editor, str(path)], check=True)  # noqa: S603 - the user's own editor
        except (OSError, subprocess.CalledProcessError) as error:
            raise VariantError(
                f"editor {shlex.join(editor)!r}: {error}; nothing was changed"
            ) from None
        return path.read_text(encoding="utf-8")


def _audit(chosen: argparse.Namespace) -> int:
    broken = count = 0
    for place, problem in audit(chosen.folder, _library(chosen)):
        count += 1
        if problem is not None:
            broken += 1
            sys.stdout.write(f"{place}: {problem}\n")
    sys.stdout.write(f"{count} variants checked, {broken} broken\n")
    return 1 if broken else 0


def _templates(chosen: argparse.Namespace) -> int:
    library = _library(chosen)
    entries = described(library, every=chosen.all)
    if chosen.name is None:
        for kind, names in entries.items():
            sys.stdout.write(f"{kind}\n")
            for name, text in names.items():
                sys.stdout.write(f"  {name:<24}{text.splitlines()[0]}\n")
        return 0
    texts = {name: text for names in entries.values() for name, text in names.items()}
    if chosen.name not in texts:
        hint = nearest(chosen.name, texts) or "; 'promptse templates' lists them"
        raise VariantError(
            f"templates: {chosen.name!r} is no emotion, trait, level or control condition{hint}"
        )
    sys.stdout.write(f"{chosen.name}\n{texts[chosen.name]}\n")
    return 0
