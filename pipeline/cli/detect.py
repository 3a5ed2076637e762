"""The verb detect."""

from __future__ import annotations

from pipeline.analyse.detected import Detected
from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.environment import show_recent
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.stages import detect_stage
from pipeline.cli.summary import summary
from pipeline.config import DEFAULT_FILE
from pipeline.model import Regression, RegressionState
from pipeline.units import counted


@app.command("detect")
def detect_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Search the series for changes and group them by cause.

    Example: nightshift detect --format json
    """
    context = MeasuringContext(config, quick)
    detected = detect_stage(context, context.plan())
    if form is Format.JSON:
        print_json(detected.model_dump(mode="json"))
    else:
        show(detected)
        show_recent(context.results)


def show(detected: Detected) -> None:
    """Print one line for each regression, worst first, then the improvements.

    What is no longer only suspected has its state with it.
    """
    worse = [regression for regression in detected.regressions if regression.worse]
    better = [regression for regression in detected.regressions if not regression.worse]
    suspected = sum(regression.state is RegressionState.SUSPECTED for regression in worse)
    others = [
        f", {count} {state.value}"
        for state in RegressionState
        if state is not RegressionState.SUSPECTED
        and (count := sum(regression.state is state for regression in worse))
    ]
    out.print(
        f"{counted(suspected, 'suspected regression')}{''.join(others)} and "
        f"{counted(len(better), 'improvement')} "
        f"in {detected.series} series"
    )
    for regression in worse:
        out.print(f"  worse   {_told(regression)}", style="yellow", markup=False)
    for regression in better:
        out.print(f"  better  {_told(regression)}", style="blue", markup=False)
    if detected.excused:
        machines = ", ".join(sorted({each.machine for each in detected.excused}))
        changes = counted(len(detected.excused), "change")
        out.print(f"  {changes} may be all of {machines}: no regression", markup=False)


def _told(regression: Regression) -> str:
    state = regression.state
    known = f"  ({state.value})" if state is not RegressionState.SUSPECTED else ""
    recovery = f"  (recovery of {regression.recovers})" if regression.recovers else ""
    culprit = f"\n            culprit {regression.culprit}" if regression.culprit else ""
    return f"{summary(regression)}{known}{recovery}{culprit}"
