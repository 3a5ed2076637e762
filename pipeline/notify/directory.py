"""The default sink: every regression as a markdown file in a folder."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from pipeline.markdown import cell
from pipeline.metrics import METRICS, change
from pipeline.model import (
    Regression,
    RegressionState,
    Shift,
)

_HEADER = "<!-- nightshift regression {fingerprint} -->"
"""The marker by which the file of a regression is known again."""


_NO_NEWS = {
    RegressionState.REJECTED,
    RegressionState.ACKNOWLEDGED,
    RegressionState.RESOLVED,
    RegressionState.WONT_FIX,
}
"""States in which a regression that nothing was written of needs no file any more."""

_ONCE = "This was measured in one night\nand not yet again."

_MEASURED = {
    RegressionState.SUSPECTED: _ONCE,
    RegressionState.CONFIRMED: "It was measured again, on\npurpose, and confirmed.",
    RegressionState.REJECTED: "It was measured again, on\npurpose, and was not there.",
    RegressionState.ACKNOWLEDGED: "Somebody knows of it.",
    RegressionState.RESOLVED: "It is gone: the newest\nrevisions are as good as those before it.",
    RegressionState.WONT_FIX: "It will not be mended.",
}
"""What is known of a regression beside its figures."""


def issue_name(regression: Regression) -> str:
    """Return the file name: the line, the first revision at the new level, the identity."""
    place = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{regression.line}-{regression.first_bad}")
    return f"{place}-regression-{regression.fingerprint}.md"


def issue_text(regression: Regression, reproduce: str, why: str = "") -> str:
    """Write a regression for the people who have to act on it.

    ``reproduce`` is the command that measures it again, ``why`` its explanation in markdown.
    """
    worst = regression.shifts[0]
    state = regression.state.value.capitalize()
    steps = len({shift.series.step for shift in regression.shifts})
    lines = [
        _HEADER.format(fingerprint=regression.fingerprint),
        f"# {state} regression in {regression.target} {_place(regression)}: "
        f"{cell(worst.series.step)} {change(worst)} {worst.series.metric}",
        "",
        f"- line: {regression.line}",
        f"- last good: {regression.last_good}",
        f"- first bad: {regression.first_bad}",
        *([f"- culprit: {cell(str(regression.culprit))}"] if regression.culprit else []),
        f"- state: {regression.state.value}",
        f"- fingerprint: {regression.fingerprint}",
        f"- series that changed: {len(regression.shifts)}, in {steps} "
        f"step{'s' if steps > 1 else ''}",
        "",
        "| step | metric | before | after | change | 95 % interval | p |",
        "| :--- | :--- | ---: | ---: | ---: | :---: | ---: |",
        *(_row(shift) for shift in regression.shifts),
        "",
        "Change is relative to the level before, or in the metric's unit if that was zero. p is of",
        f"the change point, corrected for having searched for it. {_MEASURED[regression.state]}",
        "",
        *([why.rstrip(), ""] if why else []),
        "## Reproduce",
        "",
        f"    {reproduce}",
        "",
    ]
    return "\n".join(lines)


def _place(regression: Regression) -> str:
    """Return where it lies, as well as that is known."""
    culprit = regression.culprit
    return culprit.revision if culprit is not None and culprit.confirmed else regression.first_bad


def write_issues(
    regressions: Sequence[Regression],
    folder: Path,
    reproduce: Callable[[Regression], str],
    why: Callable[[Regression], str] = lambda _: "",
    *,
    suspected: bool = False,
) -> tuple[list[Path], list[Path]]:
    """Write one file for each regression and return (those that are new, all of them).

    A regression that was written before keeps its file, brought up to date. One that is no
    longer found keeps its file as it was: closing it takes a measured recovery. What was not
    confirmed by measuring it again is filed only with ``suspected``, what was settled or
    acknowledged before anything was written of it not at all, and improvements are no issues.
    ``reproduce`` gives the command that measures one again, ``why`` its explanation in markdown,
    nothing where there is none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    needless = _NO_NEWS if suspected else {*_NO_NEWS, RegressionState.SUSPECTED}
    new, written = [], []
    for regression in regressions:
        if not regression.worse:
            continue
        # Its place on the line, and so its name, may have moved since.
        there = next(folder.glob(f"*-regression-{regression.fingerprint}.md"), None)
        if there is None and regression.state in needless:
            continue
        path = there or folder / issue_name(regression)
        if there is None:
            new.append(path)
        partial = path.with_suffix(".partial")
        partial.write_text(
            issue_text(regression, reproduce(regression), why(regression)), encoding="utf-8"
        )
        partial.rename(path)
        written.append(path)
    return new, written


def _row(shift: Shift) -> str:
    known = METRICS.get(shift.series.metric)
    metric = shift.series.metric + (f" ({known.unit})" if known is not None else "")
    interval = "–"
    if math.isfinite(shift.effect):
        interval = f"{shift.effect_low:+.1%} to {shift.effect_high:+.1%}"
    return (
        f"| {cell(shift.series.step)} | {cell(metric)} | {shift.before:.5g} | "
        f"{shift.after:.5g} | {change(shift)} | {interval} | {shift.pvalue:.2g} |"
    )
