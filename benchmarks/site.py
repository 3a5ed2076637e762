"""How quick the trend site is: writing it, its first paint from disk, and every way through it.

Makes a store of one line, 5000 revisions x 40 steps x 2 repetitions in eight metrics, with a
change in every fifth step, writes its site, and opens it in a headless Chromium without a
network, several times:

- first contentful paint, and when the overview is there, by the browser's own clock;
- each view from the moment that its address is set until it was painted;
- queries on the page SQL, each in a page that has loaded nothing yet and once more in the same
  page: from the address to the painted rows;
- the report page of the same store, which shows the newest part of so long a line.

Rows go into the store as they are: what is timed comes after them.

    python -m benchmarks.site
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import psutil
from sqlalchemy import Engine, insert

from pipeline.config import ReportSection
from pipeline.machine.fingerprint import fingerprint
from pipeline.measure.plan import Line, Plan
from pipeline.model import (
    Cell,
    Machine,
    Mode,
    Origin,
    Revision,
    Scale,
    SeriesKey,
    ServerConfig,
    Shift,
    Step,
    StepStatus,
    Workload,
    digest,
)
from pipeline.regressions.detected import Detected
from pipeline.regressions.grouping import group_shifts
from pipeline.site import write_site
from pipeline.site.night import read_night, write_page
from pipeline.site.setups import LineSetup
from pipeline.storage import schema
from pipeline.storage.database import open_store
from pipeline.storage.measurements import count_measurements
from tests.site.browser import Browser, started

GROUPS = (
    "point queries",
    "range queries without aggregation",
    "range queries with aggregation",
    "writes",
)
METRICS = {
    "qps": 4000.0,
    "cpu_us/o": 180.0,
    "cs/o": 3.2,
    "wKB/o": 0.42,
    "latency_p50": 0.24,
    "latency_p95": 0.41,
    "latency_p99": 0.77,
    "qps_cv": 0.02,
}
CHANGED = 5
"""Of so many steps one becomes slower, in the middle of the line."""

BEGAN = datetime(2023, 1, 1, tzinfo=UTC)

VIEWS = (
    "#trend",
    "#trend?metric=cpu_us%2Fo",
    "#trend?metric=cpu_us%2Fo&group=writes",
    "#trend?last=200",
    "#trend?axis=time",
    "#step?step=step-07",
    "#step?step=step-07&last=50",
    "#compare",
    "#compare?base=r2500",
    "#machines",
    "#overview",
)
"""Ways through the site, each from the one before."""

QUERIES = {
    "a series": "SELECT position, avg(value) FROM series_point WHERE line = 'main' "
    "AND step = 'step-07' AND metric = 'qps' GROUP BY position ORDER BY position",
    "a series, without its line": "SELECT revision, avg(value) FROM measurement "
    "WHERE step = 'step-07' AND metric = 'cpu_us/o' GROUP BY revision",
    "a run": "SELECT step, metric, value FROM measurement WHERE run_id = "
    "(SELECT max(run_id) FROM run)",
    "a scan": "SELECT count(*), avg(value), max(value) FROM measurement",
    "a scan by metric": "SELECT metric, count(*), avg(value) FROM measurement GROUP BY metric",
}
"""Queries on the page SQL."""

ANSWERED = """
new Promise((done) => {{
  const result = document.getElementById("result");
  const began = performance.now();
  new MutationObserver((_, observer) => {{
    if (!result.dataset.milliseconds || result.getAttribute("aria-busy") !== "false") return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  }}).observe(result, {{ attributes: true }});
  delete result.dataset.milliseconds;
  location.hash = "";
  location.hash = {address!r};
}})
"""

SHOWN_VIEW = """
new Promise((done) => {{
  const began = performance.now();
  performance.clearMarks("nightshift-shown");
  const inSight = (plot) => plot.getBoundingClientRect().top < innerHeight;
  const drawn = () => [...document.querySelectorAll(".chart > .plot")].filter(inSight).every(({{ seen }}) => seen);
  const painted = () => requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  const look = () => performance.getEntriesByName("nightshift-shown").length && drawn()
    ? painted() : setTimeout(look, 1);
  location.hash = {address!r};
  look();
}})
"""  # noqa: E501


def main() -> None:
    """Make the store and its site, open it, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--revisions", type=int, default=5000)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--times", type=int, default=7, help="that each figure is taken")
    parser.add_argument("--keep", type=Path, help="leave the site in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nightshift-") as scratch:
        folder = Path(scratch)
        store = open_store(f"sqlite:///{folder / 'store.db'}")
        plan = make_plan(options.revisions, options.steps, options.repetitions)
        fill(store, plan)
        print(f"{_machine()}; {count_measurements(store)} measurements")
        site = options.keep or folder / "site"
        detected = Detected(
            plan=plan.hash, series=1, regressions=tuple(group_shifts(changes(plan)))
        )
        began = time.perf_counter()
        night = read_night(store, plan, detected, ReportSection(), {})
        page = write_site(site, plan, detected, [], night, datetime.now(UTC))
        print(f"written in {time.perf_counter() - began:.1f} s: {size(site)}")
        began = time.perf_counter()
        night = read_night(store, plan, detected, ReportSection(), {})
        report = write_page(folder / "report.html", night, detected, datetime.now(UTC))
        megabytes = report.stat().st_size / 1e6
        print(f"the report page in {time.perf_counter() - began:.1f} s: {megabytes:.1f} MB")
        with started(folder / "profile") as browser:
            measure(browser, page, options.times)
            paints = [paint(browser, report) for _ in range(options.times)]
            print(f"the report's first contentful paint {spread(paints)}")


