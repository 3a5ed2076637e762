"""A night is written down when it ends, however it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from sqlalchemy.exc import SQLAlchemyError

from pipeline.analyse.ledger import verdicts_on
from pipeline.analyse.spent import cost_of, spent_explaining, spent_in_all, spent_since
from pipeline.cli.context import Context
from pipeline.errors import UserError, first_line
from pipeline.execute.plan import Plan
from pipeline.execute.run import build_key, unbuilt
from pipeline.execute.stopwatch import Stopwatch, Timed
from pipeline.execute.watch import Watcher
from pipeline.journal import Journal, now
from pipeline.model import Cell, RegressionState
from pipeline.nights import Night, Nights
from pipeline.store.queries import count_failed, measured, measured_time
from pipeline.store.regressions import stored_regressions

STOPPED = "stopped"
"""The error of a night that was stopped by ctrl-C or a termination signal."""


class Recorder:
    """The night at hand: what it says of itself while it goes on.

    ``plan`` is what it measures and ``series`` in how many it looked for changes, once it knows.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._began = now()
        self._stopwatch = Stopwatch()
        self._run_ids: list[str] = []
        self.stage = self._stopwatch.stage
        self.plan: Plan | None = None
        self.series: int | None = None

    def timed(self, watcher: Watcher) -> Watcher:
        """Return a watcher that is told of the stages within stages, and times them."""
        return Timed(watcher, self._stopwatch)

    def measured(self, cell: Cell, repetition: int) -> None:
        """Count a run of this night."""
        self._run_ids.append(cell.run_id(repetition))

    def night(self, error: str) -> Night:
        """Return how it went, once it has ended; with an ``error`` what of that is known."""
        settings = self._context.config
        ended = Night(
            began=self._began,
            ended=now(),
            error=error,
            preflight=self._context.warned,
            runs=len(self._run_ids),
            series=self.series,
            stages={name: round(took, 3) for name, took in self._stopwatch.seconds().items()},
            budget={"confirm": settings.confirm.night, "bisect": settings.bisect.night},
        )
        try:
            return ended.model_copy(update=self._measured() | self._planned() | self._so_far())
        except (OSError, UserError, SQLAlchemyError):
            if not error:
                raise
            # A store or a journal that cannot be read may be what ended it.
            return ended

    def _measured(self) -> dict[str, Any]:
        store, results = self._context.store, self._context.results
        pursued = spent_since(Journal(results).read(), self._began)
        return {
            "failed_steps": count_failed(store, self._run_ids),
            "spent": {
                "runs": measured_time(store, self._run_ids).total_seconds(),
                "confirm": 60.0 * pursued.confirm,
                "bisect": 60.0 * pursued.bisect,
            },
        }

    def _planned(self) -> dict[str, Any]:
        if self.plan is None:
            return {}
        failures = unbuilt(self._context.results, self.plan.due)
        missing = {build_key(cell) for cell in self.plan.due if cell.key in failures}
        return {
            "unbuilt": len(missing),
            "queue": len(self.plan.remaining(measured(self._context.store))),
        }

    def _so_far(self) -> dict[str, Any]:
        store, results = self._context.store, self._context.results
        known = stored_regressions(store)
        states = [row.regression.state for row in known if row.regression.worse]
        spent = spent_in_all(known, spent_explaining(results), results, store)
        price = self._context.config.machine.price_per_hour
        return {
            "regressions": {state: states.count(state) for state in RegressionState},
            "spent_so_far": dict(spent),
            "money": None if price is None else cost_of(spent.minutes, price),
            "alarms": verdicts_on(known),
        }


@contextmanager
def recorded(context: Context) -> Iterator[Recorder]:
    """Write down the night that is done within, also when an error or a signal ends it."""
    recorder, error = Recorder(context), ""
    try:
        yield recorder
    except BaseException as problem:
        error = _line(problem)
        raise
    finally:
        Nights(context.results).append([recorder.night(error)])


def _line(problem: BaseException) -> str:
    if isinstance(problem, KeyboardInterrupt | typer.Abort):
        return STOPPED
    said = first_line(problem)
    return said if isinstance(problem, UserError) else f"{type(problem).__name__}: {said}"
