"""The command that starts a zygote in a container of docker or podman."""

from __future__ import annotations

import shutil
import subprocess
import sys

from pytest_promptse.errors import SandboxError
from pytest_promptse.sandbox import _bootstrap
from pytest_promptse.sandbox._bridge import ARRIVE, bridge_command
from pytest_promptse.sandbox._bubblewrap import ENVIRONMENT
from pytest_promptse.sandbox._limits import MIB
from pytest_promptse.sandbox.guest.unpatched import __builtins__

_TMP = 64 * MIB
_MEMORY = 1024 * MIB
_PROCESSES = 256
_LOOK_SECONDS = 60
_FOLDER = "/promptse"
# Those of Debian and Ubuntu.
_PACKAGES = {"docker": "docker.io", "podman": "podman"}


def default_image() -> str:
    """Return the official image of this interpreter's version."""
    return f"docker.io/library/python:{sys.version_info[0]}.{sys.version_info[1]}-slim"


def container_command(engine: str, image: str) -> list[str]:
    """Return the command line for the zygote of one worker.

    `engine` is the program ``docker`` or ``podman``, and `image` the name of an image with Python.
    The container has no network and no writable folder besides ``/tmp``. Of this machine it shows
    one folder, which is empty when programs run.
    """
    command = [engine, "run", "--rm", "--init=false", "--network", "none"]
    tmpfs = f"/tmp:rw,nosuid,nodev,size={_TMP},mode=1777"  # noqa: S108 - the container's
    command += ["--read-only", "--tmpfs", tmpfs]
    command += ["--security-opt", "no-new-privileges", "--cap-drop", "ALL"]
    # SELinux would keep the container from the socket in the folder.
    command += ["--security-opt", "label=disable", "--volume", f"{{folder}}:{_FOLDER}:ro"]
    # Capabilities of the zygote alone: to become another user, and to end a program and remove its
    # files.
    for capability in ("SETUID", "SETGID", "KILL", "DAC_OVERRIDE"):
        command += ["--cap-add", capability]
    command += ["--pids-limit", str(_PROCESSES), "--memory", str(_MEMORY), "--workdir", "/tmp"]  # noqa: S108
    command += ["--ulimit", "nofile=1024:4096", "--ulimit", "core=0:0"]
    for name, value in ENVIRONMENT.items():
        command += ["--env", f"{name}={value}"]
    command += [image, "python3", "-I", "-S", "-B", "-c", ARRIVE, _FOLDER, _bootstrap.COMMAND]
    return bridge_command(command)


def find_engine(name: str, image: str) -> str:
    """Return the path of the engine's executable.

    Raises
    ------
    SandboxError
        If the engine is not installed, does not run, or lacks the image.
    """
    path = shutil.which(name)
    if path is None:
        raise SandboxError(f"{name} is not installed: apt-get install {_PACKAGES[name]}")
    look = [path, "image", "inspect", "--format", "{{.Id}}", image]
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            look, capture_output=True, text=True, timeout=_LOOK_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise SandboxError(f"{name} does not answer within {_LOOK_SECONDS} s") from None
    if done.returncode != 0:
        output = (done.stderr.strip().splitlines() or ["no word"])[-1]
        if "Cannot connect" in output:
            raise SandboxError(f"{name} does not run ({output}): sudo systemctl start {name}")
        raise SandboxError(f"{name} has no image {image} ({output}): {name} pull {image}")
    return path
