"""The table of all options: flag, ini key, mark keyword, type, default and help."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_promptse.config import _option_types
from pytest_promptse.config._metrics import METRICS, compared_metrics
from pytest_promptse.config._option import Option, threshold_option
from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    from pytest_promptse.config._metrics import Metric


# The name of a metric becomes a part of options, node ids and keys of JSON.
_NAME = r"[a-z][a-z0-9]*(_[a-z0-9]+)*"

LANGUAGES = (
    "python",
    "javascript",
    "typescript",
    "go",
    "c",
    "cpp",
    "rust",
    "java",
    "bash",
    "ruby",
    "php",
    "sql",
)
CALLED_LANGUAGES = ("python", "javascript", "typescript")
"""The languages whose functions a check can call."""


def add_metric(metric: Metric) -> Option | None:
    """Add a metric of another package to `METRICS`, and the option of its threshold to `OPTIONS`.

    Returns
    -------
    Option, or None
        The option, or None if the metric has no gate.

    Raises
    ------
    SettingsError
        If the name cannot be used, the metric has no figure, or the name or option is taken.
    """
    if not re.fullmatch(_NAME, metric.name):
        raise SettingsError(
            f"the metric {metric.name!r}: a name has lower-case letters, digits and single "
            "underscores, such as worst_rate"
        )
    if metric.figure is None:
        raise SettingsError(
            f"the metric {metric.name!r} has no figure; give it a function of a task"
        )
    if metric.name in METRICS or metric.option in OPTIONS:
        raise SettingsError(f"there is already a metric {metric.name!r}; give yours another name")
    METRICS[metric.name] = metric
    if metric.option is None:
        return None
    OPTIONS[metric.option] = threshold_option(metric)
    return OPTIONS[metric.option]


def remove_metric(metric: Metric) -> None:
    """Remove a metric that `add_metric` added."""
    del METRICS[metric.name]
    OPTIONS.pop(metric.option or "", None)


OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option(
            "model",
            _option_types.texts,
            (),
            "model to test: tiny, openai:NAME, litellm:PROVIDER/MODEL, vllm:NAME, ct2:PATH, "
            "reference or replay:FILE.jsonl; repeatable",
            metavar="BACKEND:NAME",
            repeatable=True,
        ),
        Option(
            "require_model",
            _option_types.switch,
            False,
            "fail if promptse tests are selected but no model is given, instead of skipping these "
            "tests",
        ),
        Option(
            "base_url",
            _option_types.text,
            None,
            "address of an OpenAI-compatible server, for models of the backend openai",
            metavar="URL",
        ),
        Option(
            "header",
            _option_types.headers,
            (),
            "header to send with every request to models of the backend openai; write a secret as "
            "$VARIABLE; repeatable",
            metavar="'NAME: VALUE'",
            repeatable=True,
        ),
        Option(
            "ca_bundle",
            _option_types.text,
            None,
            "PEM file of the certificate authorities that sign the server's certificate",
            metavar="PATH",
        ),
        Option(
            "client_certificate",
            _option_types.text,
            None,
            "PEM file of the client certificate that the server requires (mutual TLS)",
            metavar="PATH",
        ),
        Option(
            "client_key",
            _option_types.text,
            None,
            "PEM file of the client certificate's key, if it is in a separate file",
            metavar="PATH",
        ),
        Option(
            "proxy",
            _option_types.text,
            None,
            "address of the proxy to the server (default: from HTTPS_PROXY, HTTP_PROXY and "
            "NO_PROXY)",
            metavar="URL",
        ),
        Option(
            "api",
            _option_types.choice("chat", "completions", "responses"),
            None,
            "API of the server: chat, completions or responses (default: detected with a first "
            "request)",
            metavar="NAME",
        ),
        Option(
            "vllm_args",
            _option_types.engine_args,
            {},
            "engine arguments for models of the backend vllm, with the names that `vllm serve` "
            "uses",
            metavar="'NAME=VALUE …'",
        ),
        Option(
            "preset",
            _option_types.choice("smoke", "ci", "paper"),
            "ci",
            "amount of sampling: smoke, ci (default) or paper",
            metavar="NAME",
        ),
        Option(
            "mode",
            _option_types.choice("auto", "promptse", "light"),
            "auto",
            "how scores are computed: promptse uses log-probabilities, light does not; auto "
            "(default) uses them if the model returns them",
            metavar="NAME",
            marker=True,
        ),
        Option(
            "weighting",
            _option_types.choice("sum", "mean", "uniform"),
            "sum",
            "weight of a sample in SoftExec: from the sum or the mean of its log-probabilities, "
            "or uniform (the same for all samples)",
            metavar="NAME",
            marker=True,
        ),
        Option(
            "samples",
            _option_types.samples,
            8,
            "number of completions per variant; auto samples the variants in rounds and stops "
            "when the gates are decided; auto:M does the same with M completions per variant",
            metavar="M|auto",
            marker=True,
        ),
        Option(
            "original_samples",
            _option_types.whole(1),
            None,
            "number of completions of the original prompt (default: 4 times the value of samples, "
            "at most 64)",
            metavar="M",
            marker=True,
        ),
        Option(
            "variants",
            _option_types.whole(1),
            4,
            "number of variants per distance and task",
            metavar="K",
            marker=True,
        ),
        Option(
            "distances",
            _option_types.distances,
            (0.1, 0.2, 0.3),
            "perturbation distances in (0, 1), in ascending order",
            metavar="D,D,…",
            marker=True,
        ),
        Option(
            "emotions",
            _option_types.names,
            None,
            "emotions of the variants (default: all); !NAME excludes an emotion",
            metavar="NAME,…",
            marker=True,
        ),
        Option(
            "exclude_emotions",
            _option_types.names,
            (),
            "emotions to exclude; excluding an emotion leaves the variants with other emotions "
            "unchanged",
            metavar="NAME,…",
            marker=True,
        ),
        Option(
            "personalities",
            _option_types.names,
            None,
            "personas of the variants, such as expert.senior.logic (default: all 32)",
            metavar="T.L.C,…",
            marker=True,
        ),
        Option(
            "temperature",
            _option_types.between(0, 2),
            0.2,
            "sampling temperature",
            metavar="T",
            marker=True,
        ),
        Option(
            "top_p",
            _option_types.between(0.01, 1),
            1.0,
            "probability mass of nucleus sampling",
            metavar="P",
            marker=True,
        ),
        Option(
            "max_tokens",
            _option_types.whole(1),
            512,
            "maximum number of tokens in a completion",
            metavar="N",
            marker=True,
        ),
        Option(
            "seed",
            _option_types.whole(0),
            0,
            "seed of variants, samples and confidence intervals",
            metavar="N",
            marker=True,
        ),
        Option(
            "rewriter",
            _option_types.text,
            "rules",
            "rewriter of the variants: rules (default), llm:BACKEND:NAME or a control condition",
            metavar="SPEC",
            marker=True,
        ),
        Option(
            "control",
            _option_types.choice("none", "neutral"),
            "none",
            "control condition to sample in addition to the variants: none (default) or neutral "
            "(text of the same length without emotion or persona)",
            metavar="NAME",
            marker=True,
        ),
        Option(
            "variant_judge",
            _option_types.text,
            None,
            "model that decides whether reworded sentences keep their meaning; used for variants "
            "that the rules did not write",
            metavar="BACKEND:NAME",
        ),
        Option(
            "variants_dir",
            _option_types.text,
            None,
            "folder of frozen variants to use instead of generating variants",
            metavar="DIR",
        ),
        Option(
            "template",
            _option_types.texts,
            (),
            "prompt template into which each task is inserted: a file, a quoted glob such as "
            "'prompts/*.j2', or shipped:NAME; every suite is run once with each template; "
            "repeatable",
            metavar="FILE|GLOB",
            marker=True,
            repeatable=True,
        ),
        Option(
            "perturb",
            _option_types.choice("task", "template", "both"),
            "task",
            "part of the prompt to reword: task (default), template or both",
            metavar="WHAT",
            marker=True,
        ),
        Option(
            "library_dir",
            _option_types.text,
            None,
            "folder of your own emotions and personas, which are added to the shipped ones",
            metavar="DIR",
        ),
        *(
            threshold_option(metric)
            for metric in METRICS.values()
            if metric.threshold_help is not None
        ),
        Option(
            "min_pass_rate",
            _option_types.between(0, 1),
            None,
            "minimum pass rate of each variant",
            metavar="X",
            marker=True,
        ),
        Option(
            "min_task_auc_e",
            _option_types.between(0, 1),
            None,
            "minimum AUC-E of each task",
            metavar="X",
            marker=True,
        ),
        Option(
            "interval",
            _option_types.choice("tasks", "tasks+emotions", "reruns"),
            "tasks",
            "what 95 %% intervals allow for: other tasks with the same emotions (tasks, default), "
            "other tasks and emotions (tasks+emotions), or only reruns of the same prompts "
            "(reruns)",
            metavar="NAME",
            marker=True,
        ),
        Option(
            "gate",
            _option_types.choice("point", "confident"),
            "confident",
            "what to compare with a threshold: the whole 95 %% interval (confident, default), or "
            "the figure alone (point)",
            metavar="NAME",
            marker=True,
        ),
        Option(
            "family_level",
            _option_types.between(0.001, 0.5),
            None,
            "maximum probability that any confident gate of the run fails by chance alone "
            "(default: 0.025 for each gate)",
            metavar="P",
        ),
        Option(
            "inconclusive",
            _option_types.choice("skip", "fail", "pass"),
            "skip",
            "outcome of an inconclusive gate: skip (default), pass or fail; the reason is always "
            "shown",
            metavar="NAME",
            marker=True,
        ),
        Option(
            "aa",
            _option_types.switch,
            False,
            "A/A run: every variant is the original prompt with a different seed",
        ),
        Option(
            "concurrency",
            _option_types.whole(1),
            None,
            "maximum number of concurrent requests (default: adapted to the server)",
            metavar="N",
        ),
        Option(
            "max_requests",
            _option_types.whole(1),
            None,
            "maximum number of requests of a run",
            metavar="N",
        ),
        Option(
            "max_cost",
            _option_types.above(0),
            None,
            "maximum cost of a run, in the currency of the price",
            metavar="X",
        ),
        Option(
            "price",
            _option_types.price,
            None,
            "prices of a million input tokens and of a million output tokens",
            metavar="INPUT,OUTPUT",
        ),
        Option(
            "sandbox",
            _option_types.choice("auto", "bwrap", "docker", "podman", "landlock", "none"),
            "auto",
            "isolation level of programs; auto (default) selects the strongest level that works "
            "on this machine",
            metavar="LEVEL",
        ),
        Option(
            "language",
            _option_types.choice(*LANGUAGES),
            None,
            "language of the programs (default: the language at the start of the prompt, else "
            "python)",
            metavar="NAME",
            marker=True,
        ),
        Option(
            "timeout",
            _option_types.above(0),
            3.0,
            "time limit of a program in seconds",
            metavar="SECONDS",
            marker=True,
        ),
        Option(
            "memory",
            _option_types.size,
            512 * 2**20,
            "memory limit of a program and its child processes",
            metavar="SIZE",
            marker=True,
        ),
        Option(
            "store",
            _option_types.text,
            ".promptse",
            "folder in which completions and verdicts are stored",
            metavar="DIR",
        ),
        Option(
            "report",
            _option_types.reports,
            (),
            "write a report: json:PATH, html:PATH, md:PATH, csv:FOLDER, latex:PATH or github; "
            "repeatable",
            metavar="KIND:PATH",
            repeatable=True,
        ),
        Option(
            "record_samples",
            _option_types.choice("outcomes", "all"),
            "outcomes",
            "what to record for each variant: its most frequent outcomes (outcomes, default), or "
            "also each completion with its log-probability (all)",
            metavar="WHICH",
        ),
        Option(
            "save",
            _option_types.baseline_name,
            None,
            "save this run as a baseline in .promptse/baselines/NAME.json",
            metavar="NAME",
        ),
        Option(
            "save_incomplete",
            _option_types.switch,
            False,
            "save a baseline even if not all variants were measured",
            flag_only=True,
        ),
        Option(
            "compare",
            _option_types.text,
            None,
            "compare this run with a baseline, or with a record file that the json report wrote",
            metavar="NAME|PATH",
        ),
        Option(
            "compare_fail",
            _option_types.margins,
            (),
            "loss of a figure, compared with the baseline, at which the run fails, such as "
            "auc_e:0.02 or auc_e:5%%; figures: "
            f"{', '.join(metric.name for metric in compared_metrics())}; "
            "elasticity is compared at every distance; repeatable",
            metavar="FIGURE:LOSS",
            repeatable=True,
        ),
        Option(
            "compare_missing",
            _option_types.choice("fail", "warn"),
            None,
            "outcome if a suite is missing from the baseline: fail (default with "
            "--promptse-compare-fail) or warn, which also allows a missing baseline",
            metavar="NAME",
        ),
        Option(
            "fresh",
            _option_types.switch,
            False,
            "request every completion again, to detect whether the model behind a name has "
            "changed; the new completions replace those in the store",
            flag_only=True,
        ),
        Option(
            "replay_only",
            _option_types.switch,
            False,
            "request nothing: tests whose completions are not in the store are skipped",
        ),
        Option(
            "max_age",
            _option_types.above(0),
            None,
            "maximum age in days of completions in the store; older completions are requested "
            "again",
            metavar="DAYS",
        ),
        Option(
            "request_timeout",
            _option_types.above(0),
            120.0,
            "time limit of one request to a server, in seconds",
            metavar="S",
        ),
        Option(
            "retries",
            _option_types.whole(0),
            5,
            "maximum number of times that a request is sent again after a temporary error",
            metavar="N",
        ),
        Option(
            "shard",
            _option_types.shard,
            None,
            "run one part of the tasks, such as 3/8; promptse merge combines the records of all "
            "parts",
            metavar="I/N",
            flag_only=True,
        ),
        Option(
            "dry_run",
            _option_types.switch,
            False,
            "print the requests that a run would send, and their cost, without sending them",
            flag_only=True,
        ),
    )
}
