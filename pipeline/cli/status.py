"""The verb `status`: compare the newest results with the levels that people have accepted."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.regressions.accepted import SeriesStatus
from pipeline.report.render.text import as_text
from pipeline.text.units import plural
from pipeline.use_cases.planning import PlanningContext
from pipeline.use_cases.status import DAYS, Status, grids_of_status, read_status


@app.command("status")
def status_verb(
    line: Annotated[str, typer.Option(help="Only the line with this name.")] = "",
    days: Annotated[
        int, typer.Option(min=1, max=100, help="Number of newest days with results to show.")
    ] = DAYS,
    every: Annotated[
        bool, typer.Option("--all", help="Show also the series that are at their level.")
    ] = False,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Compare every series with its last accepted level, day by day.

    The accepted level is the one at the anchor of a line, until a decision sets another: `ack` and
    `wontfix` accept the level after a change, with --note as the reason.

    Example: nightshift status --line postgres-17 --days 7
    """
    context = PlanningContext(config, quick)
    status = read_status(context, context.plan(), days, line)
    if form is Format.JSON:
        print_json([_tree(row, status) for row in status.rows])
        return
    off = status.off
    worse = sum(row.newest.tone == "worse" for row in off)
    out.print(
        f"{worse} of {plural(len(status.rows), 'series', 'series')} worse than accepted, "
        f"{len(off) - worse} better",
        markup=False,
    )
    for grid in grids_of_status(context, status, status.rows if every else off):
        out.print(as_text(grid))


def _tree(row: SeriesStatus, status: Status) -> dict[str, Any]:
    key, level = row.key, row.level
    return {
        **key.model_dump(mode="json"),
        "mode": key.mode.value,
        "level": level.value,
        "since": level.revision,
        "fingerprint": level.fingerprint or None,
        "by": level.by or None,
        "at": level.at,
        "note": level.note or None,
        "days": {
            day.isoformat(): row.days[day]._asdict() if day in row.days else None
            for day in status.days
        },
    }
