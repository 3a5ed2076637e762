"""Write the report of a night: read the store once, then write one file or a page of the site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup
from sqlalchemy import Engine

from pipeline.config import ReportSection
from pipeline.explain.settings import PER_RUN_SETTINGS
from pipeline.files.atomic_write import write_atomically
from pipeline.measure.plan import Plan
from pipeline.model import Regression
from pipeline.regressions.detected import Detected
from pipeline.report.render.html import colour_styles
from pipeline.site.format import Anchors
from pipeline.site.night.charts import Charts
from pipeline.site.night.data import LineData, gather
from pipeline.site.night.layouts import view_layouts
from pipeline.site.night.lines import LineView, view_lines
from pipeline.site.night.machine import runs_of, view_builds, view_machines, view_settings
from pipeline.site.night.recent import Positions, moved, recent
from pipeline.site.night.summary import summarise
from pipeline.site.page import View, render, render_part
from pipeline.site.setups import Place, name_places
from pipeline.site.trends import Trends, kept_metrics
from pipeline.storage.runs import settings_of
from pipeline.text.errors import UserError

_SCRIPTS = ("overtime", "responses", "scaleup", "night")


class DrawnLines(NamedTuple):
    """The lines and charts of the report as they were drawn for some regressions."""

    regressions: Sequence[Regression]
    places: Mapping[Place, str]
    views: Sequence[LineView]
    charts: Mapping[str, Any]
    sections: Markup


class NightReport(NamedTuple):
    """The data of a night from the store, for the report and for the site.

    ``plan`` has the revisions that are shown, and ``positions`` their positions in the whole plan.
    ``left_out`` is the number of other revisions, by line. ``unbuilt`` has the reasons of failed
    builds, by the keys of cells. ``fixed`` are the parts of the page that regressions do not
    change. ``trends`` reads from the store, for the site. ``drawn`` keeps the rendered lines, so
    that the page of the site shows the same as the report.
    """

    trends: Trends
    plan: Plan
    positions: Positions
    left_out: Mapping[str, int]
    lines: Sequence[LineData]
    unbuilt: Mapping[str, str]
    limits: ReportSection
    fixed: Mapping[str, Any]
    drawn: list[DrawnLines]


def read_night(
    store: Engine,
    plan: Plan,
    detected: Detected,
    limits: ReportSection,
    unbuilt: Mapping[str, str],
    results: Path | None = None,
    *,
    save: bool = False,
) -> NightReport:
    """Read from the store what the report shows; of long lines only a part.

    ``results`` and ``save`` are for :class:`Trends`.
    """
    shown, positions = recent(plan, detected)
    left_out = {line.name: len(line.revisions) - len(positions[line.name]) for line in plan.lines}
    trends = Trends(store, results, save=save, metrics=kept_metrics(plan.lines))
    lines = gather(trends, shown)
    runs = runs_of(lines)
    return NightReport(
        trends=trends,
        plan=shown,
        positions=positions,
        left_out=left_out,
        lines=lines,
        unbuilt=unbuilt,
        limits=limits,
        fixed={
            "layouts": {line.name: view_layouts(store, line, limits) for line in shown.lines},
            "machines": view_machines(runs),
            "builds": view_builds(runs),
            "settings": view_settings(lines, lambda settings_id: settings_of(store, settings_id)),
            "per_run": PER_RUN_SETTINGS,
        },
        drawn=[],
    )


def write_page(path: Path, night: NightReport, detected: Detected, now: datetime) -> Path:
    """Write the report of a night to a file, completely or not at all.

    ``detected`` is the last detection with its states, ``now`` the time the page is written, with
    its zone. Raises UserError when the file cannot be written.
    """
    text = render_page(night, detected, now)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return write_atomically(path, text)
    except OSError as error:
        raise UserError(
            f"the report {path} cannot be written ({error.strerror}); correct this and run "
            "`nightshift report`"
        ) from error


def render_page(
    night: NightReport, detected: Detected, now: datetime, views: Sequence[View] = ()
) -> str:
    """Return the report of a night as HTML; ``views`` are links to other pages."""
    lines = _drawn(night, moved(detected, night.positions).regressions)
    return render(
        "night.html.j2",
        _SCRIPTS,
        lines.charts,
        views=views,
        styles=colour_styles(),
        summary=summarise(night.lines, night.plan, detected, lines.places, now),
        lines=lines.views,
        sections=lines.sections,
        limits=night.limits,
        **night.fixed,
    )


def _drawn(night: NightReport, regressions: Sequence[Regression]) -> DrawnLines:
    """Return the lines of the report; they are drawn again only if the regressions changed."""
    if not night.drawn or night.drawn[0].regressions != regressions:
        night.drawn[:] = [_draw(night, regressions)]
    return night.drawn[0]


def _draw(night: NightReport, regressions: Sequence[Regression]) -> DrawnLines:
    anchors = Anchors()
    places = name_places(
        (
            (line.line.name, part.setup, step.step.name)
            for line in night.lines
            for part in line.setups
            for step in part.steps
        ),
        anchors,
    )
    charts = Charts(night.lines)
    limits = night.limits
    views = view_lines(night.lines, regressions, places, anchors, limits, charts, night.unbuilt)
    sections = render_part(
        "lines.html.j2",
        lines=views,
        left_out=night.left_out,
        limits=limits,
        layouts=night.fixed["layouts"],
    )
    return DrawnLines(regressions, places, views, charts.document(), sections)
