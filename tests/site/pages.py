"""Reports and sites of a store, with the default limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from pipeline.config import ReportSection
from pipeline.measure.plan import Plan
from pipeline.regressions.detected import Detected
from pipeline.regressions.states import KnownRegression
from pipeline.site import write_site
from pipeline.site.night import read_night, write_page


def report_page(
    path: Path,
    store: Engine,
    plan: Plan,
    detected: Detected,
    now: datetime,
    unbuilt: Mapping[str, str] | None = None,
) -> Path:
    """Read a night and write its report."""
    night = read_night(store, plan, detected, ReportSection(), unbuilt or {})
    return write_page(path, night, detected, now)


def site_page(
    folder: Path,
    store: Engine,
    plan: Plan,
    detected: Detected,
    now: datetime,
    known: Sequence[KnownRegression] = (),
    **more: Any,
) -> Path:
    """Write the site of a night and return its first page."""
    night = read_night(store, plan, detected, ReportSection(), {})
    return write_site(folder, plan, detected, known, night, now, **more)
