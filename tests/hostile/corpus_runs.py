"""Judge the cases of ``everyday/`` or ``laws/`` through the public door, and compare.

The files of a folder, or a part of them, are judged by one nested pytest session with the model
``corpus:programs`` of `scripted_answers`. If an item ends the session or takes longer than
`LONGEST_ITEM`, the session is ended, the case has failed, and a new session judges the rest.

``known.json`` has the cases that are expected to fail, each with its reason. One that passes is
reported too, so the file cannot go stale. ``python corpus_runs.py everyday`` prints the results.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
SECRET = "PROMPTSE-SECRET-7331"
# Seconds and MiB of one item. Four programs may take 48 s each, and twice that on a busy machine: the
# ten times 3 s of a check, and six times 3 s for the start of its program.
LONGEST_ITEM = 400.0
LARGEST_GROWTH = 1024
# The other plugins change the order of tests, their output or their number.
OTHERS = ("cov", "django", "pytest_cov", "randomly", "rerunfailures", "timeout", "xdist")
COMPLETIONS = 4
PARTS = 8


@dataclass
class Run:
    """What the sessions reported: of each case its programs, settings and trouble."""

    programs: dict[str, list[str]] = field(default_factory=dict)
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Of each case, of each of its items: the causes of the completions in order, None for a pass.
    verdicts: dict[str, list[list[tuple[str | None, str]]]] = field(default_factory=dict)
    trouble: dict[str, list[str]] = field(default_factory=dict)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    sessions: int = 0


def key_of(node: str) -> str:
    """Return the case of an item such as ``functions.py::test_x[1-original]``."""
    path, _, rest = node.partition("::")
    names = rest.partition("[")[0].split("::")
    name = next((name for name in names if name.startswith("test")), names[0])
    return f"{Path(path).stem}.{name}"


def known_failures(folder: str) -> dict[str, str]:
    known: dict[str, str] = json.loads((HERE / "known.json").read_text())[folder]
    return known


def parts_of(folder: str) -> list[list[str]]:
    """Return the files of a folder in at most `PARTS` parts of about as many cases."""
    sizes = {
        path.name: path.read_text().count("\ndef test_") for path in (HERE / folder).glob("*.py")
    }
    parts: list[list[str]] = [[] for _ in range(PARTS)]
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        min(parts, key=lambda part: sum(sizes[other] for other in part)).append(name)
    # To a session without files, all of the folder would be given.
    return [part for part in parts if part]


def judge(folder: str, *, files: Sequence[str] = (), only: str = "") -> Run:
    """Judge all cases of a folder, or those of `files`, or those whose name contains ``only``."""
    run = Run()
    with tempfile.TemporaryDirectory(prefix="corpus-") as name:
        work = Path(name)
        os.chmod(work, 0o755)
        shutil.copytree(HERE / folder, work / "suite")
        (work / "suite" / "pytest.ini").write_text(
            "[pytest]\npython_files = *.py\nasyncio_mode = strict\n"
            "asyncio_default_fixture_loop_scope = function\n"
        )
        (work / "harm").mkdir()
        (work / "harm" / "secret.txt").write_text(SECRET)
        judged: list[str] = []
        while True:
            run.sessions += 1
            ended = _run_session(work, run, judged, files, only)
            if ended:
                return run


def _run_session(work: Path, run: Run, judged: list[str], files: Sequence[str], only: str) -> bool:
    # Judges what earlier sessions have not, and returns whether everything is judged now.
    journal = work / f"journal-{run.sessions}"
    record = work / f"record-{run.sessions}.json"
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "scripted_answers", "--tb=short"),
        *(f"-pno:{name}" for name in OTHERS),
        *("-k", f"original and {only}" if only else "original", "-p", "no:cacheprovider"),
        *("--promptse-model", "corpus:programs", "--promptse-mode", "light"),
        *("--promptse-original-samples", str(COMPLETIONS), "--promptse-record-samples", "all"),
        *("--promptse-variants", "1", "--promptse-distances", "0.3", "--promptse-emotions", "calm"),
        *("--promptse-personalities", "expert.senior.logic", "--promptse-sandbox", "bwrap"),
        *("--promptse-report", f"json:{record}", "--promptse-store", str(work / "store")),
        *(f"--deselect={node}" for node in judged),
        *files,
    ]
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")},
        "PYTHONPATH": str(HERE),
        "PROMPTSE_HARM": str(work / "harm"),
        "PROMPTSE_JOURNAL": str(journal),
        "COLUMNS": "200",
    }
    output = work / f"output-{run.sessions}"
    with output.open("wb") as stream:
        session = subprocess.Popen(
            command, cwd=work / "suite", env=environment, stdout=stream, stderr=stream,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        overdue = _wait(session, journal)
    lines = (
        [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    )
    peak = None
    under_way = None
    for line in lines:
        if line["at"] == "collected":
            run.programs |= line["programs"]
            # A file may import another one, whose cases are judged in another part.
            stems = {name.removesuffix(".py") for name in files}
            run.settings |= {
                key: settings
                for key, settings in line["settings"].items()
                if not stems or key.partition(".")[0] in stems
            }
        elif line["at"] == "start":
            under_way = line["node"]
        elif line["at"] == "failed":
            run.trouble.setdefault(key_of(line["node"]), []).append(line["why"])
        else:
            under_way = None
            judged.append(line["node"])
            key = key_of(line["node"])
            run.slowest.append((line["seconds"], key))
            if line["harm"]:
                run.trouble.setdefault(key, []).append(f"harm: {line['harm']}")
            if peak is not None and line["peak_mib"] - peak > LARGEST_GROWTH:
                grown = line["peak_mib"] - peak
                run.trouble.setdefault(key, []).append(f"pytest grew by {grown} MiB")
            peak = line["peak_mib"]
    if under_way is not None:
        judged.append(under_way)
        what = "took too long" if overdue else f"ended pytest with {session.returncode}"
        run.trouble.setdefault(key_of(under_way), []).append(what)
    if record.exists():
        _read_record(record, run)
    elif under_way is None and not any(line["at"] == "start" for line in lines) and judged:
        return True  # an earlier session had to be ended at its last item
    elif under_way is None:
        raise RuntimeError(output.read_text(errors="replace")[-3000:])
    return under_way is None


def _wait(session: subprocess.Popen[bytes], journal: Path) -> bool:
    # Ends a session whose item takes too long, and returns whether it did.
    start = time.monotonic()
    size = 0
    while session.poll() is None:
        time.sleep(0.2)
        now = journal.stat().st_size if journal.exists() else 0
        if now != size:
            size, start = now, time.monotonic()
        elif time.monotonic() - start > LONGEST_ITEM + 35 * (size == 0):
            os.killpg(session.pid, signal.SIGKILL)
            session.wait()
            return True
    return False


def _read_record(path: Path, run: Run) -> None:
    for task in json.loads(path.read_text())["tasks"]:
        original = task["original"]
        if original is None or not original.get("draws"):
            continue
        details = original["details"]
        verdicts = [
            (draw["cause"], details.get(draw["cause"] or "", "")) for draw in original["draws"]
        ]
        run.verdicts.setdefault(key_of(task["suite"]), []).append(verdicts)


def problems_of(run: Run, key: str) -> list[str]:
    """Return what is not as it should be in a case."""
    settings, trouble = run.settings[key], run.trouble.get(key, [])
    items = run.verdicts.get(key, [])
    if settings.get("may_break"):
        trouble = [
            line for line in trouble if line.startswith(("harm", "pytest grew", "took", "ended"))
        ]
        if not items and not trouble:
            return []
    if trouble or not items:
        return trouble or ["no verdict"]
    if "expect" not in settings:
        problems = [f"right program: {v[0][0]}: {v[0][1]}" for v in items if v[0][0] is not None]
        if all(v[1][0] is None for v in items):
            problems.append("the wrong program passes")
        return problems
    problems = []
    for verdicts in items:
        for number, expected in enumerate(settings["expect"]):
            cause, detail = verdicts[number]
            if (cause is None) != (expected == "pass"):
                got = "passes" if cause is None else f"fails ({cause}: {detail})"
                problems.append(f"program {number} {got}, expected {expected}")
    return problems


def differences(folder: str, run: Run) -> list[str]:
    """Return one line for each case that is not as expected, and each stale known failure."""
    files = {key.partition(".")[0] for key in run.settings}
    known = {
        key: why for key, why in known_failures(folder).items() if key.partition(".")[0] in files
    }
    lines = [
        f"{key} is in known.json and does not exist" for key in known if key not in run.settings
    ]
    for key in run.settings:
        problems = problems_of(run, key)
        if problems and key not in known:
            lines.append(f"{key}: " + "; ".join(problem[-500:] for problem in problems))
        if not problems and key in known:
            lines.append(f"{key} is in known.json, but is as it should be")
    return lines


def check_in_one_process() -> list[str]:
    """Return the everyday checks that their right program fails, or their wrong one passes."""
    with tempfile.TemporaryDirectory(prefix="corpus-") as name:
        work = Path(name)
        shutil.copytree(HERE / "everyday", work / "suite")
        journal = work / "journal"
        subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-p", "one_process", "-p", "no:promptse"),
                *(f"-pno:{plugin}" for plugin in OTHERS),
                *("-o", "python_files=*.py", "-p", "no:cacheprovider", "-W", "ignore"),
            ],
            cwd=work / "suite",
            env={
                **{k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")},
                "PYTHONPATH": str(HERE),
                "PROMPTSE_JOURNAL": str(journal),
            },
            stdout=subprocess.DEVNULL,
        )
        problems, wrong_ones = [], {}
        for line in journal.read_text().splitlines():
            if line.startswith("{"):
                continue
            outcome, node = line.split()[:2]
            key = key_of(node)
            if "wrong" in node.rpartition("[")[2]:
                wrong_ones.setdefault(key, set()).add(outcome)
            elif outcome == "failed":
                problems.append(f"{node}: the right program fails")
        return problems + [
            f"{key}: the wrong program passes"
            for key, outcomes in wrong_ones.items()
            if outcomes == {"passed"}
        ]


def main() -> None:
    folder, only = sys.argv[1], " or ".join(sys.argv[2:])
    if folder == "here":
        print("\n".join(check_in_one_process()) or "all as expected")
        return
    start = time.monotonic()
    run = judge(folder, only=f"({only})" if only else "")
    failing = 0
    for key in run.settings:
        if key in run.verdicts or key in run.trouble or not only:
            if problems := problems_of(run, key):
                failing += 1
                print(
                    f"{key}: " + "; ".join(" ".join(problem[-300:].split()) for problem in problems)
                )
    seconds = time.monotonic() - start
    if not run.settings:
        raise SystemExit(f"no case of {folder} has {only!r} in its name")
    print(f"{failing} of {len(run.settings)} failing, {run.sessions} sessions, {seconds:.0f} s")
    print("slowest:", sorted(run.slowest, reverse=True)[:8])


if __name__ == "__main__":
    main()
