"""The settings of a run. A mark overrides the command line, the ini file and the preset.

A value that cannot be used is an error before collection. The message names the place of the value.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_promptse._redaction import Secret, redact, redact_argument
from pytest_promptse._suggestions import nearest
from pytest_promptse.config._metrics import METRICS
from pytest_promptse.config._option_types import Auto
from pytest_promptse.config._options import OPTIONS
from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_promptse.config._metrics import Metric
    from pytest_promptse.config._option_types import Margin, Shard

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "smoke": {"variants": 1, "samples": 2},
    "ci": {"variants": 4, "samples": 8},
    # The PromptSE paper, sections 2.1.3 and 3.2: https://arxiv.org/abs/2509.13680
    "paper": {"variants": 30, "samples": 16, "temperature": 0.2},
}
_MOST_ORIGINAL_SAMPLES = 64


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All settings of a run or of one suite. `OPTIONS` describes each of them.

    Two fields have no option of their own. ``adaptive`` is True if ``samples`` is ``auto``, so that
    variants are sampled in rounds. ``thresholds`` has the value of each option that sets the
    threshold of a metric, by the option's name.
    """

    model: tuple[str, ...]
    require_model: bool
    base_url: str | None
    header: tuple[tuple[str, str], ...]
    ca_bundle: str | None
    client_certificate: str | None
    client_key: str | None
    proxy: str | None
    api: Literal["chat", "completions", "responses"] | None
    vllm_args: Mapping[str, str]
    preset: str
    mode: Literal["auto", "promptse", "light"]
    weighting: Literal["sum", "mean", "uniform"]
    samples: int
    adaptive: bool
    original_samples: int
    variants: int
    distances: tuple[float, ...]
    emotions: tuple[str, ...] | None
    exclude_emotions: tuple[str, ...]
    personalities: tuple[str, ...] | None
    temperature: float
    top_p: float
    max_tokens: int
    seed: int
    rewriter: str
    control: Literal["none", "neutral"]
    variant_judge: str | None
    variants_dir: str | None
    template: tuple[str, ...]
    perturb: Literal["task", "template", "both"]
    library_dir: str | None
    thresholds: Mapping[str, Any]
    min_pass_rate: float | None
    min_task_auc_e: float | None
    interval: Literal["tasks", "tasks+emotions", "reruns"]
    gate: Literal["point", "confident"]
    family_level: float | None
    inconclusive: Literal["pass", "fail", "skip"]
    aa: bool
    concurrency: int | None
    max_requests: int | None
    max_cost: float | None
    price: tuple[float, float] | None
    sandbox: str
    language: str | None
    timeout: float
    memory: int
    store: str
    report: tuple[str, ...]
    record_samples: Literal["outcomes", "all"]
    save: str | None
    save_incomplete: bool
    compare: str | None
    compare_fail: tuple[Margin, ...]
    compare_missing: Literal["fail", "warn"]
    fresh: bool
    replay_only: bool
    max_age: float | None
    request_timeout: float
    retries: int
    shard: Shard | None
    dry_run: bool

    def __post_init__(self) -> None:
        # A traceback with local variables shows the repr of settings.
        if self.base_url is not None:
            object.__setattr__(self, "base_url", Secret(self.base_url))
        if self.proxy is not None:
            object.__setattr__(self, "proxy", Secret(self.proxy))
        header = tuple((name, Secret(value)) for name, value in self.header)
        object.__setattr__(self, "header", header)

    def threshold(self, metric: Metric, distance: float | None = None) -> float | None:
        """Return the threshold of a metric, or None if it has none.

        `distance` is that of the figure if the metric has a figure for each distance.
        """
        value = None if metric.option is None else self.thresholds[metric.option]
        if metric.by_distance:
            value = (value or {}).get(distance, (value or {}).get(None))
        return None if value is None else float(value)

    def as_json_values(self) -> dict[str, Any]:
        """Return the settings as values that JSON can represent, without credentials.

        The shard is left out: the suites of all shards of a run have the same settings.
        """
        values = asdict(self)
        del values["shard"]
        if self.base_url is not None:
            values["base_url"] = redact_argument(self.base_url)
        values["header"] = [name for name, _ in self.header]
        if self.proxy is not None:
            values["proxy"] = redact_argument(self.proxy)
        values["vllm_args"] = {name: redact(value) for name, value in self.vllm_args.items()}
        for name, threshold in values.pop("thresholds").items():
            values[name] = threshold
            if isinstance(threshold, dict):
                values[name] = {
                    "*" if distance is None else f"{distance:g}": value
                    for distance, value in threshold.items()
                }
        return values