def measure(browser: Browser, page: Path, times: int) -> None:
    """Print the paint of the first page and the way to each view."""
    paints, overviews = [], []
    views: dict[str, list[float]] = {address: [] for address in VIEWS}
    for _ in range(times):
        paints.append(paint(browser, page))
        browser.until("performance.getEntriesByName('nightshift-shown').length > 0")
        overviews.append(
            browser.run("performance.getEntriesByName('nightshift-shown')[0].startTime")
        )
        for address in VIEWS:
            views[address].append(browser.run(SHOWN_VIEW.format(address=address)))
        assert browser.complaints() == []
    measure_queries(browser, page.with_name("sql.html"), times)
    print(f"first contentful paint  {spread(paints)}")
    print(f"overview is there       {spread(overviews)}")
    for address, found in views.items():
        print(f"{address:<42} {spread(found)}")


def measure_queries(browser: Browser, page: Path, times: int) -> None:
    """Print how long queries take in a new page, and again in the same one."""
    for name, query in QUERIES.items():
        cold: list[float] = []
        warm: list[float] = []
        used: list[float] = []
        for _ in range(times):
            browser.open(Path("/dev/null"))
            browser.open(page)
            script = ANSWERED.format(address=f"#q={quote(query)}")
            for found in (cold, warm):
                before = _processor_seconds()
                found.append(browser.run(script))
                if found is warm:
                    used.append(1000 * (_processor_seconds() - before))
                assert browser.complaints() == []
        print(f"{name:<32} new page {spread(cold)}; again {spread(warm)}")
        print(f"{'':<32} processor time of the browser, again: {spread(used)}")
    print(f"the page SQL's first contentful paint {spread([paint(browser, page)])}")


