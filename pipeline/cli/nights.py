"""The verb nights."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.context import Context
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.journal import Event, EventKind, Journal, now
from pipeline.nights import Night, Nights, told_in
from pipeline.units import counted, show_duration, show_money

_SHOWN = 14
"""Nights that are listed: two weeks of them."""

_HEAD = ("began (UTC)", "took", "runs", "failed", "unbuilt", "left", "new", "confirmed")
"""Headings of the columns of figures, which what was spent and what went wrong stand behind."""


@app.command("nights")
def nights_verb(
    config: ConfigOption = DEFAULT_FILE,
    last: Annotated[int, typer.Option(min=1, help="How many are listed.")] = _SHOWN,
    form: FormatOption = Format.TEXT,
) -> None:
    """List the last nights and their results.

    Runs that were measured, steps that failed in them, builds that could not be had and runs that
    are left; regressions that are new and those that were confirmed; machine time.

    Example: nightshift nights --last 30
    """
    context = Context(config)
    nights = Nights(context.results).read()
    events = Journal(context.results).read()
    shown = nights[-last:]
    if form is Format.JSON:
        print_json([_tree(night, events) for night in shown])
        return
    if not nights:
        out.print("there was no night yet; `nightshift nightly` does one")
        return
    for night, line in zip([None, *shown], _table(shown, events), strict=True):
        out.print(line, style="yellow" if night is not None and night.error else None, markup=False)
    out.print(_now(nights, now()), markup=False)


def _table(nights: Sequence[Night], events: Sequence[Event]) -> list[str]:
    """Return the heading and a line for each night, the columns of figures below each other."""
    rows = [_HEAD, *(_figures(night, events) for night in nights)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    ends = ["machine time", *(_end(night) for night in nights)]
    return [
        "  ".join([*(text.rjust(width) for text, width in zip(row, widths, strict=True)), end])
        for row, end in zip(rows, ends, strict=True)
    ]


def _figures(night: Night, events: Sequence[Event]) -> tuple[str, ...]:
    told = told_in(night, events)
    figures = (
        night.runs,
        night.failed_steps,
        night.unbuilt,
        night.queue,
        len(told[EventKind.FOUND]),
        len(told[EventKind.CONFIRMED]),
    )
    return (
        f"{night.began:%Y-%m-%d %H:%M}",
        show_duration(night.seconds),
        *("-" if figure is None else str(figure) for figure in figures),
    )


def _end(night: Night) -> str:
    """Say what a night spent on what, and what it ended with."""
    spent = [f"{on} {show_duration(seconds)}" for on, seconds in night.spent.items() if seconds]
    return "; ".join(part for part in (", ".join(spent) or "none", night.error) if part)


def _now(nights: Sequence[Night], at: datetime) -> str:
    """Say how long ago the last night was, and what all of them cost."""
    last = nights[-1]
    ago = show_duration((at - last.ended).total_seconds())
    minutes = sum(last.spent_so_far.values())
    spent = f"; {show_duration(60 * minutes)} measured in all" if minutes else ""
    money = f" ({show_money(last.money)})" if last.money is not None else ""
    return f"{counted(len(nights), 'night')}, the last ended {ago} ago{spent}{money}"


def _tree(night: Night, events: Sequence[Event]) -> dict[str, Any]:
    told = told_in(night, events)
    return {
        **night.model_dump(mode="json"),
        "seconds": night.seconds,
        "new": sorted(told[EventKind.FOUND]),
        "confirmed": sorted(told[EventKind.CONFIRMED]),
    }
