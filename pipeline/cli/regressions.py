"""The verb `regressions`: list regressions and improvements with their states."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.cli.regression_summary import summary
from pipeline.config import DEFAULT_FILE
from pipeline.model import RegressionState, Shift
from pipeline.regressions.grouping import worst
from pipeline.regressions.states import KnownRegression
from pipeline.text.errors import UserError, did_you_mean
from pipeline.text.units import plural
from pipeline.use_cases.context import Context
from pipeline.use_cases.regressions import list_regressions


@app.command("regressions")
def regressions_verb(
    config: ConfigOption = DEFAULT_FILE,
    state: Annotated[
        list[str] | None,
        typer.Option(help="Only regressions in this state; repeatable."),
    ] = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """List regressions and improvements with their states.

    The worst regressions come first.

    Example: nightshift regressions --state suspected --state confirmed --format json
    """
    rows = list_regressions(Context(config), _states(state or []))
    if form is Format.JSON:
        print_json([_tree(row, why) for row, why in rows])
        return
    worse = sum(row.regression.worse for row, _ in rows)
    out.print(f"{plural(worse, 'regression')} and {plural(len(rows) - worse, 'improvement')}")
    for row, why in rows:
        style = "yellow" if row.regression.worse else "blue"
        out.print(_line(row, why), style=style, markup=False)


def _states(names: list[str]) -> set[RegressionState]:
    """Return the states that --state asks for, by default all. Raises UserError for other words."""
    known = {state.value: state for state in RegressionState}
    for name in names:
        if name not in known:
            raise UserError(f"there is no state {name!r}; {did_you_mean(name, known)}")
    return {known[name] for name in names} or set(RegressionState)


def _line(row: KnownRegression, why: str) -> str:
    found = row.regression
    way = "worse " if found.worse else "better"
    reason = f" ({row.reason})" if row.reason else ""
    until = f" until {row.expires}" if row.expires else ""
    note = f": {row.note}" if row.note else ""
    culprit = f"\n      culprit {found.culprit}" if found.culprit else ""
    kind = f", {why}" if why else ""
    recovery = f", recovery of {found.recovers}" if found.recovers else ""
    state = f"{found.state.value}{recovery}{reason}{kind}{until}{note}{culprit}"
    return f"  {found.fingerprint}  {way}  {summary(found)}  {state}"


def _tree(row: KnownRegression, why: str) -> dict[str, Any]:
    found = row.regression
    return {
        "fingerprint": found.fingerprint,
        "state": found.state.value,
        "reason": row.reason,
        "note": row.note,
        "expires": row.expires.isoformat() if row.expires else None,
        "kind": found.kind.value,
        "direction": "regression" if found.worse else "improvement",
        "target": found.target,
        "line": found.line,
        "last_good": found.last_good,
        "first_bad": found.first_bad,
        "recovers": found.recovers or None,
        "culprit": found.culprit,
        "class": why,
        "worst": _shift(worst(found)),
        "rows": [_shift(shift) for shift in found.shifts],
        "events": [
            event.model_dump(mode="json", exclude_defaults=True, exclude={"regression"})
            for event in row.events
        ],
    }


def _shift(shift: Shift) -> dict[str, Any]:
    key = shift.series
    return {
        "step": key.step,
        "metric": key.metric,
        "mode": key.mode.value,
        "workload": key.workload,
        "clients": key.clients,
        "config": key.config,
        "build": key.build_options,
        "machine_class": key.machine_class,
        "last_good": shift.last_good,
        "first_bad": shift.first_bad,
        "before": shift.before,
        "after": shift.after,
        "effect": shift.effect,
        "interval": [shift.effect_low, shift.effect_high],
        "pvalue": shift.pvalue,
        "parts": shift.parts,
    }
