"""Find the smallest script that shows a regression: steps, statements, rows, extras, settings.

Pure logic over a :class:`Scripts`, which runs scripts on this machine or, in tests, pretends to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from pipeline.experiments.reduction import smallest
from pipeline.experiments.reproducer_script import Instrument, ScriptTask, script_text
from pipeline.model import Frozen, Step, Supply
from pipeline.targets.base.script import ScriptLines, ShellScript, SqlProgram
from pipeline.workloads.base import PlainSql

ROWS = (100, 1_000, 10_000, 100_000)
"""Numbers of rows that are tried, the smallest first; the last is also the most."""

KEPT = 0.75
"""The share of a slowdown (a logarithm of a ratio) that a smaller script must keep."""

LIMIT = 0.5
"""The share of a slowdown (a logarithm of a ratio) from which a script shows a regression."""

LEAST = {Instrument.INSTRUCTIONS: 1.001, Instrument.TIME: 1.03}
"""The smallest ratio that a script can tell from the noise of its instrument."""

LONGER_BY = (10, 100, 1_000, 10_000)
"""By how much more events than a count a timed script executes: the first number that takes long
enough."""

TIMED_SECONDS = 10.0
"""The shortest time of a script that times."""


class ScriptRun(NamedTuple):
    """What a script printed: the ratio, and whether it shows the regression; and how long it took.

    A script that failed has a ratio of not-a-number.
    """

    ratio: float
    shows: bool
    seconds: float


class Scripts(Protocol):
    """Runs scripts."""

    def install(self, task: ScriptTask, lines: ScriptLines, as_measured: bool) -> str:
        """Install both versions and return the folder; a later call returns it at once.

        Raises UserError with the script's message if that fails.
        """
        ...

    def run(self, text: str, version: str = "") -> ScriptRun:
        """Run a script, by default with the bad version."""
        ...


class SuspectStep(NamedTuple):
    """A step of a regression, with the slowdown to be expected: a ratio above 1."""

    step: Step
    slowdown: float


class Sides(Frozen):
    """The two versions that scripts compare: names for people, names for the source, address."""

    target: str
    good: str
    bad: str
    good_locator: str
    bad_locator: str
    supply: Supply
    address: str


class Reproducer(Frozen):
    """A script that shows a regression, and what was seen when it was tried on this machine.

    ``ratio`` is that of the bad version, ``good_ratio`` that of the good version with itself;
    ``tried`` is the number of scripts that were run to find it.
    """

    fingerprint: str
    step: str
    good: str
    bad: str
    instrument: Instrument
    ratio: float
    good_ratio: float
    rows: int
    settings: tuple[str, ...]
    event: tuple[str, ...]
    seconds: float
    tried: int
    at: datetime
    text: str

    @property
    def lines(self) -> int:
        """The number of lines of the script."""
        return len(self.text.splitlines())


class Found(NamedTuple):
    """A script that shows a regression both ways, and its runs."""

    step: Step
    instrument: Instrument
    program: SqlProgram
    text: str
    bad: ScriptRun
    good: ScriptRun


class _Choice(NamedTuple):
    """A part of a step: rows, statements of the event, optional loads, settings."""

    rows: int
    event: tuple[int, ...]
    extras: tuple[str, ...]
    settings: tuple[str, ...]


class ScriptSearch:
    """Searches for the smallest script that shows a regression; ``tried`` counts the scripts."""

    def __init__(
        self,
        fingerprint: str,
        sides: Sides,
        shell: ShellScript,
        scripts: Scripts,
        sql: Callable[[Step, int], PlainSql],
        settings: Sequence[str],
        most_rows: int,
    ) -> None:
        """Search for a script about the regression ``fingerprint`` between two versions.

        ``sql`` returns a step as SQL text for a number of rows, ``settings`` are those of the
        measured configuration, ``most_rows`` is the size of the measured tables.
        """
        self._fingerprint, self._sides, self._shell = fingerprint, sides, shell
        self._scripts, self._sql, self._settings = scripts, sql, tuple(settings)
        self._rows = [*(rows for rows in ROWS if rows < most_rows), min(most_rows, ROWS[-1])]
        self.tried = 0

    def find(self, steps: Sequence[SuspectStep]) -> Found | None:
        """Return the smallest script that shows the regression in one of the steps, or None.

        Counted instructions are tried before time, and fast builds before those that were measured.
        Raises UserError if the versions cannot be installed.
        """
        for instrument, as_measured in self._ways():
            for suspect in steps:
                found = self._in_step(suspect, instrument, as_measured)
                if found is not None:
                    return found
        return None

    def _ways(self) -> Iterator[tuple[Instrument, bool]]:
        yield Instrument.INSTRUCTIONS, False
        yield Instrument.INSTRUCTIONS, True
        yield Instrument.TIME, True

    def _in_step(
        self, suspect: SuspectStep, instrument: Instrument, as_measured: bool
    ) -> Found | None:
        whole = self._whole(suspect.step)
        limit = max(suspect.slowdown**LIMIT, LEAST[instrument])
        trial = _ScriptTrial(self, suspect.step, instrument, as_measured, 1, limit)
        if instrument is Instrument.TIME:
            trial = trial.long_enough(whole)
        first = trial.run(whole)
        if not first.ratio >= limit:
            return None
        trial = trial.judging(max(first.ratio**LIMIT, LEAST[instrument]))
        keep = max(first.ratio**KEPT, LEAST[instrument])
        chosen = self._smaller(whole, lambda choice: trial.run(choice).ratio >= keep)
        return trial.proven(chosen)

    def _whole(self, step: Step) -> _Choice:
        sql = self._sql(step, self._rows[-1])
        return _Choice(
            rows=self._rows[-1],
            event=tuple(range(len(sql.event))),
            extras=(*sql.extras, *self._shell.maintenance(sql.table)),
            settings=self._settings,
        )

    def _smaller(self, whole: _Choice, shows: Callable[[_Choice], bool]) -> _Choice:
        """Return the smallest choice that shows the regression, one dimension after another."""
        chosen = whole
        bare = chosen._replace(extras=(), settings=())
        if shows(bare):
            chosen = bare
        fewer = (chosen._replace(rows=rows) for rows in self._rows[:-1])
        chosen = next((choice for choice in fewer if shows(choice)), chosen)
        event = smallest(
            chosen.event, lambda kept: bool(kept) and shows(chosen._replace(event=kept))
        )
        chosen = chosen._replace(event=event)
        optional = [("extras", text) for text in chosen.extras]
        optional += [("settings", text) for text in chosen.settings]

        def only(kept: Sequence[tuple[str, str]]) -> _Choice:
            return chosen._replace(
                extras=tuple(text for kind, text in kept if kind == "extras"),
                settings=tuple(text for kind, text in kept if kind == "settings"),
            )

        return only(smallest(optional, lambda kept: shows(only(kept))))

    def program(self, step: Step, choice: _Choice) -> tuple[SqlProgram, int]:
        """Return a part of a step as a program, and how many events its shorter count executes."""
        sql = self._sql(step, choice.rows)
        program = SqlProgram(
            settings=choice.settings,
            load=(*sql.load, *choice.extras),
            event=tuple(sql.event[place] for place in choice.event),
            rows=choice.rows,
        )
        return program, sql.events

    def task(self, step: Step, instrument: Instrument, events: int, limit: float) -> ScriptTask:
        """Return what a script about a step compares."""
        sides = self._sides
        return ScriptTask(
            title=f"{sides.target} {sides.bad} against {sides.good}: {step.name} costs more "
            f"{instrument}, regression {self._fingerprint}.",
            good=sides.good_locator,
            bad=sides.bad_locator,
            instrument=instrument,
            events=events,
            limit=limit,
        )

    def try_out(
        self, task: ScriptTask, program: SqlProgram, as_measured: bool, version: str | None
    ) -> tuple[str, ScriptRun]:
        """Run a script; with a ``version``, as it is, without one with installed versions."""
        sides = self._sides
        lines = self._shell.lines(sides.supply, sides.address, program, as_measured=as_measured)
        folder = "" if version is not None else self._scripts.install(task, lines, as_measured)
        text = script_text(task, lines, folder)
        self.tried += 1
        return text, self._scripts.run(text, version or "")

    @property
    def good_locator(self) -> str:
        """The good version, as its source names it."""
        return self._sides.good_locator


class _ScriptTrial(NamedTuple):
    """A way to try choices: the step, the instrument, the build, the events and the limit.

    ``events`` is a multiple of those of a count.
    """

    search: ScriptSearch
    step: Step
    instrument: Instrument
    as_measured: bool
    events: int
    limit: float

    def run(self, choice: _Choice) -> ScriptRun:
        """Run the script of a choice with the installed versions."""
        return self._try(choice, None)[1]

    def judging(self, limit: float) -> _ScriptTrial:
        """Return the same trial with another limit."""
        return self._replace(limit=limit)

    def long_enough(self, choice: _Choice) -> _ScriptTrial:
        """Return the same trial with as many events as take long enough to be timed."""
        trial = self
        for events in LONGER_BY:
            trial = self._replace(events=events)
            run = trial.run(choice)
            if math.isnan(run.ratio) or run.seconds >= TIMED_SECONDS:
                break
        return trial

    def proven(self, choice: _Choice) -> Found | None:
        """Run the script as it is, in the bad and in the good version; None if it fails in one."""
        text, bad = self._try(choice, "")
        if not bad.shows:
            return None
        _, good = self._try(choice, self.search.good_locator)
        if good.shows or math.isnan(good.ratio):
            return None
        program, _ = self.search.program(self.step, choice)
        return Found(self.step, self.instrument, program, text, bad, good)

    def _try(self, choice: _Choice, version: str | None) -> tuple[str, ScriptRun]:
        program, events = self.search.program(self.step, choice)
        task = self.search.task(self.step, self.instrument, events * self.events, self.limit)
        return self.search.try_out(task, program, self.as_measured, version)
