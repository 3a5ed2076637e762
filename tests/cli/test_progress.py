from __future__ import annotations

import io
import re
import sys

import pytest
from rich.console import Console

from pipeline.cli.console import err, out, screen
from pipeline.cli.progress import (
    Bars,
    Lines,
    describe,
    make_watcher,
    show_left,
    time_left,
)
from pipeline.cli.transfers import Now
from pipeline.measure.progress import counting
from tests.measure.samples import cell, workload


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def console(terminal: bool, width: int = 80) -> Console:
    return Console(
        file=io.StringIO(),
        force_terminal=terminal,
        width=width,
        soft_wrap=True,
        emoji=False,
        highlight=False,
    )


def drawn(bars: Bars, on: Console) -> str:
    """Return the bar as it is on the screen, by having it drawn once more."""
    bars.note("")
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text_of(on)).split("\r")[-1].splitlines()[-1]


def left_on_screen(of: Console) -> str:
    """Return what stands in the last line after it was cleared for the last time."""
    return re.sub(r"\x1b\[\?25h|\r", "", text_of(of).rpartition("\x1b[2K")[2])


def text_of(of: Console) -> str:
    assert isinstance(of.file, io.StringIO)
    return of.file.getvalue()


@pytest.mark.parametrize(
    ("done", "total", "elapsed", "left"),
    [
        (0.0, 10.0, 5.0, None),
        (1.0, 10.0, 0.0, None),
        (1.0, 10.0, 2.0, 18.0),
        (5.0, 10.0, 5.0, 5.0),
        (10.0, 10.0, 7.0, 0.0),
        (11.0, 10.0, 7.0, 0.0),
    ],
)
def test_the_time_left_is_by_the_pace_so_far(
    done: float, total: float, elapsed: float, left: float | None
) -> None:
    assert time_left(done, total, elapsed) == left


@pytest.mark.parametrize(
    ("seconds", "text"), [(-3.0, "0s"), (0.4, "0s"), (8.6, "9s"), (10.0, "10s"), (125.0, "2m05s")]
)
def test_an_estimate_has_no_tenths(seconds: float, text: str) -> None:
    assert show_left(seconds) == text


def test_a_run_is_described_for_people() -> None:
    assert describe(cell(), 2) == "postgres 17.11 tiny x10a_c2r8, 1 client, repetition 2"
    four = cell().model_copy(update={"workload": workload(clients=4)})
    assert ", 4 clients, " in describe(four, 1)


def test_lines_are_one_for_each_run_with_the_time_left() -> None:
    clock, shown = Clock(), console(terminal=False)
    lines = Lines(shown, clock)
    lines.begin("run", 4.0)
    lines.run_begins(cell("17.10"), 1)
    lines.step_begins(cell().workload.steps[0])
    clock.now += 30
    lines.advance(1.0)
    lines.run_begins(cell("17.11"), 1)
    lines.note("something :100: [red]")
    lines.end()
    lines.note("after")
    assert text_of(shown).splitlines() == [
        "run: postgres 17.10 tiny x10a_c2r8, 1 client, repetition 1 (0 % done)",
        "run: postgres 17.11 tiny x10a_c2r8, 1 client, repetition 1 (25 % done, 1m30s left)",
        "run: something :100: [red]",
        "after",
    ]


def test_what_is_left_may_turn_out_to_be_less() -> None:
    clock, shown = Clock(), console(terminal=False)
    lines = Lines(shown, clock)
    lines.begin("run", 1000.0)
    clock.now += 20
    lines.advance(10.0, 30.0)
    lines.run_begins(cell(), 1)
    assert "(25 % done, 1m00s left)" in text_of(shown)
    drawn_on = console(terminal=True)
    bars = Bars(drawn_on)
    bars.begin("run", 1000.0)
    bars.run_begins(cell(), 1)
    bars.advance(10.0, 30.0)
    bars.step_begins(cell().workload.steps[0])
    assert " 25%" in drawn(bars, drawn_on)
    bars.end()


def test_an_estimate_that_was_too_short_is_not_more_than_a_hundred_percent() -> None:
    clock, shown = Clock(), console(terminal=False)
    lines = Lines(shown, clock)
    lines.begin("confirm", 10.0)
    clock.now += 20
    lines.advance(20.0)
    lines.run_begins(cell(), 1)
    assert "(takes longer than expected)" in text_of(shown)


def test_each_stage_begins_anew() -> None:
    clock, shown = Clock(), console(terminal=False)
    lines = Lines(shown, clock)
    lines.begin("build", 1.0)
    lines.advance(1.0)
    lines.end()
    lines.begin("run", 0.0)
    lines.run_begins(cell(), 1)
    assert "(0 % done)" in text_of(shown)


def test_the_watcher_fits_the_console() -> None:
    assert isinstance(make_watcher(console(terminal=True)), Bars)
    assert isinstance(make_watcher(console(terminal=False)), Lines)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_bars_keep_to_one_line_and_leave_nothing(width: int) -> None:
    shown = console(terminal=True, width=width)
    bars = Bars(shown)
    bars.begin("run", 2.0)
    bars.run_begins(cell(), 1)
    bars.step_begins(cell().workload.steps[0])
    assert drawn(bars, shown).startswith("run ")
    assert len(drawn(bars, shown)) <= width
    bars.advance(1.0)
    bars.step_begins(cell().workload.steps[0])
    assert " 50%" in drawn(bars, shown)
    bars.note("one :100: [red]line")
    bars.end()
    assert "one :100: [red]line" in text_of(shown)
    assert "\x1b[1A" not in text_of(shown), "the bar took more than one line"
    assert left_on_screen(shown) == ""


def test_the_step_comes_first_where_it_may_be_cut_off() -> None:
    shown = console(terminal=True, width=200)
    bars = Bars(shown)
    bars.begin("run", 2.0)
    bars.run_begins(cell(), 1)
    bars.step_begins(cell().workload.steps[0])
    assert "one on postgres 17.11 tiny" in drawn(bars, shown)
    bars.end()


def test_a_second_stage_starts_its_own_bar() -> None:
    shown = console(terminal=True)
    bars = Bars(shown)
    bars.begin("build", 1)
    bars.advance(1)
    bars.end()
    bars.begin("run", 10)
    assert "  0%" in drawn(bars, shown)
    assert " left" not in drawn(bars, shown)
    bars.end()


def test_counting_is_silent_off_a_terminal_and_for_nothing() -> None:
    for terminal, total in ((False, 5), (True, 0)):
        shown = console(terminal)
        with counting(make_watcher(shown), "ingest", total) as count:
            count()
        assert text_of(shown) == ""


def test_counting_takes_its_bar_away_after_a_failure() -> None:
    shown = console(terminal=True)

    def fail() -> None:
        with counting(make_watcher(shown), "ingest", 2) as count:
            count()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert left_on_screen(shown) == ""


def test_progress_is_drawn_by_the_console_of_the_results_on_one_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert screen() is out
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert screen() is err


def test_a_long_transfer_says_a_line_every_half_minute() -> None:
    text = io.StringIO()
    moments = iter([0.0, 0.0, 10.0, 40.0, 50.0, 75.0])
    watcher = Now(Console(file=text, width=200), clock=lambda: next(moments))
    watcher.begin("fetch", 100e6)
    for _ in range(4):
        watcher.advance(20e6)
    watcher.end()
    assert text.getvalue() == ("fetch: 40 of 100 MB, 1m00s left\nfetch: 80 of 100 MB, 19s left\n")
