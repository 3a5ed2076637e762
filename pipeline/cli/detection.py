"""Print the regressions that detection found, one line each."""

from __future__ import annotations

from pipeline.cli.console import out
from pipeline.cli.regression_summary import summary
from pipeline.model import Regression, RegressionState
from pipeline.regressions.detected import Detected
from pipeline.text.units import plural


def show_detected(detected: Detected) -> None:
    """Print one line for each regression, worst first, then the improvements.

    A regression in another state than suspected is printed with its state.
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
    within = f"in {plural(detected.series, 'series', 'series')}"
    if detected.regressions:
        out.print(
            f"{plural(suspected, 'suspected regression')}{''.join(others)} and "
            f"{plural(len(better), 'improvement')} {within}"
        )
    else:
        out.print("; ".join(filter(None, (f"no change found {within}", detected.reach()))))
    for regression in worse:
        out.print(f"  worse   {_line(regression)}", style="yellow", markup=False)
    for regression in better:
        out.print(f"  better  {_line(regression)}", style="blue", markup=False)
    if detected.excused:
        machines = ", ".join(sorted({each.machine for each in detected.excused}))
        changes = plural(len(detected.excused), "change")
        out.print(
            f"  {changes} may be caused by the machine ({machines}): not counted as regressions",
            markup=False,
        )


def _line(regression: Regression) -> str:
    state = regression.state
    known = f"  ({state.value})" if state is not RegressionState.SUSPECTED else ""
    recovery = f"  (recovery of {regression.recovers})" if regression.recovers else ""
    culprit = f"\n            culprit {regression.culprit}" if regression.culprit else ""
    return f"{summary(regression)}{known}{recovery}{culprit}"
