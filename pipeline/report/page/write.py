"""From the facts to one HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from plotly.offline import get_plotlyjs
from sqlalchemy import Engine

from pipeline.analyse.detected import Detected
from pipeline.analyse.explain.settings import PER_RUN_SETTINGS
from pipeline.config import ReportSection
from pipeline.durable import write_whole
from pipeline.errors import UserError
from pipeline.execute.plan import Plan
from pipeline.report.assets import program, styles
from pipeline.report.page.charts import Charts
from pipeline.report.page.data import gather
from pipeline.report.page.layouts import view_layouts
from pipeline.report.page.lines import view_lines
from pipeline.report.page.machine import (
    runs_of,
    view_builds,
    view_machines,
    view_settings,
)
from pipeline.report.page.recent import recent
from pipeline.report.page.summary import summarise
from pipeline.report.render.html import colour_styles
from pipeline.report.safety import embedded, policy
from pipeline.report.setups import name_places
from pipeline.report.wording import Anchors
from pipeline.store.queries import settings_of

_PACKAGE = "pipeline.report.page"
_SCRIPTS = ("common", "trend", "overtime", "responses", "scaleup", "page")


def write_page(
    path: Path,
    store: Engine,
    plan: Plan,
    detected: Detected,
    settings: ReportSection,
    unbuilt: Mapping[str, str],
    now: datetime,
) -> Path:
    """Write the report of a plan's lines to ``path``, whole or not at all, and return it.

    ``detected`` is what the last detection found, ``unbuilt`` says by the keys of cells why
    revisions have no build, ``now`` is the time the page is written, with
    its zone. Raises UserError when the file cannot be written.
    """
    text = render_page(store, plan, detected, settings, unbuilt, now)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(path, text)
    except OSError as error:
        raise UserError(
            f"the report {path} cannot be written: {error.strerror}; mend it and run "
            "`nightshift report`"
        ) from error


def render_page(
    store: Engine,
    plan: Plan,
    detected: Detected,
    settings: ReportSection,
    unbuilt: Mapping[str, str],
    now: datetime,
) -> str:
    """Return the page as text."""
    plan, detected, left_out = recent(plan, detected)
    lines = gather(store, plan)
    anchors = Anchors()
    places = name_places(
        (
            (line.line.name, part.setup, step.step.name)
            for line in lines
            for part in line.setups
            for step in part.steps
        ),
        anchors,
    )
    charts = Charts(lines)
    views = view_lines(lines, detected.regressions, places, anchors, settings, charts, unbuilt)
    runs = runs_of(lines)
    return _render(
        {
            "summary": summarise(lines, plan, detected, places, now),
            "lines": views,
            "left_out": left_out,
            "layouts": {line.name: view_layouts(store, line, settings) for line in plan.lines},
            "machines": view_machines(runs),
            "builds": view_builds(runs),
            "settings": view_settings(lines, lambda settings_id: settings_of(store, settings_id)),
            "per_run": PER_RUN_SETTINGS,
            "limits": settings,
        },
        charts.document(),
    )


def _render(facts: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """Fill the template. Values are escaped by it; only our own files are taken as they are."""
    environment = Environment(
        loader=PackageLoader(_PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    scripts = {"library": get_plotlyjs(), "script": program(_PACKAGE, _SCRIPTS)}
    return environment.get_template("page.html.j2").render(
        facts,
        style=styles(_PACKAGE, "page.css") + colour_styles(),
        document=embedded(document),
        policy=policy(scripts.values()),
        **scripts,
    )
