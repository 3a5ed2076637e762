"""The verb replay."""

from __future__ import annotations

from typing import Any

from pipeline.analyse.detection import watched_series
from pipeline.analyse.replay import Raised, nights, replay
from pipeline.analyse.shifts import SLA
from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import counting
from pipeline.cli.stages import rules_of
from pipeline.config import DEFAULT_FILE
from pipeline.journal import Journal
from pipeline.metrics import change
from pipeline.store.controls import control_rows
from pipeline.store.queries import runs
from pipeline.units import counted


@app.command("replay")
def replay_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Replay past nights and list what they would have filed.

    As if this configuration had run over what is stored, with a revision more in every night.
    Nothing is measured and nothing is written: what was confirmed is what experiments of then said.

    Example: nightshift replay --format json
    """
    context = MeasuringContext(config, quick)
    plan = context.plan()
    settings = context.config.detect
    series = watched_series(context.store, plan, (*settings.metrics, SLA))
    with counting(screen(), "replay", nights(plan)) as progress:
        raised = replay(
            plan,
            series,
            runs(context.store, cells=plan.keys()),
            rules_of(context),
            settings.min_effect,
            Journal(context.results).read(),
            progress,
            tuple(control_rows(context.store, settings.metrics)),
        )
    if form is Format.JSON:
        print_json({"nights": nights(plan), "found": [_tree(one) for one in raised]})
        return
    filed, left = (
        [one for one in raised if one.filed],
        [one for one in raised if one.open],
    )
    better = sum(not one.worse for one in raised)
    out.print(
        f"{counted(nights(plan), 'night')}: {counted(len(filed), 'regression')} would have been "
        f"filed, {len(left)} more if confirmed; {counted(better, 'improvement')}"
    )
    for one in raised:
        out.print(_line(one), style="yellow" if one.worse else "blue", markup=False)


def _tree(raised: Raised) -> dict[str, Any]:
    return {**raised.model_dump(mode="json"), "filed": raised.filed}


def _line(raised: Raised) -> str:
    largest = raised.largest
    more = f" and {raised.series - 1} more series" if raised.series > 1 else ""
    said = f", {raised.verdict}" if raised.worse else ""
    end = f", resolved at {raised.resolved}" if raised.resolved else ""
    gone = "" if raised.kept else ", not found any more"
    return (
        f"  at {raised.night}  {'worse ' if raised.worse else 'better'}  {raised.line}: "
        f"{raised.last_good} -> {raised.first_bad}  {change(largest)}  {largest.series.step} "
        f"{largest.series.metric}{more}{said}{end}{gone}"
    )
