"""Backends and rewriters by name: those of other packages come before the built-in ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_promptse.models._gateway import Gateway
from pytest_promptse.models._registry import ModelOptions, create_backend

if TYPE_CHECKING:
    from collections.abc import Callable

    import pluggy

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.models._base import Backend
    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants._rewriter import Rewriter


@dataclass(frozen=True)
class Extensions:
    """What other packages add through ``hook``, and the built-in backends and rewriters."""

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
