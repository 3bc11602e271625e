"""Backends, rewriters and reports by name; those of other packages come before the built-in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_promptse._destinations import why_unwritable
from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import SettingsError
from pytest_promptse.models._gateway import Gateway
from pytest_promptse.models._registry import ModelOptions, create_backend
from pytest_promptse.reports._writers import FOLDERS, GITHUB_SUMMARY, KINDS, writer_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pluggy

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.models._base import Backend
    from pytest_promptse.record._schema import Record
    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants._rewriter import Rewriter


@dataclass(frozen=True)
class Extensions:
    """What other packages add through ``hook``, and what is built in."""

    hook: pluggy.HookRelay

    def names(self, kind: Literal["backend", "rewriter", "report"]) -> list[str]:
        """Return the names that other packages add, for the lists in error messages."""
        return [name for added in self.hook.pytest_promptse_names(kind=kind) for name in added]

    def offered_backend(self, spec: str, options: ModelOptions) -> Backend | None:
        """Return the backend that another package has for a ``BACKEND:NAME``, or None."""
        name, _, model = spec.partition(":")
        backend: Backend | None = self.hook.pytest_promptse_backend(
            name=name, model=model, options=options
        )
        return backend

    def backend(self, spec: str, options: ModelOptions | None = None) -> Backend:
        """Return the backend of a ``BACKEND:NAME``, not yet started.

        Raises
        ------
        SettingsError
            If there is no such backend, or a package is missing.
        """
        options = options or ModelOptions()
        return self.offered_backend(spec, options) or create_backend(
            spec, options, also=self.names("backend")
        )

    def rewriter(
        self, spec: str, *, library: Library, backend: Callable[[str], Backend] | None = None
    ) -> Rewriter:
        """Return the rewriter of a name.

        Parameters
        ----------
        spec, library
            The name, and the library of emotions and personas.
        backend
            Returns the backend of a ``BACKEND:NAME``; by default `backend` with default options.

        Raises
        ------
        VariantError
            If there is no such rewriter.
        """
        from pytest_promptse.variants._registry import create_rewriter  # noqa: PLC0415 - PyYAML

        return create_rewriter(
            spec,
            backend=backend or self.backend,
            library=library,
            offered=self.hook.pytest_promptse_rewriter(spec=spec),
            also=self.names("rewriter"),
        )

    def check_report(self, target: str, *, where: str, folder: Path) -> None:
        """Check that a ``KIND:PATH``, given at `where` and relative to `folder`, can be written.

        Raises
        ------
        SettingsError
            If there is no such kind, a file cannot be written at the path, or the kind is
            ``github`` outside GitHub Actions. The message begins with `where` and the target.
        """
        kind, _, name = target.partition(":")
        is_built_in = self.hook.pytest_promptse_report(kind=kind) is None
        if kind not in KINDS and is_built_in:
            kinds = [*KINDS, *self.names("report")]
            raise SettingsError(
                f"{where} {target}: there is no report {kind!r}{nearest(kind, kinds)}; "
                f"there are {', '.join(kinds)}"
            )
        if kind == "github" and is_built_in and not os.environ.get(GITHUB_SUMMARY):
            raise SettingsError(
                f"{where} {target}: {GITHUB_SUMMARY} is not set, so this is not a job of GitHub "
                "Actions; give md:PATH elsewhere"
            )
        is_folder = kind in FOLDERS if kind in KINDS else None
        if name and (reason := why_unwritable(folder / name, folder=is_folder)):
            raise SettingsError(f"{where} {target}: {reason}; give another path")

    def write_report(self, record: Record, target: str, *, folder: Path) -> None:
        """Write a record to a ``KIND:PATH`` that was checked before, relative to `folder`.

        Raises
        ------
        RecordError, SettingsError
            If the file cannot be written, or a package for the report is missing.
        """
        kind, _, name = target.partition(":")
        path = folder / name
        write = self.hook.pytest_promptse_report(kind=kind)
        if write is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        (write or writer_of(kind))(record, path)


def model_options(settings: Settings) -> ModelOptions:
    """Return the settings that a backend needs."""
    return ModelOptions(
        base_url=settings.base_url,
        api=settings.api,
        timeout=settings.request_timeout,
        gateway=Gateway(
            headers=settings.header,
            ca_bundle=settings.ca_bundle,
            client_certificate=settings.client_certificate,
            client_key=settings.client_key,
            proxy=settings.proxy,
        ),
        vllm_args=settings.vllm_args,
    )
