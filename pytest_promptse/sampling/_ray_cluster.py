"""The connection to a Ray cluster."""

from __future__ import annotations

import os
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CLIENT = "ray://"


@contextmanager
def connected(
    address: str, *, command: str, runtime_env: Mapping[str, Any] | None = None
) -> Iterator[None]:
    """Connect this process to a cluster, and disconnect at the end.

    Parameters
    ----------
    address
        ``HOST:PORT`` of the head node, ``auto`` for the cluster of this machine, or ``local`` for a
        cluster of this process alone.
    command
        The command that needs the cluster, for error messages.
    runtime_env
        The environment of the tasks:
        https://docs.ray.io/en/latest/ray-core/handling-dependencies.html

    Raises
    ------
    SettingsError
        If Ray is not installed, there is no cluster at the address, or the address is that of a Ray
        Client server.
    """
    if find_spec("ray") is None:
        raise SettingsError(
            f"{command}: the package ray is missing; run `pip install 'pytest-promptse[ray]'`"
        )
    if address.startswith(_CLIENT):
        raise SettingsError(
            f"{command} --ray {address}: a Ray Client address; run the command on a node of the "
            "cluster, for example by `ray job submit`, and name the address HOST:PORT or auto"
        )
    # Ray reads this variable on import. Otherwise it sends usage statistics to its makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray  # noqa: PLC0415 - takes seconds, and only these commands need it

    try:
        ray.init(
            address=address,
            runtime_env=dict(runtime_env or {}),
            log_to_driver=False,
            logging_level="ERROR",
        )
    except Exception as error:
        # Ray raises a plain Exception if a node that it starts is not ready within 30 s.
        if type(error) not in (ConnectionError, Exception, RuntimeError, ValueError):
            raise
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SettingsError(
            f"{command} --ray {address}: no cluster there ({reason}); start one by `ray start "
            "--head`, or name local for a cluster of this process"
        ) from None
    try:
        yield
    finally:
        ray.shutdown()
