"""Write the site from the store to a folder of files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from pipeline.environment.events import EnvironmentEvent
from pipeline.explain.explanation import Explanation
from pipeline.files.atomic_write import write_atomically
from pipeline.measure.plan import Plan
from pipeline.model import Mode, Regression, digest
from pipeline.regressions.detected import Detected
from pipeline.regressions.states import KnownRegression
from pipeline.report.grid import Grid
from pipeline.report.render.html import as_html, colour_styles
from pipeline.site.changes import changes_at
from pipeline.site.data import files_of, script, view_metrics, view_trend
from pipeline.site.database import SiteDatabase, write_database
from pipeline.site.explained import view_explained
from pipeline.site.format import Anchors, moment
from pipeline.site.functions import function_files, functions_of
from pipeline.site.machines import SiteMachines
from pipeline.site.night.write import NightReport, render_page
from pipeline.site.overview import view_regressions
from pipeline.site.page import MARK, NIGHT, SQL, STATUS, TABLES, View, render, views_of
from pipeline.site.setups import LineSetup, name_places
from pipeline.site.trends import Trend, Trends
from pipeline.storage.derive.background import SUSTAINED
from pipeline.storage.queries import RegressionRow, view_columns
from pipeline.storage.runs import machines
from pipeline.text.errors import UserError

_SCRIPTS = (
    *("data", "state", "controls", "table"),
    *("overview", "trend", "functions", "step", "flame", "regression"),
    *("compare", "sla", "machines", "site"),
)
_EXAMPLE = """\
SELECT line, revision, step, avg(value) AS qps, count(*) AS runs
FROM series_point WHERE metric = 'qps'
GROUP BY line, position, revision, step ORDER BY line, step, position LIMIT 100"""
"""The query that the page SQL begins with."""

_TABLES = "Tables of chosen columns", ""
_STATUS = (
    "Status",
    "Every series against its last accepted level, by day. A dot is a value within the smallest "
    "change of interest. `nightshift ack FINGERPRINT --note REASON` accepts the level after a "
    "change.",
)
"""Headings of pages of tables, and what they show."""

_STAMP = 12
"""Length of the hash that distinguishes the data folders of successive sites."""


def write_site(
    folder: Path,
    plan: Plan,
    detected: Detected,
    known: Sequence[KnownRegression],
    night: NightReport,
    now: datetime,
    issues: Mapping[str, Path] | None = None,
    events: Sequence[EnvironmentEvent] = (),
    explanations: Sequence[tuple[Regression, Explanation]] = (),
    tables: Sequence[Grid] = (),
    status: Sequence[Grid] = (),
    rows: Sequence[RegressionRow] = (),
    results: Path | None = None,
    sql: bool = True,
) -> Path:
    """Write the site of a plan into ``folder`` and return its first page.

    ``detected`` is the result of the last detection, ``known`` has all known regressions, ``night``
    is the data of the report, ``now`` the time with its zone. ``issues`` are the files of
    regressions by fingerprint, for links. ``events`` are changes of the machines, the newest first.
    ``explanations`` are the explained regressions, each of which gets a page. ``tables`` are the
    tables of chosen columns, which share one page. ``status`` has the
    series against their accepted levels, on a page of their own. ``rows`` are the regressions as
    the page SQL shows them; with ``results``, it links to the bundles in that folder. Without
    ``sql`` there is no page SQL.

    The data are written to a new folder, then the new pages replace the old ones, then the old data
    are deleted. If the process is killed at any moment, ``folder`` holds a complete site. Raises
    UserError if the site cannot be written, or if ``folder`` has a page that nightshift did not
    write.
    """
    page = folder / "index.html"
    data = folder / f"data-{digest([now, plan.hash])[:_STAMP]}"
    try:
        if page.exists() and MARK not in page.read_text(encoding="utf-8", errors="replace"):
            raise UserError(
                f"{page} was not written by nightshift; choose another folder with --output"
            )
        data.mkdir(parents=True, exist_ok=True)
        index = _write_data(data, night.trends, plan, detected, events)
        names = index.pop("names")
        explained = _write_explained(data, explanations, names)
        index |= {
            "data": data.name,
            "written": moment(now),
            "report": NIGHT,
            "limits": {
                "worse": night.limits.worse,
                "better": night.limits.better,
                "sustained": SUSTAINED,
            },
            "regressions": view_regressions(
                detected,
                known,
                names,
                {name: _link(path, folder) for name, path in (issues or {}).items()},
                explained,
            ),
        }
        sla = any(trend["sla"] for trend in index["trends"])
        views = partial(views_of, sla=sla, tables=bool(tables), status=bool(status), sql=sql)
        write_atomically(folder / NIGHT, render_page(night, detected, now, views(NIGHT)))
        _write_tables(folder / TABLES, tables, views(TABLES), index["written"], _TABLES)
        _write_tables(folder / STATUS, status, views(STATUS), index["written"], _STATUS)
        if sql:
            database = write_database(data, night.trends.store, plan, rows)
            base = _link(results, folder) if results is not None else ""
            _write_sql(folder / SQL, data.name, database, base, views(SQL), index["written"])
        else:
            (folder / SQL).unlink(missing_ok=True)
        write_atomically(
            page,
            render(
                "site.html.j2",
                _SCRIPTS,
                index,
                views=views(page.name),
                loads=True,
                written=index["written"],
            ),
        )
    except OSError as error:
        shutil.rmtree(data, ignore_errors=True)
        raise UserError(
            f"the site {folder} cannot be written ({error.strerror}); correct this and run "
            "`nightshift site`"
        ) from error
    for other in folder.glob(f"data-{'[0-9a-f]' * _STAMP}"):
        if other != data:
            shutil.rmtree(other, ignore_errors=True)
    return page


def _write_data(
    data: Path,
    trends: Trends,
    plan: Plan,
    detected: Detected,
    events: Sequence[EnvironmentEvent],
) -> dict[str, Any]:
    """Write the data files of the site; return the data that is in the page itself.

    Trends are written one after the other, so that only one is in memory.
    """
    changes = changes_at(detected.regressions)
    anchors, names = Anchors(), Anchors()
    met = SiteMachines(machines(trends.store))
    named: dict[tuple[str, LineSetup], str] = {}
    views, metrics = [], set[str]()
    for number, trend in enumerate(trends.of(plan)):
        name = names.new(*_name(trend))
        named[trend.line.name, trend.setup] = name
        steps = ((trend.line.name, trend.setup, step.name) for step in trend.steps)
        functions = functions_of(trends.store, trend) if trend.mode is Mode.COUNT else {}
        places = name_places(steps, anchors)
        views.append(view_trend(trend, name, str(number), places, functions))
        metrics |= set(trend.metrics)
        (data / str(number)).mkdir(exist_ok=True)
        for file, content in chain(
            files_of(trend, str(number), changes),
            function_files(trend, str(number), functions),
        ):
            _write(data / f"{file}.js", content)
        met.add(trend, name)
    _write(data / "machines.js", script("machines", met.document(events)))
    return {"trends": views, "metrics": view_metrics(metrics), "names": named}


def _write_explained(
    data: Path,
    explanations: Sequence[tuple[Regression, Explanation]],
    names: Mapping[tuple[str, LineSetup], str],
) -> dict[str, str]:
    """Write the data of the pages about regressions; return their names by fingerprint."""
    written = {}
    for number, (regression, explanation) in enumerate(explanations):
        name = f"regression-{number}"
        content = script(name, view_explained(regression, explanation, names))
        _write(data / f"{name}.js", content)
        written[regression.fingerprint] = name
    return written


def _write_tables(
    page: Path,
    tables: Sequence[Grid],
    views: Sequence[View],
    written: str,
    about: tuple[str, str],
) -> None:
    """Write a page of tables; without tables, remove an older one.

    ``about`` is the heading of the page, and what it shows.
    """
    if not tables:
        page.unlink(missing_ok=True)
        return
    text = render(
        "tables.html.j2",
        (),
        {},
        views=views,
        styles=colour_styles(),
        # The renderer escapes all text.
        heading=about[0],
        explained=about[1],
        tables=[Markup(as_html(grid)) for grid in tables],  # noqa: S704
        written=written,
    )
    write_atomically(page, text)


def _write_sql(
    page: Path,
    data: str,
    database: SiteDatabase,
    results: str,
    views: Sequence[View],
    written: str,
) -> None:
    """Write the page for queries on the database of the site."""
    document = {
        "trends": [],
        "metrics": {},
        "data": data,
        "results": results,
        "database": {"size": database.size, "part": database.part},
    }
    notes = []
    if database.timelines < database.all_timelines:
        notes.append(
            f"step_second has the newest {database.timelines} of {database.all_timelines} steps; "
            "`nightshift sql` has all."
        )
    if database.costs < database.all_costs:
        notes.append(
            f"function_cost has the newest {database.costs} of {database.all_costs} costs; "
            "`nightshift sql` has all."
        )
    text = render(
        "sql.html.j2",
        ("data", "sql"),
        document,
        views=views,
        loads=True,
        engine=True,
        example=_EXAMPLE,
        columns=view_columns(),
        notes=notes,
        written=written,
    )
    write_atomically(page, text)


def _name(trend: Trend) -> tuple[str, ...]:
    """Return the name of a trend in links, the same every night."""
    setup = trend.setup
    clients = f"{setup.clients}c"
    return (
        *(trend.line.name, setup.workload, clients),
        *(setup.config, setup.build_options, setup.machine_class),
    )


def _write(path: Path, content: str) -> None:
    path.write_text(content, encoding="ascii")


def _link(path: Path, folder: Path) -> str:
    return quote(os.path.relpath(path.resolve(), folder.resolve()))