def resolve(layers: Sequence[tuple[Mapping[str, Any], Callable[[str], str]]]) -> Settings:
    """Merge layers of raw values into checked settings.

    Parameters
    ----------
    layers
        The layers, the strongest first. Each has raw values by option name, and a function that
        returns the place of an option's value, such as ``promptse_samples in pytest.ini``.

    Raises
    ------
    SettingsError
        For an unknown name or a value that cannot be used.
    """
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for raw, where in layers:
        for name, value in raw.items():
            if name in values:
                continue
            values[name] = OPTIONS[name].read(value, where(name))
            origin[name] = where(name)
    preset = PRESETS[values.get("preset", OPTIONS["preset"].default)]
    for name, value in preset.items():
        values.setdefault(name, value)
    for option in OPTIONS.values():
        values.setdefault(option.name, option.default)
    samples = values["samples"]
    values["adaptive"] = isinstance(samples, Auto)
    if isinstance(samples, Auto):
        values["samples"] = samples.samples or preset["samples"]
    if values["original_samples"] is None:
        values["original_samples"] = max(
            values["samples"], min(4 * values["samples"], _MOST_ORIGINAL_SAMPLES)
        )
    if values["compare_missing"] is None:
        values["compare_missing"] = "fail" if values["compare_fail"] else "warn"
    _check_together(values, origin)
    _check_shard(values, origin)
    _check_control(values, origin)
    thresholds = {
        metric.option: values.pop(metric.option)
        for metric in METRICS.values()
        if metric.option is not None
    }
    return Settings(**values, thresholds=thresholds)


def _check_together(values: Mapping[str, Any], origin: Mapping[str, str]) -> None:
    """Check settings that exclude or need one another.

    `values` are all settings by name, and `origin` the place where each was given, for error
    messages. SettingsError is raised.
    """
    for distance in values["min_elasticity"] or {}:
        if distance is not None and distance not in values["distances"]:
            measured = ", ".join(f"{d:g}" for d in values["distances"])
            raise SettingsError(
                f"{origin['min_elasticity']}: distance {distance:g} is not measured; "
                f"the distances are {measured}"
            )
    if values["adaptive"] and values["gate"] == "point":
        raise SettingsError(
            f"{origin['gate']}: a point gate has no interval, so {origin['samples']} auto cannot "
            "stop early; give confident, or a number of samples"
        )
    if values["adaptive"] and values["min_pass_rate"] is not None:
        raise SettingsError(
            f"{origin['min_pass_rate']}: a minimum for every variant needs all variants, and "
            f"{origin['samples']} auto may leave some out; remove the minimum, or give a number "
            "of samples"
        )
    if values["max_cost"] is not None and values["price"] is None:
        raise SettingsError(
            f"{origin['max_cost']}: {values['max_cost']:g} needs prices; "
            "add --promptse-price INPUT,OUTPUT (per million tokens)"
        )
    if values["fresh"] and values["replay_only"]:
        raise SettingsError(
            f"{origin['fresh']}: everything is requested again, while {origin['replay_only']} "
            "requests nothing; give one of them"
        )
    if values["perturb"] != "task" and not values["template"]:
        raise SettingsError(
            f"{origin['perturb']}: there is no template to reword; "
            "add --promptse-template 'prompts/*.j2'"
        )
    # An ini file may set margins for those runs that compare. On the command line, margins need a
    # baseline in the same command.
    if values["compare"] is None and origin.get("compare_fail") == OPTIONS["compare_fail"].flag:
        raise SettingsError(
            f"{origin['compare_fail']}: there is nothing to compare with; "
            "add --promptse-compare NAME"
        )


def _check_control(values: Mapping[str, Any], origin: Mapping[str, str]) -> None:
    if values["control"] != "none" and values["aa"]:
        raise SettingsError(
            f"{origin['control']}: in an A/A run every variant is the original, so there is no "
            f"added text to control for; leave out {origin['aa']}, or give control none"
        )


def _check_shard(values: Mapping[str, Any], origin: Mapping[str, str]) -> None:
    for name in ("save", "compare"):
        if values["shard"] is not None and values[name] is not None:
            raise SettingsError(
                f"{origin[name]}: the gates of a shard are open; give --{name} to promptse merge"
            )


def check_names(names: Sequence[str], *, marker: bool, where: str) -> None:
    """Check that names are settings.

    Parameters
    ----------
    names
        The names to check.
    marker
        True if the names are on a mark or in a suite file, where fewer settings are allowed.
    where
        The place of the names, for the error message.

    Raises
    ------
    SettingsError
        If a name is not a setting, or if it is a setting that a mark cannot change.
    """
    settings = [name for name, option in OPTIONS.items() if option.marker or not marker]
    for name in names:
        if name in settings:
            continue
        if name in OPTIONS:
            raise SettingsError(
                f"{where}: {name!r} concerns the whole run; give {OPTIONS[name].flag} or "
                f"{OPTIONS[name].ini} in the ini file"
            )
        raise SettingsError(f"{where}: {name!r} is not a setting{nearest(name, settings)}")
