"""How quick the series of functions and the flame graphs of the site are.

Makes a store of one counted line, 5000 revisions x 3 steps with 180 functions each, of which one
grows in the middle of the line, and a regression with a call tree of as many frames as there may
be. Times reading and writing of all, and opens the page of a step and of the regression in a
headless Chromium without a network, several times.

    python -m benchmarks.functions
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine, insert, select

from benchmarks.site import SHOWN_VIEW, changes, fill, make_plan, paint, size, spread
from pipeline.config import ReportSection
from pipeline.explain.explanation import Explanation
from pipeline.measure.plan import Plan
from pipeline.model import CallCost, FunctionCost, Mode, Regression, StepCounts
from pipeline.model.counts import INSTRUCTIONS
from pipeline.regressions.detected import Detected
from pipeline.regressions.grouping import group_shifts
from pipeline.site import write_site
from pipeline.site.functions import functions_of
from pipeline.site.night import read_night
from pipeline.site.trends import Trends
from pipeline.storage import schema
from pipeline.storage.database import open_store
from tests.site.browser import started
from tests.site.explanations import counted_explanation

_AT_ONCE = 500
"""Runs whose rows are inserted together."""


def main() -> None:
    """Make the store and its site, open it, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--revisions", type=int, default=5000)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--functions", type=int, default=180)
    parser.add_argument("--times", type=int, default=7, help="that each figure is taken")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nightshift-") as scratch:
        folder = Path(scratch)
        path = folder / "store.db"
        store = open_store(f"sqlite:///{path}")
        plan = make_plan(options.revisions, options.steps, 1, Mode.COUNT)
        fill(store, plan)
        before = path.stat().st_size
        rows = add_functions(store, plan, options.functions)
        grown = (path.stat().st_size - before) / 1e6
        print(f"{rows} costs of functions, {grown:.0f} MB of the store")
        began = time.perf_counter()
        (trend,) = Trends(store).of(plan)
        read = time.perf_counter()
        functions_of(store, trend)
        print(
            f"the trend is read in {read - began:.1f} s, "
            f"its functions in {time.perf_counter() - read:.1f} s"
        )
        regressions = tuple(group_shifts(changes(plan)))
        detected = Detected(plan=plan.hash, series=1, regressions=regressions)
        explanation = explained(regressions[0])
        frames = len(explanation.steps[0].counted.calls) if explanation.steps[0].counted else 0
        began = time.perf_counter()
        night = read_night(store, plan, detected, ReportSection(), {})
        page = write_site(
            folder / "site",
            plan,
            detected,
            [],
            night,
            datetime.now(UTC),
            explanations=[(regressions[0], explanation)],
        )
        print(f"written in {time.perf_counter() - began:.1f} s: {size(folder / 'site')}")
        views = ("#step?step=step-00", f"#regression?found={regressions[0].fingerprint}")
        with started(folder / "profile") as browser:
            taken: dict[str, list[float]] = {view: [] for view in views}
            paints = []
            for _ in range(options.times):
                paints.append(paint(browser, page))
                browser.until("performance.getEntriesByName('nightshift-shown').length > 0")
                for view in views:
                    taken[view].append(browser.run(SHOWN_VIEW.format(address=view)))
                assert browser.complaints() == []
        print(f"first contentful paint  {spread(paints)}")
        print(f"a counted step          {spread(taken[views[0]])}")
        print(f"{frames} frames of calls    {spread(taken[views[1]])}")


def add_functions(store: Engine, plan: Plan, functions: int) -> int:
    """Give every run of a plan instructions, and its steps functions; return their number."""
    (line,) = plan.lines
    middle = len(line.revisions) // 2
    drawn = random.Random(2)
    levels = [10_000.0 / (1 + number) for number in range(functions)]
    rows = 0
    with store.begin() as connection:
        connection.execute(insert(schema.metric), [{"id": 1000, "name": INSTRUCTIONS}])
        connection.execute(
            insert(schema.function),
            [{"id": n, "name": f"function_{n}", "binary": "db"} for n in range(functions)],
        )
        wanted = select(schema.step_run.c.id, schema.step_run.c.run).order_by(schema.step_run.c.id)
        step_runs = [tuple(row) for row in connection.execute(wanted)]
        for start in range(0, len(step_runs), _AT_ONCE):
            part = step_runs[start : start + _AT_ONCE]
            costs = [
                {
                    "step_run": step_run,
                    "function": number,
                    "self_cost": cost,
                    "inclusive_cost": 2 * cost,
                }
                for step_run, run in part
                for number, cost in _costs(levels, run >= middle, drawn)
            ]
            connection.execute(insert(schema.function_cost), costs)
            connection.execute(
                insert(schema.measurement),
                [
                    {"step_run": step_run, "metric": 1000, "value": sum(levels) + run}
                    for step_run, run in part
                ],
            )
            rows += len(costs)
    return rows


def _costs(levels: list[float], grown: bool, drawn: random.Random) -> Iterator[tuple[int, float]]:
    for number, level in enumerate(levels):
        more = 1.5 if grown and number == 20 else 1.0
        yield number, level * more * drawn.gauss(1, 1e-5)


def explained(regression: Regression) -> Explanation:
    """Explain a regression by a call tree of as many frames as there may be."""
    before, after = (_counts(factor) for factor in (1.0, 1.3))
    return counted_explanation(regression, before, after)


def _counts(factor: float) -> StepCounts:
    """Return counts in which each function calls the two next to twice its number."""
    own = [10.0 * (factor if number % 7 == 3 else 1.0) for number in range(300)]
    whole = list(own)
    for number in reversed(range(1, len(own))):
        whole[(number - 1) // 2] += whole[number]
    return StepCounts(
        operations=(100, 200),
        instructions=whole[0],
        functions=tuple(
            FunctionCost(function=f"f{n}", binary="db", self_cost=own[n], inclusive_cost=whole[n])
            for n in range(len(own))
        ),
        calls=tuple(
            CallCost((number - 1) // 2, number, whole[number]) for number in range(1, len(own))
        ),
    )


if __name__ == "__main__":
    main()
