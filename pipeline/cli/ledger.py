"""The verb `ledger`: show the cost of alarms and the smallest detectable changes."""

from __future__ import annotations

import math
from typing import Any

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.ledger.ledger import VERDICTS, Alarm, Ledger, Sensitivity
from pipeline.ledger.machine_time import Spent, cost_of
from pipeline.model import RegressionKind
from pipeline.text.units import Money, plural, show_duration, show_money
from pipeline.use_cases.ledger import ledger_of
from pipeline.use_cases.measuring import MeasuringContext

_SHOWN = 20
"""Number of listed series, the least sensitive first; a setup has thousands."""


@app.command("ledger")
def ledger_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Show the cost of alarms and the smallest detectable changes.

    It lists the outcome of every alarm and the time spent on it, and for every series the smallest
    change that detection finds in about 8 of 10 cases.

    Example: nightshift ledger --format json
    """
    context = MeasuringContext(config, quick)
    ledger = ledger_of(context)
    price = context.config.machine.price_per_hour
    if form is Format.JSON:
        print_json(_tree(ledger, price))
        return
    ended = ", ".join(f"{ledger.count(verdict)} {verdict}" for verdict in VERDICTS)
    out.print(f"{plural(len(ledger.alarms), 'alarm')}: {ended}", markup=False)
    for alarm in ledger.alarms:
        out.print(_alarm(alarm, price), markup=False)
    out.print(_spent(ledger.spent, price), markup=False)
    out.print(
        f"{plural(len(ledger.series), 'series', 'series')}, whose thresholds allow "
        f"{ledger.wrong_issues_per_month:.2g} wrong issues a month"
    )
    if ledger.series:
        out.print(
            "smallest change that detection finds in about 8 of 10 cases, in the middle of a "
            "series and at its newest 5 positions:"
        )
        out.print("  middle   newest 5")
    for one in ledger.series[:_SHOWN]:
        out.print(_series(one), markup=False)
    if len(ledger.series) > _SHOWN:
        out.print(
            f"  {len(ledger.series) - _SHOWN} other series can show smaller changes; --format "
            "json lists all series"
        )


def _alarm(alarm: Alarm, price: Money | None) -> str:
    way = "worse " if alarm.worse else "better"
    minutes = alarm.spent.minutes
    spent = f", {show_duration(60 * minutes)}{_money(minutes, price)}" if minutes else ""
    kind = "" if alarm.kind is RegressionKind.LEVEL else f" ({alarm.kind.value})"
    verdict = "" if alarm.verdict == alarm.state.value else f", {alarm.verdict}"
    return (
        f"  {alarm.fingerprint}  {alarm.raised:%Y-%m-%d}  {way}  {alarm.line}: "
        f"{alarm.last_good} -> {alarm.first_bad}{kind}  {alarm.state.value}{verdict}{spent}"
    )


def _spent(spent: Spent, price: Money | None) -> str:
    """Return the machine time of nights and experiments as text, in all and by purpose."""
    parts = [f"{name} {show_duration(60 * minutes)}" for name, minutes in spent if minutes]
    of = f": {', '.join(parts)}" if parts else ""
    at = f"; an hour is {show_money(price)}" if price is not None else ""
    total = spent.minutes
    return f"{show_duration(60 * total)}{_money(total, price)} measured{of}{at}"


def _money(minutes: float, price: Money | None) -> str:
    """Return what some minutes of the machine cost, in parentheses; empty without a price."""
    return f" ({show_money(cost_of(minutes, price))})" if price is not None else ""


def _series(one: Sensitivity) -> str:
    key = one.series
    effect, fresh = (
        f"{size:.1%}" if math.isfinite(size) else "none"
        for size in (one.detectable_effect, one.detectable_fresh)
    )
    return (
        f"  {effect:>6}  {fresh:>9}  {key.line}: {key.step} {key.metric}  ({key.workload}, "
        f"{plural(key.clients, 'client')}, {plural(one.positions, 'position')})"
    )


def _tree(ledger: Ledger, price: Money | None) -> dict[str, Any]:
    """Return the ledger of alarms as a JSON object."""
    return {
        "alarms": len(ledger.alarms),
        **{verdict.replace(" ", "_"): ledger.count(verdict) for verdict in VERDICTS},
        **_spent_tree(ledger.spent, price),
        "wrong_issues_per_month": ledger.wrong_issues_per_month,
        "regressions": [
            {
                **alarm.model_dump(mode="json", exclude={"spent"}),
                **_spent_tree(alarm.spent, price),
            }
            for alarm in ledger.alarms
        ],
        "series": [
            {**one.series.model_dump(), **one.model_dump(exclude={"series"})}
            for one in ledger.series
        ],
    }


def _spent_tree(spent: Spent, price: Money | None) -> dict[str, Any]:
    tree = {"minutes": spent.minutes, "spent": spent.model_dump()}
    if price is None:
        return tree
    cost = cost_of(spent.minutes, price)
    return {**tree, "money": cost.amount, "currency": cost.currency}
