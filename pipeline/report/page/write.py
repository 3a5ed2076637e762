"""From the facts to one HTML file."""

from __future__ import annotations

import base64
import contextlib
import hashlib
from collections.abc import Mapping
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from plotly.offline import get_plotlyjs
from sqlalchemy import Engine

from pipeline.analyse.detection import Detected
from pipeline.analyse.explain.settings import PER_RUN_SETTINGS
from pipeline.config import ReportSection
from pipeline.errors import UserError
from pipeline.execute.plan import Plan
from pipeline.report.page.charts import Charts, embedded
from pipeline.report.page.data import gather
from pipeline.report.page.layouts import view_layouts
from pipeline.report.page.lines import name_places, view_lines
from pipeline.report.page.machine import (
    runs_of,
    view_builds,
    view_machines,
    view_settings,
)
from pipeline.report.page.summary import summarise
from pipeline.report.page.wording import Anchors
from pipeline.report.render.html import colour_styles
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
    partial = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        return partial.rename(path)
    except OSError as error:
        # Where even this fails there is nothing to remove.
        with contextlib.suppress(OSError):
            partial.unlink()
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
    lines = gather(store, plan)
    anchors = Anchors()
    places = name_places(lines, anchors)
    charts = Charts(lines)
    views = view_lines(lines, detected.regressions, places, anchors, settings, charts, unbuilt)
    runs = runs_of(lines)
    return _render(
        {
            "summary": summarise(lines, plan, detected, places, now),
            "lines": views,
            "layouts": {line.name: view_layouts(store, line, settings) for line in plan.lines},
            "machines": view_machines(runs),
            "builds": view_builds(runs),
            "settings": view_settings(lines, lambda settings_id: settings_of(store, settings_id)),
            "left_out": PER_RUN_SETTINGS,
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
    # In one function, so that no name of ours meets one of the library's.
    own = "\n".join(_own(f"scripts/{name}.js") for name in _SCRIPTS)
    scripts = {"library": get_plotlyjs(), "script": f'"use strict";\n(() => {{\n{own}\n}})();'}
    return environment.get_template("page.html.j2").render(
        facts,
        style=_own("page.css") + colour_styles(),
        document=embedded(document),
        policy=_policy(scripts.values()),
        **scripts,
    )


def _own(name: str) -> str:
    return (files(_PACKAGE) / name).read_text(encoding="utf-8")


def _policy(scripts: Any) -> str:
    """Return a content security policy: these scripts, inline styles, and no network at all.

    It holds even if a value from a server should ever reach the page unescaped.
    """
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
