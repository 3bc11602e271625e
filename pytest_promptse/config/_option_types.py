"""Read the values of settings, from text or from Python objects.

Each parser returns the value, or raises ValueError or TypeError. The message is the end of a
sentence, such as "not a number"; the caller puts the name of the option before it.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pytest_promptse._suggestions import nearest
from pytest_promptse.config._metrics import compared_metrics

if TYPE_CHECKING:
    from collections.abc import Callable

Parse: TypeAlias = "Callable[[Any], Any]"

_MIB = 2**20
_PERCENT = 100.0


class Margin(NamedTuple):
    """A loss against the baseline that fails a run.

    Attributes
    ----------
    metric
        The name of a metric, see `config._metrics`.
    loss
        The smallest loss that does not pass, in (0, 1]: in units of the figure, or as a share of
        the baseline's figure if `relative`.
    relative
        True if `loss` is a share of the baseline's figure.
    """

    metric: str
    loss: float
    relative: bool = False


def number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError("not a number")
    return float(value)


def whole(low: int) -> Parse:
    def parse(value: object) -> int:
        given = number(value)
        if given != int(given) or given < low:
            raise ValueError(f"not a whole number of at least {low}")
        return int(given)

    return parse


class Auto(NamedTuple):
    """Sample variants in rounds with `samples` completions each; None means the preset's number."""

    samples: int | None


def samples(value: object) -> int | Auto:
    """Read ``16``, ``auto`` or ``auto:16``."""
    if isinstance(value, str):
        word, colon, most = value.strip().partition(":")
        if word == "auto":
            return Auto(whole(1)(most) if colon else None)
        if word.isalpha():
            raise ValueError(f"not a number, nor auto{nearest(word, ('auto',))}")
    count: int = whole(1)(value)
    return count


def between(low: float, high: float) -> Parse:
    def parse(value: object) -> float:
        given = number(value)
        if not low <= given <= high:
            raise ValueError(f"not in [{low:g}, {high:g}]")
        return given

    return parse


def above(low: float) -> Parse:
    def parse(value: object) -> float:
        given = number(value)
        if not given > low:
            raise ValueError(f"not above {low:g}")
        return given

    return parse


def choice(*choices: str) -> Parse:
    def parse(value: object) -> str:
        if value not in choices:
            hint = nearest(str(value), choices)
            raise ValueError(f"not one of {', '.join(choices)}{hint}")
        return str(value)

    return parse


def switch(value: object) -> bool:
    if isinstance(value, bool):
        return value
    words = {"true": True, "yes": True, "on": True, "1": True}
    words |= {"false": False, "no": False, "off": False, "0": False}
    if str(value).lower() not in words:
        raise ValueError("not true or false")
    return words[str(value).lower()]


def text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("empty")
    return value.strip()


def items(value: object) -> tuple[str, ...]:
    """Split ``"a, b"``, ``"a b"`` or any sequence into its parts."""
    if isinstance(value, str):
        return tuple(part for part in re.split(r"[,\s]+", value) if part)
    if isinstance(value, int | float):
        return (str(value),)
    if isinstance(value, list | tuple):
        return tuple(str(part).strip() for part in value)
    raise ValueError("not a list")


def texts(value: object) -> tuple[str, ...]:
    """Return the values of a repeatable option, which may contain commas and spaces."""
    if isinstance(value, str):
        return (text(value),)
    if isinstance(value, list | tuple):
        return tuple(text(part) for part in value)
    raise ValueError("not a list")


def distances(value: object) -> tuple[float, ...]:
    parts = tuple(between(0.0, 1.0)(part) for part in items(value))
    if not parts:
        raise ValueError("empty; give for example 0.1,0.2,0.3")
    if any(part in (0.0, 1.0) for part in parts):
        raise ValueError("not strictly between 0 and 1; the original is always measured")
    if len(set(parts)) < len(parts):
        raise ValueError("the same distance twice; give each once")
    if list(parts) != sorted(parts):
        raise ValueError("not sorted; give " + ",".join(f"{part:g}" for part in sorted(parts)))
    return parts


def names(value: object) -> tuple[str, ...]:
    parts = items(value)
    if not parts:
        raise ValueError("empty; leave the setting out for all")
    return tuple(text(part) for part in parts)


def elasticities(value: object) -> dict[float | None, float]:
    """Parse minimum elasticities: ``0.8`` for all distances, or ``0.1=0.9,0.3=0.7``.

    Returns
    -------
    dict
        The minimum elasticity in [0, 1] by distance. The key None stands for all other distances.

    Raises
    ------
    ValueError
        If `value` is empty, or a part is not a number or is out of range.
    """
    if isinstance(value, dict):
        return {float(d): between(0.0, 1.0)(floor) for d, floor in value.items()}
    floors: dict[float | None, float] = {}
    for part in items(value):
        distance, equals, floor = part.rpartition("=")
        floors[float(distance) if equals else None] = between(0.0, 1.0)(floor)
    if not floors:
        raise ValueError("empty; give 0.8 or 0.3=0.7")
    return floors


