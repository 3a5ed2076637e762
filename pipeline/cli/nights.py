"""The verb `nights`: list the last nights and their results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.storage.journal import now
from pipeline.storage.night_log import Night
from pipeline.text.units import plural, show_duration, show_money
from pipeline.use_cases.context import Context
from pipeline.use_cases.nights import NightFindings, list_nights

_SHOWN = 14
"""Number of listed nights: two weeks."""

_HEAD = ("began (UTC)", "took", "runs", "failed", "unbuilt", "left", "new", "confirmed")
"""Headings of the number columns; time and errors follow without a heading."""


@app.command("nights")
def nights_verb(
    config: ConfigOption = DEFAULT_FILE,
    last: Annotated[int, typer.Option(min=1, help="Number of nights to list.")] = _SHOWN,
    form: FormatOption = Format.TEXT,
) -> None:
    """List the last nights and their results.

    The columns are: measured runs, failed steps, failed builds, remaining runs, new regressions,
    confirmed regressions. Machine time and errors follow.

    Example: nightshift nights --last 30
    """
    nights = list_nights(Context(config))
    shown = nights[-last:]
    if form is Format.JSON:
        print_json([_tree(row) for row in shown])
        return
    if not nights:
        out.print("there was no night yet; `nightshift nightly` runs one")
        return
    for row, line in zip([None, *shown], _table(shown), strict=True):
        failed = row is not None and row.night.error
        out.print(line, style="yellow" if failed else None, markup=False)
    out.print(_now([row.night for row in nights], now()), markup=False)


def _table(nights: Sequence[NightFindings]) -> list[str]:
    """Return a heading and a line for each night, in aligned columns."""
    rows = [_HEAD, *(_figures(row) for row in nights)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    ends = ["machine time", *(_end(row.night) for row in nights)]
    return [
        "  ".join([*(text.rjust(width) for text, width in zip(row, widths, strict=True)), end])
        for row, end in zip(rows, ends, strict=True)
    ]


def _figures(row: NightFindings) -> tuple[str, ...]:
    night = row.night
    figures = (
        night.runs,
        night.failed_steps,
        night.unbuilt,
        night.queue,
        len(row.found),
        len(row.confirmed),
    )
    return (
        f"{night.began:%Y-%m-%d %H:%M}",
        show_duration(night.seconds),
        *("-" if figure is None else str(figure) for figure in figures),
    )


def _end(night: Night) -> str:
    """Return as text how long a night measured and how it ended."""
    spent = [f"{on} {show_duration(seconds)}" for on, seconds in night.spent.items() if seconds]
    lacking = len(night.harness_errors)
    harness = plural(lacking, "run lost to harness errors", "runs lost to harness errors")
    disturbed = f"{plural(night.disturbed, 'run')} disturbed" if night.disturbed else ""
    parts = (", ".join(spent) or "none", disturbed, harness if lacking else "", night.error)
    return "; ".join(part for part in parts if part)


def _now(nights: Sequence[Night], at: datetime) -> str:
    """Return as text when the last night was, and how long all nights have measured.

    If the clock was set back, the end of the last night lies in the future.
    """
    last = nights[-1]
    seconds = (at - last.ended).total_seconds()
    ended = f"ended {show_duration(seconds)} ago" if seconds >= 0 else "ended in the future"
    minutes = sum(last.spent_so_far.values())
    spent = f"; {show_duration(60 * minutes)} measured in all" if minutes else ""
    money = f" ({show_money(last.money)})" if last.money is not None else ""
    return f"{plural(len(nights), 'night')}, the last {ended}{spent}{money}"


def _tree(row: NightFindings) -> dict[str, Any]:
    return {
        **row.night.model_dump(mode="json"),
        "seconds": row.night.seconds,
        "new": sorted(row.found),
        "confirmed": sorted(row.confirmed),
    }
