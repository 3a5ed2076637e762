"""Text lines for what rented servers cost: one for each night and each regression."""

from __future__ import annotations

from pipeline.ledger.cost_allocation import Bills, NightBill, RegressionBill
from pipeline.text.units import plural, show_duration, show_money, show_small_money


def cost_lines(bills: Bills) -> list[str]:
    """Return a line for each night and regression with its cost; the last line is the sum."""
    return [
        *(_night(night, bills) for night in bills.nights),
        *(_regression(regression, bills) for regression in bills.regressions),
        _sum(bills),
    ]


def _night(night: NightBill, bills: Bills) -> str:
    servers = f"{plural(night.servers, 'server')}, {night.hours} h"
    line = f"night {night.night}: {servers}, {show_money(bills.money(night.cost))}"
    if night.runs:
        each = show_small_money(bills.money((night.cost - night.unused) / night.runs))
        took = show_duration(60 * night.minutes)
        line += f"; {plural(night.runs, 'run')} in {took}, {each} each"
    if night.unused:
        line += f"; {show_money(bills.money(night.unused))} for servers that measured nothing"
    return line


def _regression(found: RegressionBill, bills: Bills) -> str:
    parts = ", ".join(
        f"{name} {show_small_money(bills.money(cost))}"
        for name, cost in (
            ("confirm", found.confirm),
            ("bisect", found.bisect),
            ("explain", found.explain),
        )
        if cost
    )
    reported = (
        f"{show_small_money(bills.money(found.cost))} ({parts})"
        if parts
        else "nothing on rented servers"
    )
    return f"{found.fingerprint}  {found.line}: {found.last_good} -> {found.first_bad}  {reported}"


def _sum(bills: Bills) -> str:
    if not bills.nights:
        return "no server was rented"
    unused = sum(night.unused for night in bills.nights)
    return (
        f"{show_money(bills.money(bills.cost))} in all, {show_money(bills.money(unused))} of it "
        "for servers that measured nothing"
    )
