"""Show the progress of a night: bars on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
)
from rich.table import Column
from rich.text import Text

from pipeline.cli.console import is_quiet
from pipeline.measure.progress import Silent, Watcher
from pipeline.model import Cell, Step
from pipeline.text.units import show_duration


def time_left(done: float, total: float, elapsed: float) -> float | None:
    """Estimate the seconds left from the speed so far; None at the beginning."""
    if done <= 0 or elapsed <= 0:
        return None
    return max(total - done, 0.0) * elapsed / done


def make_watcher(console: Console) -> Watcher:
    """Return the watcher that shows progress on a console: bars, lines, or nothing with --quiet."""
    if is_quiet():
        return Silent()
    return Bars(console) if console.is_terminal else Lines(console)


class Lines(Watcher):
    """Shows progress as one line for each run, for logs and pipes."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._stage, self._total, self._done, self._began = "", 0.0, 0.0, 0.0

    def begin(self, stage: str, total: float) -> None:
        """Begin a stage of the night; nothing is printed yet."""
        self._stage, self._total, self._done = stage, total, 0.0
        self._began = self._clock()

    def note(self, text: str) -> None:
        """Print one line of text."""
        self._console.print(f"{self._stage}: {text}" if self._stage else text, markup=False)

    def run_begins(self, cell: Cell, repetition: int) -> None:
        """Print which run begins, how far the stage is, and the time left."""
        self.note(f"{describe(cell, repetition)} ({self._how_far()})")

    def _how_far(self) -> str:
        if self._done > self._total > 0:
            return "takes longer than expected"
        left = time_left(self._done, self._total, self._clock() - self._began)
        percent = round(100 * self._done / self._total) if self._total else 0
        remaining = f", {show_left(left)} left" if left is not None else ""
        return f"{percent} % done{remaining}"

    def advance(self, amount: float, left: float | None = None) -> None:
        """Count work of the stage as done."""
        self._done += amount
        if left is not None:
            self._total = self._done + left

    def end(self) -> None:
        """End a stage of the night."""
        self._stage = ""


class Bars(Watcher):
    """Shows progress as a bar for each stage, with the current run and the time left."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description:<6}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            _TimeLeft(),
            # One line at any terminal width: the end of the text is cut, which matters least.
            TextColumn(
                "{task.fields[doing]}",
                markup=False,
                table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
            ),
            expand=True,
            console=console,
            transient=True,
            # If results go to a file, the bar's console must not print into it.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._task = self._progress.add_task("", visible=False, doing="", end=None)
        self._run = ""

    def begin(self, stage: str, total: float) -> None:
        """Show the bar of a stage."""
        self._progress.reset(
            self._task,
            total=total,
            description=stage,
            visible=True,
            doing="",
            end=None,
            start=True,
        )
        self._progress.start()

    def note(self, text: str) -> None:
        """Print one line of text above the bar."""
        self._progress.console.print(text, markup=False)

    def run_begins(self, cell: Cell, repetition: int) -> None:
        """Show beside the bar which run is measured."""
        self._run = describe(cell, repetition)
        self._progress.update(self._task, doing=self._run, refresh=True)

    def step_begins(self, step: Step) -> None:
        """Show beside the bar which step of the run is measured."""
        self._progress.update(self._task, doing=f"{step.name} on {self._run}", refresh=True)

    def advance(self, amount: float, left: float | None = None) -> None:
        """Move the bar forward, and update the time left."""
        self._progress.advance(self._task, amount)
        (task,) = self._progress.tasks
        total = task.total or 0.0 if left is None else task.completed + left
        elapsed = task.elapsed or 0.0
        wait = time_left(task.completed, total, elapsed)
        self._progress.update(self._task, total=total, end=None if wait is None else elapsed + wait)

    def end(self) -> None:
        """Remove the bar of a stage."""
        self._progress.update(self._task, visible=False)
        self._progress.stop()


class _TimeLeft(ProgressColumn):
    """The column of a bar with the time left, estimated from the speed so far.

    Between two updates it counts down to the last estimated end.
    """

    def render(self, task: Task) -> Text:
        end = task.fields["end"]
        return Text("" if end is None else f"{show_left(end - (task.elapsed or 0.0))} left")


def show_left(seconds: float) -> str:
    """Format the time left, rounded to seconds."""
    return show_duration(seconds) if seconds >= 10 else f"{max(round(seconds), 0)}s"


def describe(cell: Cell, repetition: int) -> str:
    """Describe a run in a few words: ``postgres 17.11 cached x10a_c2r24, repetition 2``."""
    what = f"{cell.revision.target} {cell.revision.label} {cell.workload.name} {cell.config.name}"
    clients = cell.workload.scale.clients
    return f"{what}, {clients} client{'s' if clients > 1 else ''}, repetition {repetition}"
