"""The verb replay."""

from __future__ import annotations

from pipeline.analyse.detection import watched_series
from pipeline.analyse.regressions import SLA
from pipeline.analyse.replay import Filed, nights, replay
from pipeline.cli.app import app
from pipeline.cli.context import (
    ConfigOption,
    Context,
    Format,
    FormatOption,
    QuickOption,
    out,
    print_json,
    screen,
)
from pipeline.cli.progress import counting
from pipeline.cli.stages import rules_of
from pipeline.config import DEFAULT_FILE
from pipeline.metrics import change
from pipeline.store.queries import runs
from pipeline.units import counted


@app.command("replay")
def replay_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Tell what would have been filed, night by night.

    As if this configuration had run over what is stored, with a revision more in every night.
    Nothing is measured and nothing is written.

    Example: nightshift replay --format json
    """
    context = Context(config, quick)
    plan = context.plan()
    settings = context.config.detect
    series = watched_series(context.store, plan, (*settings.metrics, SLA))
    with counting(screen(), "replay", nights(plan)) as progress:
        filed = replay(
            plan,
            series,
            runs(context.store, cells=plan.keys()),
            rules_of(context),
            settings.min_effect,
            progress,
        )
    if form is Format.JSON:
        print_json({"nights": nights(plan), "filed": [one.model_dump() for one in filed]})
        return
    worse = sum(one.worse for one in filed)
    out.print(
        f"{counted(nights(plan), 'night')}: {counted(worse, 'regression')} and "
        f"{counted(len(filed) - worse, 'improvement')} would have been filed"
    )
    for one in filed:
        out.print(_line(one), style="yellow" if one.worse else "blue", markup=False)


def _line(filed: Filed) -> str:
    largest = filed.largest
    more = f" and {filed.series - 1} more series" if filed.series > 1 else ""
    end = f", resolved at {filed.resolved}" if filed.resolved else ""
    gone = "" if filed.kept else ", not found any more"
    return (
        f"  at {filed.night}  {'worse ' if filed.worse else 'better'}  {filed.line}: "
        f"{filed.last_good} -> {filed.first_bad}  {change(largest)}  {largest.series.step} "
        f"{largest.series.metric}{more}{end}{gone}"
    )
