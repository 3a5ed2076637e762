"""The verb costs, of the group fleet."""

from __future__ import annotations

from pipeline.analyse.bills import Bills, NightBill, RegressionBill, make_bills, measured_runs
from pipeline.analyse.refresh import refresh
from pipeline.cli.console import out
from pipeline.cli.context import Context
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.journal import now
from pipeline.servers import Servers, lives
from pipeline.store.regressions import stored_regressions
from pipeline.units import Money, counted, show_duration, show_money


def costs_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Show what nights, runs and confirmed regressions cost.

    It reads the record of servers and the bundles, and asks nobody.

    Example: nightshift fleet costs --format json
    """
    context = Context(config)
    moment = now()
    refresh(context.results, context.store, moment)
    bills = make_bills(
        list(lives(Servers(context.results).read()).values()),
        measured_runs(context.results, context.store),
        stored_regressions(context.store),
        moment,
    )
    if form is Format.JSON:
        print_json({**bills.model_dump(mode="json"), "cost": bills.cost})
        return
    for night in bills.nights:
        out.print(_night(night, bills), markup=False)
    for regression in bills.regressions:
        out.print(_regression(regression, bills), markup=False)
    out.print(_sum(bills), markup=False)


def _night(night: NightBill, bills: Bills) -> str:
    servers = f"{counted(night.servers, 'server')}, {night.hours} h"
    line = f"night {night.night}: {servers}, {show_money(bills.money(night.cost))}"
    if night.runs:
        each = _exactly(bills.money((night.cost - night.unused) / night.runs))
        took = show_duration(60 * night.minutes)
        line += f"; {counted(night.runs, 'run')} in {took}, {each} each"
    if night.unused:
        line += f"; {show_money(bills.money(night.unused))} where nothing was measured"
    return line


def _regression(found: RegressionBill, bills: Bills) -> str:
    parts = ", ".join(
        f"{name} {_exactly(bills.money(cost))}"
        for name, cost in (
            ("confirm", found.confirm),
            ("bisect", found.bisect),
            ("explain", found.explain),
        )
        if cost
    )
    told = (
        f"{_exactly(bills.money(found.cost))} ({parts})" if parts else "nothing on rented servers"
    )
    return f"{found.fingerprint}  {found.line}: {found.last_good} -> {found.first_bad}  {told}"


def _sum(bills: Bills) -> str:
    if not bills.nights:
        return "no server was rented"
    unused = sum(night.unused for night in bills.nights)
    return (
        f"{show_money(bills.money(bills.cost))} in all, "
        f"{show_money(bills.money(unused))} of it where nothing was measured"
    )


def _exactly(price: Money) -> str:
    """Write what little a run costs, of which hundredths are not enough."""
    return f"{price.amount:.4f} {price.currency}"
