"""The verb regressions."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pipeline.analyse.explain.explanation import class_of
from pipeline.analyse.refresh import refresh
from pipeline.analyse.regressions import size, worst
from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.context import Context
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.cli.summary import summary
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError, meant
from pipeline.journal import now
from pipeline.model import RegressionState, Shift
from pipeline.store.regressions import RegressionRow, stored_regressions
from pipeline.units import counted


@app.command("regressions")
def regressions_verb(
    config: ConfigOption = DEFAULT_FILE,
    state: Annotated[
        list[str] | None,
        typer.Option(help="Only those in this state; may be given several times."),
    ] = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """List regressions and improvements with their states.

    The worst come first.

    Example: nightshift regressions --state suspected --state confirmed --format json
    """
    context = Context(config)
    wanted = _states(state or [])
    refresh(context.results, context.store, now())
    rows = sorted(
        (row for row in stored_regressions(context.store) if row.regression.state in wanted),
        key=lambda row: (not row.regression.worse, -size(worst(row.regression))),
    )
    if form is Format.JSON:
        print_json([_tree(row, class_of(row.regression, context.results)) for row in rows])
        return
    worse = sum(row.regression.worse for row in rows)
    out.print(f"{counted(worse, 'regression')} and {counted(len(rows) - worse, 'improvement')}")
    for row in rows:
        why = class_of(row.regression, context.results)
        style = "yellow" if row.regression.worse else "blue"
        out.print(_line(row, why), style=style, markup=False)


def _states(names: list[str]) -> set[RegressionState]:
    """Return the states that were asked for, by default all."""
    known = {state.value: state for state in RegressionState}
    for name in names:
        if name not in known:
            raise UserError(f"there is no state {name!r}; {meant(name, known)}")
    return {known[name] for name in names} or set(RegressionState)


def _line(row: RegressionRow, why: str) -> str:
    found = row.regression
    way = "worse " if found.worse else "better"
    said = f" ({row.reason})" if row.reason else ""
    until = f" until {row.expires}" if row.expires else ""
    note = f": {row.note}" if row.note else ""
    culprit = f"\n      culprit {found.culprit}" if found.culprit else ""
    kind = f", {why}" if why else ""
    recovery = f", recovery of {found.recovers}" if found.recovers else ""
    state = f"{found.state.value}{recovery}{said}{kind}{until}{note}{culprit}"
    return f"  {found.fingerprint}  {way}  {summary(found)}  {state}"


def _tree(row: RegressionRow, why: str) -> dict[str, Any]:
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
    }