def _processor_seconds() -> float:
    """Return the processor time that the processes of the browser have used."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def paint(browser: Browser, page: Path) -> float:
    """Open a page and return when something was seen of it, in milliseconds."""
    browser.open(Path("/dev/null"))
    browser.open(page, height=900)
    browser.until("performance.getEntriesByName('first-contentful-paint').length > 0")
    entry = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    return float(browser.run(entry))


def make_plan(revisions: int, steps: int, repetitions: int, mode: Mode = Mode.TIME) -> Plan:
    """Return the plan of one line of commits, r0000 and on."""
    workload = Workload(
        family="sysbench",
        name="cached",
        version="1",
        mode=mode,
        scale=Scale(tables=1, rows=20_000, clients=1, measure=1, warmup=0),
        steps=tuple(
            Step(
                name=f"step-{number:02}",
                group=GROUPS[number * len(GROUPS) // steps],
                unit="queries",
            )
            for number in range(steps)
        ),
    )
    config = ServerConfig(family="x10a", name="x10a_c2r4", text="")
    made = tuple(
        Revision(
            target="postgres",
            version=f"r{number:04}",
            order=(number,),
            major="",
            at=BEGAN + timedelta(hours=5 * number),
        )
        for number in range(revisions)
    )
    cells = tuple(
        Cell(
            revision=revision,
            build_options="gcc",
            config=config,
            machine_class="bench",
            workload=workload,
        )
        for revision in made
    )
    return Plan(
        lines=(Line(name="main", target="postgres", revisions=made, cells=cells),),
        repetitions=repetitions,
    )


def fill(store: Engine, plan: Plan) -> None:
    """Put every run of a plan into an empty store."""
    drawn = random.Random(1)
    (line,) = plan.lines
    workload, config = line.cells[0].workload, line.cells[0].config
    machine = fingerprint("bench", Path()).model_dump(mode="json")
    with store.begin() as connection:

        def add(table: str, rows: list[dict[str, object]]) -> None:
            connection.execute(insert(schema.metadata.tables[table]), rows)

        add("machine", [{"id": 1, "hash": "m", "machine_class": "bench", "fingerprint": machine}])
        add("config", [{"id": 1, "hash": "c", "family": config.family, "name": "", "text": ""}])
        add("workload", [_workload(workload)])
        add(
            "step",
            [
                {"id": place, "name": step.name, "group": step.group, "unit": step.unit}
                for place, step in enumerate(workload.steps)
            ],
        )
        add("metric", [{"id": place, "name": name} for place, name in enumerate(METRICS)])
        add("build", [_build(cell.revision, place) for place, cell in enumerate(line.cells)])
        for number, run in enumerate(_runs(plan)):
            add("run", [{"id": number, **run}])
            add("step_run", [_step_run(number, place) for place in range(len(workload.steps))])
            add("measurement", list(_measured(number, run["build_id"], line, drawn)))


def _runs(plan: Plan) -> Iterator[dict[str, object]]:
    places = {cell.key: place for place, cell in enumerate(plan.cells)}
    for number, (cell, repetition) in enumerate(plan.remaining(set())):
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
        yield {
            "run_id": cell.run_id(repetition),
            "bundle_sha256": "",
            "origin": Origin.MEASURED.value,
            "cell_key": cell.key,
            "repetition": repetition,
            "target": cell.revision.target,
            "revision": cell.revision.label,
            "revision_order": list(cell.revision.order),
            "pinning": {},
            "tools": {},
            "build_id": places[cell.key],
            "config_id": 1,
            "machine_id": 1,
            "workload_id": 1,
            "started_at": at,
            "ended_at": at + timedelta(seconds=50),
        }


def _workload(workload: Workload) -> dict[str, object]:
    return {
        "id": 1,
        "hash": workload.hash,
        "family": workload.family,
        "name": workload.name,
        "version": workload.version,
        "clients": workload.scale.clients,
        "mode": workload.mode.value,
        "definition": workload.model_dump(mode="json"),
    }


def _build(revision: Revision, place: int) -> dict[str, object]:
    return {
        "id": place,
        "hash": digest(revision.version),
        "target": revision.target,
        "version": revision.version,
        "options": "gcc",
        "program_hash": digest([revision.version, "program"]),
        "provenance": {},
    }


def _step_run(run: int, place: int) -> dict[str, object]:
    return {
        "id": run * 1000 + place,
        "run": run,
        "step": place,
        "place": place,
        "status": StepStatus.OK.value,
        "note": "",
        "timeline": [],
    }


def _measured(
    run: int, place: object, line: Line, drawn: random.Random
) -> Iterator[dict[str, object]]:
    for step in range(len(line.cells[0].workload.steps)):
        slower = step % CHANGED == 0 and isinstance(place, int) and place >= _middle(line)
        for number, (metric, level) in enumerate(METRICS.items()):
            factor = (0.9 if metric == "qps" else 1 / 0.9) if slower else 1.0
            yield {
                "step_run": run * 1000 + step,
                "metric": number,
                "value": level * factor * drawn.gauss(1, 0.01),
            }


def _middle(line: Line) -> int:
    return len(line.revisions) // 2


def changes(plan: Plan) -> list[Shift]:
    """Return the change points that are in the data, as a detection would report them."""
    (line,) = plan.lines
    cell, at = line.cells[0], _middle(line)
    return [
        Shift(
            series=SeriesKey(
                line=line.name,
                target=line.target,
                **LineSetup.of_cell(cell)._asdict(),
                step=step.name,
                group=step.group,
                unit=step.unit,
                metric="qps",
            ),
            position=at,
            earliest=at - 1,
            latest=at + 1,
            last_good=line.revisions[at - 1].label,
            first_bad=line.revisions[at].label,
            before=METRICS["qps"],
            after=0.9 * METRICS["qps"],
            effect=-0.1,
            effect_low=-0.11,
            effect_high=-0.09,
            pvalue=1e-9,
            worse=True,
        )
        for step in cell.workload.steps[::CHANGED]
    ]


def spread(milliseconds: list[float]) -> str:
    """Format the median of some times, their number and their ends."""
    return (
        f"{statistics.median(milliseconds):6.0f} ms  median of {len(milliseconds)}, "
        f"{min(milliseconds):.0f} to {max(milliseconds):.0f}"
    )


def size(folder: Path) -> str:
    """Format the size of a site."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    total = sum(path.stat().st_size for path in files) / 1e6
    first = (folder / "index.html").stat().st_size / 1e3
    return f"{total:.0f} MB in {len(files)} files, of which the first page is {first:.0f} kB"


def _machine() -> str:
    here: Machine = fingerprint("benchmark", Path())
    return f"{here.cpu_model}, {here.cores} cores, load {os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    main()
