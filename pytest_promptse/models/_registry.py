"""The built-in backends by name. Each imports its packages only when it is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_promptse._suggestions import nearest
from pytest_promptse.errors import SettingsError
from pytest_promptse.models._gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_promptse.models._base import Backend


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Options of a model in addition to its name.

    Parameters
    ----------
    base_url
        Address of an OpenAI-compatible server, for example ``http://localhost:8000/v1``. None
        selects the address of OpenAI or of the provider. Of the built-in backends, only ``openai``
        and ``litellm`` use this address.
    api
        The API of the server, or None to detect the API. ``ct2`` and ``tiny`` ignore this option
        and follow the chat template of the model.
    timeout
        Time limit of one request to a server, in seconds.
    gateway
        Headers, certificates and proxy for requests of ``openai``.
    vllm_args
        Engine arguments for ``vllm``: options of ``vllm serve`` without the dashes.
    """

    base_url: str | None = None
    api: Literal["chat", "completions", "responses"] | None = None
    timeout: float = 120.0
    gateway: Gateway = field(default_factory=Gateway)
    vllm_args: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BackendKind:
    """A built-in backend.

    Attributes
    ----------
    make
        Function that creates the backend from spec, name and options.
    name_of
        The placeholder for the part after the colon, for example ``MODEL``. Empty if there is none.
    extra, modules
        The optional dependency and the modules that it installs.
    """

    make: Callable[[str, str, ModelOptions], Backend]
    name_of: str = ""
    extra: str = ""
    modules: tuple[str, ...] = ()


def _tiny(_spec: str, _name: str, _options: ModelOptions) -> Backend:
    from pytest_promptse.models._ct2 import tiny_backend

    return tiny_backend()


def _ct2(spec: str, name: str, _options: ModelOptions) -> Backend:
    from pytest_promptse.models._ct2 import Ct2Backend

    return Ct2Backend(spec, Path(name))


def _openai(spec: str, name: str, options: ModelOptions) -> Backend:
    from pytest_promptse.models._openai import OpenAIBackend

    return OpenAIBackend(
        spec,
        name,
        base_url=options.base_url,
        api=options.api,
        timeout=options.timeout,
        gateway=options.gateway,
    )


def _litellm(spec: str, name: str, options: ModelOptions) -> Backend:
    from pytest_promptse.models._litellm import LitellmBackend

    return LitellmBackend(spec, name, base_url=options.base_url, timeout=options.timeout)


def _vllm(spec: str, name: str, options: ModelOptions) -> Backend:
    from pytest_promptse.models._vllm import VllmBackend

    return VllmBackend(spec, name, api=options.api, engine_args=options.vllm_args)


def _reference(_spec: str, _name: str, _options: ModelOptions) -> Backend:
    from pytest_promptse.models._reference import ReferenceBackend

    return ReferenceBackend()


def _replay(spec: str, name: str, _options: ModelOptions) -> Backend:
    from pytest_promptse.models._replay import ReplayBackend

    return ReplayBackend(spec, Path(name))


_CT2_MODULES = ("ctranslate2", "tokenizers", "jinja2")
BACKENDS: Mapping[str, BackendKind] = {
    "tiny": BackendKind(make=_tiny, extra="tiny", modules=_CT2_MODULES),
    "openai": BackendKind(make=_openai, name_of="MODEL", extra="openai", modules=("openai",)),
    "vllm": BackendKind(make=_vllm, name_of="MODEL-OR-PATH", extra="vllm", modules=("vllm",)),
    "litellm": BackendKind(
        make=_litellm, name_of="PROVIDER/MODEL", extra="litellm", modules=("litellm",)
    ),
    "ct2": BackendKind(make=_ct2, name_of="PATH", extra="tiny", modules=_CT2_MODULES),
    "reference": BackendKind(make=_reference),
    "replay": BackendKind(make=_replay, name_of="FILE.jsonl"),
}


def split_spec(spec: str, *, also: Sequence[str] = ()) -> tuple[str, str]:
    """Return the backend and the name in `spec`.

    Parameters
    ----------
    spec
        ``BACKEND:NAME`` of a built-in backend.
    also
        Names of other backends, for the message of the error.

    Raises
    ------
    SettingsError
        If the backend is unknown, or the name is missing or not allowed.

    Examples
    --------
    >>> split_spec("openai:gpt-4.1-mini")
    ('openai', 'gpt-4.1-mini')
    >>> split_spec("tiny")
    ('tiny', '')
    """
    backend, colon, name = spec.partition(":")
    kind = BACKENDS.get(backend)
    if kind is None:
        names = [*BACKENDS, *also]
        raise SettingsError(
            f"model {spec!r}: there is no backend {backend!r}{nearest(backend, names)}; "
            f"give BACKEND:NAME with one of {', '.join(names)}"
        )
    if kind.name_of and not name:
        raise SettingsError(f"model {spec!r}: add the name: {backend}:{kind.name_of}")
    if colon and not kind.name_of:
        raise SettingsError(f"model {spec!r}: {backend} takes no name; give {backend!r} alone")
    return backend, name


def create_backend(
    spec: str, options: ModelOptions | None = None, *, also: Sequence[str] = ()
) -> Backend:
    """Return the backend that `spec` names, not yet started.

    Parameters
    ----------
    spec
        ``BACKEND:NAME`` of a built-in backend.
    options
        Further options of the model; None for the defaults.
    also
        As in `split_spec`.

    Raises
    ------
    SettingsError
        If `spec` is invalid or a package is missing. The message names the package to install.
    """
    options = options if options is not None else ModelOptions()
    backend, name = split_spec(spec, also=also)
    kind = BACKENDS[backend]
    for module in kind.modules:
        if find_spec(module) is None:
            raise SettingsError(
                f"model {spec!r} needs the package {module}; "
                f"run `pip install 'pytest-promptse[{kind.extra}]'`"
            )
    return kind.make(spec, name, options)
