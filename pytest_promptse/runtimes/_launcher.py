"""Start a program, or its compiler, inside the jail.

The text of this module is sent to the jail's interpreter, followed by a call of `launch`, so it may
use nothing but the standard library. The interpreter stays the parent of the program: the first
process of a pid namespace cannot end by a signal (pid_namespaces(7)), but an honest program may.

Only modules that every interpreter has loaded are imported: ``pathlib`` and ``shutil`` take as long
as the rest of start-up.
"""
# ruff: noqa: PTH103, PTH108, PTH109, PTH118, PTH120, PTH123, PTH211

from __future__ import annotations

import binascii
import json
import os
import sys
from typing import Any, NoReturn

FOLDER = ".program"
_NOT_STARTED = 127
_CHUNK = 1 << 16


def launch(plan: dict[str, Any]) -> NoReturn:
    """Write the files of a plan, run its command, and end with its exit status.

    Parameters
    ----------
    plan
        ``files`` by name, in base64; ``command`` with its placeholders; and ``environment``.
        Optionally ``links``, folders by name; ``collect``, the name of the result of a build, which
        is printed as JSON: files by name, in base64; and ``report``, the descriptor of the command
        whose data is printed instead of its output.
    """
    call = json.loads(sys.argv[1])
    top = os.getcwd()
    folder = f"{top}/{FOLDER}"
    for name, data in plan["files"].items():
        _write(f"{folder}/{name}", binascii.a2b_base64(data))
    for name, target in plan.get("links", {}).items():
        os.symlink(target, f"{folder}/{name}")
    for name, text in call["files"].items():
        _write(os.path.join(top, name), text.encode("utf-8", "surrogateescape"))
    input_path = f"{folder}/input"
    # The zygote adds the folder of packages at the end.
    places = {"{folder}": folder, "{input}": input_path, "{packages}": sys.path[-1]}
    words = plan["command"]
    place = words.index("{args}") if "{args}" in words else len(words)
    command = [_filled(word, places) for word in words]
    command[place : place + ("{args}" in words)] = call["args"]
    if any("{input}" in word for word in words):
        with open(input_path, "wb") as file:
            while chunk := sys.stdin.buffer.read(_CHUNK):
                file.write(chunk)
    environment = {name: _filled(value, places) for name, value in plan["environment"].items()}
    descriptors = {}
    report = -1
    if "collect" in plan:
        descriptors[1] = 2
    if "report" in plan:
        # Without a name, so that the program cannot find it.
        report = os.open(f"{folder}/report", os.O_RDWR | os.O_CREAT, 0o600)
        os.unlink(f"{folder}/report")
        descriptors |= {1: 2, plan["report"]: report}
    code = _run(command, {**os.environ, **environment, **call["env"]}, descriptors)
    if "collect" in plan and code == 0:
        sys.stdout.write(json.dumps(_collected(f"{folder}/{plan['collect']}", folder)))
    if "report" in plan:
        with open(report, "rb") as file:
            file.seek(0)
            sys.stdout.buffer.write(file.read())
    sys.stdout.flush()
    # As a shell reports a signal. os._exit, since the exit functions belong to the interpreter.
    os._exit(code if code >= 0 else 128 - code)


def _run(command: list[str], environment: dict[str, str], descriptors: dict[int, int]) -> int:
    """Run a command, and return its exit status, or minus the number of the signal that ended it.

    It has the standard descriptors, and those that are the keys of `descriptors` as copies of the
    values.
    """
    child = os.fork()
    if child == 0:
        try:
            for number, source in descriptors.items():
                os.dup2(source, number)
                os.set_inheritable(number, True)
            # With the channel, the program could end its own execution.
            os.closerange(max([2, *descriptors]) + 1, os.sysconf("SC_OPEN_MAX"))
            os.execve(command[0], command, environment)  # noqa: S606 - that is the program
        except OSError as error:
            os.write(2, f"{command[0]}: {error}\n".encode())
        os._exit(_NOT_STARTED)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def become(plan: dict[str, Any]) -> NoReturn:
    """Write the files of a plan, and replace this process by its command.

    The command serves the requests of the check on the channel, which stays open. `plan` is that of
    `launch`, without ``collect``.
    """
    folder = f"{os.getcwd()}/{FOLDER}"
    for name, data in plan["files"].items():
        _write(f"{folder}/{name}", binascii.a2b_base64(data))
    places = {"{folder}": folder, "{packages}": sys.path[-1]}
    command = [_filled(word, places) for word in plan["command"]]
    os.execve(command[0], command, {**os.environ, **plan["environment"]})  # noqa: S606 - that is the guest


def _filled(word: str, places: dict[str, str]) -> str:
    for name, value in places.items():
        word = word.replace(name, value)
    return word


def _write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    # Not by chmod, which has no effect under Landlock.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o700), "wb") as file:
        file.write(data)


def _collected(path: str, folder: str) -> dict[str, str]:
    paths = [os.path.join(top, name) for top, _, names in os.walk(path) for name in names]
    collected = {}
    for file_path in paths or [path]:
        with open(file_path, "rb") as file:
            data = binascii.b2a_base64(file.read(), newline=False).decode()
        collected[os.path.relpath(file_path, folder)] = data
    return collected
