"""The verb `replay`: replay past nights and list what they would have filed."""

from __future__ import annotations

from typing import Any

from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.ledger.replay import Raised
from pipeline.model.metrics import change
from pipeline.text.units import plural
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.replay import replay_nights


@app.command("replay")
def replay_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Replay past nights and list what they would have filed.

    The present configuration is applied to the stored results, night by night, with one more
    revision in each. Nothing is measured or written; confirmations come from the experiments of
    that time.

    Example: nightshift replay --format json
    """
    nights, raised = replay_nights(MeasuringContext(config, quick), make_watcher(screen()))
    if form is Format.JSON:
        print_json({"nights": nights, "found": [_tree(one) for one in raised]})
        return
    filed, left = (
        [one for one in raised if one.filed],
        [one for one in raised if one.open],
    )
    better = sum(not one.worse for one in raised)
    out.print(
        f"{plural(nights, 'night')}: {plural(len(filed), 'regression')} would have been filed, "
        f"and {len(left)} more if confirmed; {plural(better, 'improvement')}"
    )
    for one in raised:
        out.print(_line(one), style="yellow" if one.worse else "blue", markup=False)


def _tree(raised: Raised) -> dict[str, Any]:
    return {**raised.model_dump(mode="json"), "filed": raised.filed}


def _line(raised: Raised) -> str:
    largest = raised.largest
    more = f" and {raised.series - 1} more series" if raised.series > 1 else ""
    verdict = f", {raised.verdict}" if raised.worse else ""
    end = f", resolved at {raised.resolved}" if raised.resolved else ""
    gone = "" if raised.kept else ", not found any more"
    return (
        f"  at {raised.night}  {'worse ' if raised.worse else 'better'}  {raised.line}: "
        f"{raised.last_good} -> {raised.first_bad}  {change(largest)}  {largest.series.step} "
        f"{largest.series.metric}{more}{verdict}{end}{gone}"
    )
