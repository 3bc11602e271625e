"""Backends and rewriters of a session: those of other plugins come before the built-in ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.models._gateway import Gateway
from pytest_promptse.models._registry import ModelOptions, create_backend
from pytest_promptse.plugin._invocation import names_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from pytest_promptse.config._settings import Settings
    from pytest_promptse.models._base import Backend
    from pytest_promptse.variants._library import Library
    from pytest_promptse.variants._rewriter import Rewriter


def offered_backend(config: pytest.Config, settings: Settings, spec: str) -> Backend | None:
    """Return the backend that another plugin has for a ``BACKEND:NAME``, or None."""
    name, _, model = spec.partition(":")
    backend: Backend | None = config.hook.pytest_promptse_backend(
        name=name, model=model, options=_options(settings)
    )
    return backend


def backend_named(config: pytest.Config, settings: Settings, spec: str) -> Backend:
    """Return the backend of a ``BACKEND:NAME``, not yet started.

    Raises
    ------
    SettingsError
        If there is no such backend, or a package is missing.
    """
    return offered_backend(config, settings, spec) or create_backend(
        spec, _options(settings), also=names_of(config, "backend")
    )


def rewriter_named(
    config: pytest.Config, spec: str, *, library: Library, backend: Callable[[str], Backend]
) -> Rewriter:
    """Return the rewriter of a name.

    Parameters
    ----------
    config, spec, library
        The session, the name, and the library of emotions and personas.
    backend
        Returns the backend of a ``BACKEND:NAME``.

    Raises
    ------
    VariantError
        If there is no such rewriter.
    """
    from pytest_promptse.variants._registry import create_rewriter  # noqa: PLC0415 - PyYAML

    return create_rewriter(
        spec,
        backend=backend,
        library=library,
        offered=config.hook.pytest_promptse_rewriter(spec=spec),
        also=names_of(config, "rewriter"),
    )


def _options(settings: Settings) -> ModelOptions:
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