def price(value: object) -> tuple[float, float]:
    parts = items(value)
    if len(parts) != len(("input", "output")):
        raise ValueError("not two prices; give INPUT,OUTPUT per million tokens, as in 0.4,1.6")
    below_zero = between(0.0, float("inf"))
    return below_zero(parts[0]), below_zero(parts[1])


def engine_args(value: object) -> dict[str, str]:
    """Read ``"max-model-len=1024 enforce-eager"``, quoted as in a shell, with dashes or without."""
    if isinstance(value, dict):
        return {str(name): str(given) for name, given in value.items()}
    parts = [part.lstrip("-").partition("=") for part in shlex.split(text(value))]
    if any(not name for name, _, _ in parts):
        raise ValueError("not a list of arguments; give NAME=VALUE, separated by spaces")
    return {name: given for name, _, given in parts}


# Every pytest session imports this module, so no pattern is compiled before it is used.
_HEADER_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"


def headers(value: object) -> tuple[tuple[str, str], ...]:
    """Read ``"NAME: VALUE"``, or several of these. The names are tokens of RFC 9110."""
    parts = [part.partition(":") for part in texts(value)]
    for name, colon, given in parts:
        if not (colon and re.fullmatch(_HEADER_NAME, name.strip()) and given.strip()):
            raise ValueError("not a header; give NAME: VALUE, with a secret as $VARIABLE")
    return tuple((name.strip(), given.strip()) for name, _, given in parts)


_SIZE = r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[kmg]?)i?b?"


def size(value: object) -> int:
    """Read ``512MiB``, ``1g`` or a plain number of MiB."""
    match = re.fullmatch(_SIZE, str(value).strip(), re.IGNORECASE)
    if not match:
        raise ValueError("not a size; give for example 512MiB")
    unit = {"k": 2**10, "m": _MIB, "g": 2**30, "": _MIB}[match["unit"].lower()]
    size = int(float(match["number"]) * unit)
    if size < 64 * _MIB:
        raise ValueError("under 64 MiB, which is too little for a Python interpreter")
    return size


def reports(value: object) -> tuple[str, ...]:
    chosen = texts(value)
    for report in chosen:
        kind, _, path = report.partition(":")
        if kind == "github":
            if path:
                raise ValueError("names a file, but GitHub sets the file; give github")
        elif not (kind and path):
            raise ValueError(f"names no file; give {kind or 'json'}:PATH")
    paths = [report.partition(":")[2] for report in chosen if report != "github"]
    if twice := [path for path in paths if paths.count(path) > 1]:
        raise ValueError(f"two reports at {twice[0]}; give each a path of its own")
    return chosen


_BASELINE = r"\w[\w.-]*(?<!\.json)"


class Shard(NamedTuple):
    """Part `part` of the `parts` parts of a run; `part` begins with 1."""

    part: int
    parts: int

    def __str__(self) -> str:
        return f"{self.part}/{self.parts}"


def shard(value: object) -> Shard:
    """Read ``3/8``, the third of eight shards."""
    index, slash, count = text(value).partition("/")
    if not (slash and index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise ValueError("not INDEX/COUNT with 1 <= INDEX <= COUNT, as in 3/8")
    return Shard(int(index), int(count))


def baseline_name(value: object) -> str:
    name = text(value)
    if not re.fullmatch(_BASELINE, name):
        raise ValueError("no name; give letters, digits, dots, dashes and underscores, as in main")
    return name


def margins(value: object) -> tuple[Margin, ...]:
    """Read ``auc_e:0.02`` (absolute) and ``auc_e:5%`` (of the baseline's figure)."""
    chosen = tuple(_margin(part) for part in texts(value))
    metrics = [margin.metric for margin in chosen]
    for metric in metrics:
        if metrics.count(metric) > 1:
            raise ValueError(f"the figure {metric} twice; give each once")
    return chosen


def _margin(text: str) -> Margin:
    metric, colon, loss = (part.strip() for part in text.partition(":"))
    metrics = [entry.name for entry in compared_metrics()]
    if metric not in metrics:
        raise ValueError(
            f"{metric!r} is not a figure to compare; there are {', '.join(metrics)}"
            f"{nearest(metric, metrics)}"
        )
    if not colon:
        raise ValueError(f"the loss is missing; give {metric}:0.02 or {metric}:5%")
    relative = loss.endswith("%")
    try:
        size = float(loss.removesuffix("%")) / (_PERCENT if relative else 1.0)
    except ValueError:
        size = 0.0
    if not 0.0 < size <= 1.0:
        raise ValueError(
            f"{loss!r} is not a loss above 0 and up to 1; give {metric}:0.02 or {metric}:5%"
        )
    return Margin(metric=metric, loss=size, relative=relative)
