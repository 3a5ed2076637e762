"""Record each night when it ends, even if it fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from pipeline.ledger.ledger import verdicts_on
from pipeline.ledger.machine_time import cost_of, spent_explaining, spent_in_all, spent_since
from pipeline.measure.plan import Plan
from pipeline.measure.progress import Watcher
from pipeline.measure.run import build_key, unbuilt
from pipeline.measure.stopwatch import Stopwatch, Timed
from pipeline.model import Cell, Mode, RegressionState
from pipeline.storage.journal import now
from pipeline.storage.night_log import Night, Nights
from pipeline.storage.runs import measured, measured_time
from pipeline.storage.steps import count_failed, disturbances_of, stayed_disturbed
from pipeline.text.errors import UserError, first_line
from pipeline.use_cases.context import Context
from pipeline.use_cases.event_log import logged_stage

STOPPED = "stopped"
"""The error that is recorded for a night stopped by Ctrl-C or a termination signal."""


class NightRecorder:
    """Collects the record of the present night: stages, runs and results so far.

    ``plan`` is the plan of the night, and ``series`` the number of searched series; both are None
    until they are known. ``timed_runs`` are the ids of its timed runs, without controls.
    ``harness_errors`` has the reasons of runs that were not measured, by the names of the runs.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._began = now()
        self._stopwatch = Stopwatch()
        self._run_ids: list[str] = []
        self.timed_runs: list[str] = []
        self.plan: Plan | None = None
        self.series: int | None = None
        self.harness_errors: dict[str, str] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure and log the time of a stage while the block runs."""
        with logged_stage(name), self._stopwatch.stage(name):
            yield

    def timed(self, watcher: Watcher) -> Watcher:
        """Return a watcher that also measures the time of stages."""
        return Timed(watcher, self._stopwatch)

    def measured(self, cell: Cell, repetition: int) -> None:
        """Count one more measured run of the night."""
        self._run_ids.append(cell.run_id(repetition))
        if cell.workload.mode is Mode.TIME and cell.control is None:
            self.timed_runs.append(cell.run_id(repetition))

    def night(self, error: str) -> Night:
        """Return the record of the night; after an ``error``, unknown fields stay empty."""
        settings = self._context.config
        ended = Night(
            began=self._began,
            ended=now(),
            error=error,
            preflight=self._context.warned,
            runs=len(self._run_ids),
            harness_errors=self.harness_errors,
            series=self.series,
            stages={name: round(took, 3) for name, took in self._stopwatch.seconds().items()},
            budget={"confirm": settings.confirm.night, "bisect": settings.bisect.night},
        )
        try:
            return ended.model_copy(update=self._measured() | self._planned() | self._so_far())
        except (OSError, UserError, SQLAlchemyError):
            if not error:
                raise
            # The night may have ended because the store or the journal cannot be read.
            return ended

    def _measured(self) -> dict[str, Any]:
        store = self._context.store
        pursued = spent_since(self._context.regressions.events(now()), self._began)
        return {
            "failed_steps": count_failed(store, self._run_ids),
            "disturbed": len(disturbances_of(store, self.timed_runs)),
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
        store = self._context.store
        disturbed = stayed_disturbed(store, [cell.key for cell in self.plan.due])
        return {
            "unbuilt": len(missing),
            "queue": len(self.plan.remaining(measured(store), disturbed)),
        }

    def _so_far(self) -> dict[str, Any]:
        store, results = self._context.store, self._context.results
        known = list(self._context.regressions.known(now()).values())
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
def recorded(context: Context) -> Iterator[NightRecorder]:
    """Record the night when the block ends, even by an error or a signal."""
    recorder, error = NightRecorder(context), ""
    try:
        yield recorder
    except BaseException as problem:
        error = _line(problem)
        raise
    finally:
        Nights(context.results).append([recorder.night(error)])


def _line(problem: BaseException) -> str:
    if isinstance(problem, KeyboardInterrupt):
        return STOPPED
    message = first_line(problem)
    return message if isinstance(problem, UserError) else f"{type(problem).__name__}: {message}"
