"""One option: its names, its help, and how its value is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pytest_promptse.config import _option_types
from pytest_promptse.errors import PromptseError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_promptse.config._metrics import Metric

_T = TypeVar("_T")


class Option(NamedTuple):
    """A setting: its command-line flag, its key in the ini file and its keyword on the mark.

    Attributes
    ----------
    name
        The keyword on the mark. Flag and ini key derive from it.
    parse
        Checks and converts a raw value. Raises ValueError or TypeError.
    default
        The value if none is given.
    help
        One line for ``--help``, with ``%`` written as ``%%``.
    metavar
        The placeholder of the value in ``--help``, such as ``SECONDS``.
    marker
        True if a mark or suite file may set the option.
    repeatable
        True if the flag may be given several times.
    flag_only
        True if the option has no key in the ini file.
    """

    name: str
    parse: _option_types.Parse
    default: Any
    help: str
    metavar: str = "VALUE"
    marker: bool = False
    repeatable: bool = False
    flag_only: bool = False

    @property
    def flag(self) -> str:
        """The command-line flag."""
        return "--promptse-" + self.name.replace("_", "-")

    @property
    def ini(self) -> str:
        """The key in the ini file."""
        return "promptse_" + self.name

    @property
    def is_switch(self) -> bool:
        """True if the flag takes no value."""
        return self.parse is _option_types.switch

    @property
    def shown_default(self) -> str:
        """The default as a user would type it, or an empty text if there is none."""
        value = self.default
        if value is None or value is False or (isinstance(value, tuple | dict) and not value):
            return ""
        if self.parse is _option_types.size:
            return f"{value >> 20}MiB"
        if isinstance(value, tuple):
            return ",".join(map(str, value))
        return f"{value:g}" if isinstance(value, float) else str(value)

    @property
    def full_help(self) -> str:
        """The line for ``--help``, with the default."""
        if not self.shown_default or "default" in self.help:
            return self.help
        return f"{self.help} (default: {self.shown_default})"

    def read(self, value: object, where: str) -> Any:
        """Return the checked value.

        Parameters
        ----------
        value
            The raw value.
        where
            The place of the value, such as ``pytest.ini``, for the error message.

        Raises
        ------
        SettingsError
            If the value cannot be used.
        """
        if isinstance(value, list) and len(value) == 1:
            # A repeatable flag comes as a list; the error shows the value as it was typed.
            [value] = value
        try:
            return self.parse(value)
        except (ValueError, TypeError) as error:
            reason = str(error)
            if reason.startswith("could not convert"):
                reason = "not a number"
            raise SettingsError(f"{where}: {value!r} is {_joined(reason)}") from None


def placed(place: str | None, check: Callable[[], _T]) -> _T:
    """Return what `check` returns. Its error is a SettingsError that begins with `place`."""
    try:
        return check()
    except PromptseError as error:
        raise SettingsError(f"{place}: {error}") from None


def _joined(reason: str) -> str:
    """Return a form of `reason` that can follow the word "is" in the error message."""
    clauses = ("names ", "the ", "'")
    return f"unusable: {reason}" if reason.startswith(clauses) else reason


def threshold_option(metric: Metric) -> Option:
    """Return the option that sets the threshold of a metric.

    Raises
    ------
    ValueError
        If the metric has no gate.
    """
    if metric.option is None or metric.threshold_help is None:
        raise ValueError(f"the metric {metric.name} has no gate, so it has no option")
    parse = _option_types.above(0) if metric.unit == "ratio" else _option_types.between(0, 1)
    return Option(
        metric.option,
        _option_types.elasticities if metric.by_distance else parse,
        None,
        metric.threshold_help,
        metavar="X",
        marker=True,
    )
