from __future__ import annotations

import msgspec
import pytest

from pytest_promptse.models._base import Usage
from pytest_promptse.plugin._progress_line import LOG_SECONDS, ProgressLine, describe, duration
from pytest_promptse.store._run_log import Progress

UNDER_WAY = Progress(done=384, total=1024, cached=40, rate=12.34, eta=51.9, usage=Usage())


def test_progress_says_done_total_time_left_rate_cached_and_cost():
    assert describe(UNDER_WAY, cost=0.01234, width=120) == (
        "promptse 384 of 1024 samples (38%), 52 s left, 12.3 a second, 40 cached, cost 0.0123"
    )


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
@pytest.mark.parametrize("error", [None, "openai:m: HTTP 503\n overloaded " * 5])
def test_progress_never_fills_the_line(width, error):
    # A line that is full would wrap, and then be erased in part only.
    now = msgspec.structs.replace(UNDER_WAY, last_error=error)
    line = describe(now, cost=1.0, width=width)
    assert len(line) < width
    assert "\n" not in line


def test_the_last_error_is_shown_even_where_other_figures_must_go():
    now = msgspec.structs.replace(UNDER_WAY, last_error="openai:m: HTTP 503 overloaded")
    assert describe(now, cost=None, width=120).endswith(
        ", 40 cached, last error: openai:m: HTTP 503 overloaded"
    )
    assert describe(now, cost=None, width=80) == (
        "promptse 384 of 1024 samples (38%), last error: openai:m: HTTP 503 overloaded"
    )


def test_a_part_is_left_out_if_it_would_fill_the_line():
    whole = describe(UNDER_WAY, cost=None, width=120)
    assert describe(UNDER_WAY, cost=None, width=len(whole) + 1) == whole
    shorter = describe(UNDER_WAY, cost=None, width=len(whole))
    assert shorter == whole.removesuffix(", 40 cached")
    first = "promptse 384 of 1024 samples (38%)"
    assert describe(UNDER_WAY, cost=None, width=len(first) + 1) == first
    assert describe(UNDER_WAY, cost=None, width=len(first)) == first[:-2] + "…"


@pytest.mark.parametrize(("beyond", "is_shown"), [(44, False), (60, True)])
def test_an_error_leaves_other_figures_the_columns_beyond_forty_four(beyond, is_shown):
    now = msgspec.structs.replace(UNDER_WAY, last_error="no")
    first = "promptse 384 of 1024 samples (38%)"
    shown = describe(now, cost=None, width=len(first) + beyond)
    assert shown == first + (", 52 s left" if is_shown else "") + ", last error: no"


def test_what_is_not_known_is_left_out():
    begun = Progress(done=0, total=10, cached=0, rate=0.0, eta=None, usage=Usage())
    assert describe(begun, cost=None, width=80) == "promptse 0 of 10 samples (0%)"
    done = Progress(done=10, total=10, cached=10, rate=0.0, eta=0.0, usage=Usage())
    assert describe(done, cost=None, width=80) == "promptse 10 of 10 samples (100%), 10 cached"
    nothing = Progress(done=0, total=0, cached=0, rate=0.0, eta=None, usage=Usage())
    assert describe(nothing, cost=None, width=80) == "promptse 0 of 0 samples (100%)"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (60, "1 min 0 s"),
        (200, "3 min 20 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h 0 min"),
        (7500, "2 h 5 min"),
    ],
)
def test_a_time_is_given_in_its_two_largest_units(seconds, text):
    assert duration(seconds) == text


class Time:
    """A clock that stands until it is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


def test_a_log_has_a_line_every_ten_seconds_however_often_something_waits(time):
    lines: list[str] = []
    meter = ProgressLine(draw=pytest.fail, log=lines.append, on_terminal=False, clock=time)
    for second in range(35):
        time.now = float(second)
        meter.begin()
        if meter.due():
            meter.show(f"{second}")
        meter.erase()
    assert LOG_SECONDS == 10
    assert lines == ["10", "20", "30"]


def test_a_terminal_is_left_alone_by_short_waits_and_clean_after_long_ones(time):
    drawn: list[str] = []
    meter = ProgressLine(draw=drawn.append, log=pytest.fail, on_terminal=True, clock=time)
    meter.begin()
    time.now = 0.1
    assert not meter.due()
    meter.erase()
    assert drawn == []
    time.now = 0.25
    assert meter.due()
    meter.show("1 of 2")
    assert not meter.due()
    meter.erase()
    meter.erase()
    assert [("1 of 2" in text, "\x1b[2K" in text) for text in drawn] == [
        (True, False),
        (False, True),
    ]
