"""Checks before collection: what the settings name exists, can be used, or can be written.

A mistake that can be known before the first request is told before it. A session with settings but
without promptse tests imports this module, so it imports only what the settings need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.config._option import placed
from pytest_promptse.errors import SettingsError, VariantError
from pytest_promptse.variants._choices import CHOICES, check_choices

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.models._base import Backend
    from pytest_promptse.plugin._invocation import GivenSettings
    from pytest_promptse.variants._library import Library

_VLLM_LIBRARIES = ("torch", "vllm", "transformers", "huggingface_hub", "tokenizers")


def check_settings(config: pytest.Config, given: GivenSettings) -> None:
    """Raise PromptseError for settings that cannot be used.

    Models, reports, baselines, templates and the choice of variants are checked. Warnings that
    vLLM's libraries are known to issue are ignored if a model needs them.

    Parameters
    ----------
    config
        The configuration of the session.
    given
        The settings of the session.
    """
    settings = given.settings
    for spec in settings.model:
        _check_model(config, settings, spec)
        if spec.startswith("vllm:"):
            # These libraries issue warnings while an engine is loaded in a thread. If the project
            # turns warnings into errors, that would end the load.
            for library in _VLLM_LIBRARIES:
                config.addinivalue_line("filterwarnings", rf"ignore:::{library}(\.|\Z)")
    for report in settings.report:
        _check_report(config, report, where=given.place_of("report") or "report")
    _check_baselines(config, given)
    if settings.template:
        place = given.place_of("template")
        placed(place, lambda: _check_templates(config, settings))
    if settings.model:
        _check_variants(config, given)


def _check_model(config: pytest.Config, settings: Settings, spec: str) -> None:
    from pytest_promptse.models._registry import BACKENDS, split_spec
    from pytest_promptse.run._extensions import Extensions, model_options

    name = spec.partition(":")[0]
    added = Extensions(config.hook)
    if name in BACKENDS or added.offered_backend(spec, model_options(settings)) is None:
        try:
            split_spec(spec, also=added.names("backend"))
        except SettingsError as error:
            unread = None if name in BACKENDS else _unread_conftest(config, "backend")
            if unread is None:
                raise
            raise SettingsError(
                f"{error}. {unread} defines a backend, and pytest has not read it yet; move the "
                f"hook to {config.rootpath / 'conftest.py'}, or run pytest {unread.parent}"
            ) from None


def _unread_conftest(config: pytest.Config, kind: str) -> Path | None:
    """Return a ``conftest.py`` with a backend or rewriter, read only while pytest collects."""
    for path in sorted(config.rootpath.glob("**/conftest.py")):
        hidden = any(part.startswith(".") for part in path.relative_to(config.rootpath).parts)
        if not hidden and f"def pytest_promptse_{kind}" in path.read_text("utf-8", "ignore"):
            return path.relative_to(config.rootpath)
    return None


def _checked_backend(config: pytest.Config, settings: Settings, spec: str) -> Backend:
    """Return the backend of a model that writes or judges variants, with its files read."""
    from pytest_promptse.run._extensions import Extensions, model_options

    _check_model(config, settings, spec)
    backend = Extensions(config.hook).backend(spec, model_options(settings))
    backend.identity  # noqa: B018 - reads the model's files
    return backend


def _check_variants(config: pytest.Config, given: GivenSettings) -> None:
    """Raise SettingsError for a choice of variants that no task can have."""
    settings, place_of = given.settings, given.place_of
    if (place := place_of("variants_dir")) is not None:
        folder = config.rootpath / str(settings.variants_dir)
        if not folder.is_dir():
            raise SettingsError(
                f"{place}: {str(folder)!r} is not a folder; make it with: promptse variants freeze"
            )
    if (place := place_of("variant_judge")) is not None:
        judge = str(settings.variant_judge)
        placed(place, lambda: _checked_backend(config, settings, judge))
    if not any(place_of(name) for name in ("library_dir", "rewriter", *CHOICES)):
        return
    from pytest_promptse.variants._library_files import load_library

    library_dir = settings.library_dir and config.rootpath / settings.library_dir
    library = placed(place_of("library_dir"), lambda: load_library(library_dir or None))
    check_choices(settings, library, place_of)
    if (place := place_of("rewriter")) is not None:
        placed(place, lambda: _check_rewriter(config, settings, library))


def _check_rewriter(config: pytest.Config, settings: Settings, library: Library) -> None:
    from pytest_promptse.run._extensions import Extensions

    try:
        rewriter = Extensions(config.hook).rewriter(
            settings.rewriter,
            library=library,
            backend=lambda spec: _checked_backend(config, settings, spec),
        )
    except VariantError:
        if _unread_conftest(config, "rewriter") is None:
            raise
    else:
        if rewriter.model is not None:
            _checked_backend(config, settings, rewriter.model.spec)


def _check_report(config: pytest.Config, report: str, *, where: str) -> None:
    from pytest_promptse.run._extensions import Extensions

    folder = config.invocation_params.dir
    Extensions(config.hook).check_report(report, where=where, folder=folder)
    if report.partition(":")[0] == "html" and not config.hook.pytest_promptse_report(kind="html"):
        from pytest_promptse.reports.html._html import check_installed

        check_installed()


def _check_baselines(config: pytest.Config, given: GivenSettings) -> None:
    """Raise an error if the baseline to compare with, or the place to save one, cannot be used.

    A baseline that does not exist may be allowed, for the first run of a project. Without a model
    nothing is compared.
    """
    settings = given.settings
    if settings.compare is None and settings.save is None:
        return
    from pytest_promptse.compare._baseline import Baselines

    baselines = Baselines(config.rootpath, here=config.invocation_params.dir)
    if settings.save is not None:
        baselines.check_writable(settings.save, where=str(given.place_of("save")))
    if settings.compare is not None:
        is_allowed = given.place_of("compare_missing") and settings.compare_missing == "warn"
        is_first = settings.save == settings.compare
        baselines.check_comparable(
            settings.compare,
            where=str(given.place_of("compare")),
            allow="--promptse-compare-missing warn",
            may_be_missing=bool(is_allowed or is_first or not settings.model),
        )


def _check_templates(config: pytest.Config, settings: Settings) -> None:
    for argument in config.args:
        if argument.endswith((".j2", ".jinja", ".jinja2")):
            raise SettingsError(
                f"{argument} is a prompt template, not a test; quote the pattern so that the "
                "shell does not expand it, as in --promptse-template 'prompts/*.j2'"
            )
    from pytest_promptse.tasks._template import load_templates

    load_templates(settings.template, config.rootpath)
