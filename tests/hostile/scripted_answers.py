"""A pytest plugin: cases with fixed programs, and a model that answers with them.

A file of ``everyday/`` or ``laws/`` is a file of pytest tests. A decorator of this module gives a
test the mark and its programs; the backend ``corpus`` returns them in order, one per completion.
``PROMPTSE_HARM`` names a folder with a secret, which stands for the host. ``PROMPTSE_JOURNAL``
names a file to which each item writes how it began and ended.
"""

from __future__ import annotations

import json
import os
import re
import resource
import time
from pathlib import Path

import pytest

from pytest_promptse.models import Capabilities, Completion, Response, Usage

HARM = Path(os.environ.get("PROMPTSE_HARM", "/nonexistent"))
SECRET = "PROMPTSE-SECRET-7331"
COMPLETIONS = 4
# Of each case, by its key: the programs in the order of the completions.
PROGRAMS: dict[str, tuple[str, ...]] = {}
SETTINGS: dict[str, dict] = {}


def _marked(entry_point, programs, settings, language="python"):
    def mark(test):
        key = f"{test.__module__.rpartition('.')[2]}.{test.__name__}"
        assert key not in PROGRAMS, f"{key} is defined twice"
        assert len(programs) <= COMPLETIONS, f"{key} has more programs than are requested"
        PROGRAMS[key] = tuple(program.replace("/HARM", str(HARM)) for program in programs)
        SETTINGS[key] = settings | {"entry_point": entry_point, "language": language}
        prompt = f"Write `{entry_point}` as the case `{key}` says."
        return pytest.mark.promptse(prompt, entry_point=entry_point, language=language)(test)

    return mark


def answers(entry_point, *, right, wrong, jail_only=False):
    """Mark an honest check, which a right program passes and a wrong program fails.

    ``jail_only`` is for a check of what only the plugin's ``candidate`` offers.
    """
    return _marked(entry_point, (right, wrong), {"jail_only": jail_only})


def attack(law, *hostile, entry_point="f", wrong=(), honest=(), may_break=False, language="python"):
    """Mark a check that hostile programs attack, with the law (1 to 6) that should hold.

    The hostile programs come first. The wrong and the honest programs are judged after them, in the
    same session. ``may_break`` allows that the check is broken, where it lends what cannot be lent.
    """
    wrong = (wrong,) if isinstance(wrong, str) else wrong
    honest = (honest,) if isinstance(honest, str) else honest
    settings = {
        "law": law,
        "expect": ["fail"] * (len(hostile) + len(wrong)) + ["pass"] * len(honest),
        "may_break": may_break,
    }
    return _marked(entry_point, (*hostile, *wrong, *honest), settings, language)


class CorpusBackend:
    concurrency = 8
    spec = "corpus:programs"
    identity = {"backend": "corpus"}

    async def start(self):
        return Capabilities(form="chat", logprobs=None, seeded=False, refused=())

    async def complete(self, request):
        key = re.search("case `(.+?)`", request.prompt.user)[1]
        programs, language = PROGRAMS[key], SETTINGS[key]["language"]
        numbers = range(request.first, request.first + request.n)
        texts = [f"```{language}\n{programs[i % len(programs)].strip()}\n```" for i in numbers]
        completions = [Completion(index=i, text=t) for i, t in zip(numbers, texts, strict=True)]
        return Response(completions=tuple(completions), usage=Usage(requests=1))

    async def close(self):
        pass


def pytest_promptse_backend(name, model):
    return CorpusBackend() if name == "corpus" else None


def pytest_promptse_names(kind):
    return ["corpus"] if kind == "backend" else None


def _state_of_the_host():
    files = (path for path in sorted(HARM.rglob("*")) if path.is_file())
    return [(str(path), path.read_bytes()[:200].decode("utf-8", "replace")) for path in files]


def _write(**line):
    if journal := os.environ.get("PROMPTSE_JOURNAL"):
        with open(journal, "a") as file:
            file.write(json.dumps(line) + "\n")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    before = _state_of_the_host()
    start = time.monotonic()
    _write(node=item.nodeid, at="start")
    yield
    after = _state_of_the_host()
    _write(
        node=item.nodeid,
        at="end",
        seconds=round(time.monotonic() - start, 2),
        peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        harm=[list(state) for state in after if state not in before]
        + [f"{path} is gone" for path, _ in before if path not in dict(after)],
    )


def pytest_runtest_logreport(report):
    if report.failed:
        _write(node=report.nodeid, at="failed", why=str(report.longrepr)[-600:])


def pytest_collection_finish(session):
    _write(at="collected", programs=PROGRAMS, settings=SETTINGS)
