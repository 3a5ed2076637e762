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


def issue_text(
    regression: Regression, reproduce: str, why: str = "", beside: Sequence[Regression] = ()
) -> str:
    """Write a regression for the people who have to act on it.

    ``reproduce`` is the command that measures it again, ``why`` its explanation in markdown.
    ``beside`` are other regressions that have the same cause.
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
        *(["## By the same culprit", "", *map(_item, beside), ""] if beside else []),
        "## Reproduce",
        "",
        f"    {reproduce}",
        "",
    ]
    return "\n".join(lines)


def _item(regression: Regression) -> str:
    """Tell another regression in a line."""
    worst = regression.shifts[0]
    steps = "" if len(regression.shifts) == 1 else f" and {len(regression.shifts) - 1} more series"
    return (
        f"- {regression.line}, {regression.last_good} to {regression.first_bad}: "
        f"{cell(worst.series.step)} {change(worst)} {worst.series.metric}{steps} "
        f"({regression.state.value}, {regression.fingerprint})"
    )


def _place(regression: Regression) -> str:
    """Return where it lies, as well as that is known."""
    culprit = regression.culprit
    return culprit.revision if culprit is not None and culprit.confirmed else regression.first_bad


def write_issues(
    causes: Sequence[Sequence[Regression]],
    folder: Path,
    reproduce: Callable[[Regression], str],
    why: Callable[[Regression], str] = lambda _: "",
    *,
    suspected: bool = False,
) -> tuple[list[Path], list[Path]]:
    """Write one file for each cause and return (those that are new, all of them).

    A cause is regressions that are told together, mostly one; its file is that of the first. A
    regression that was written before keeps its file, brought up to date. One that is no
    longer found keeps its file as it was: closing it takes a measured recovery. What was not
    confirmed by measuring it again is filed only with ``suspected``, what was settled or
    acknowledged before anything was written of it not at all, and improvements are no issues.
    ``reproduce`` gives the command that measures one again, ``why`` its explanation in markdown,
    nothing where there is none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    needless = _NO_NEWS if suspected else {*_NO_NEWS, RegressionState.SUSPECTED}
    new, written = [], []
    for cause in causes:
        worse = [one for one in cause if one.worse]
        # What was filed before it was known to have the same cause keeps its file.
        told = [one for one in worse if filed(one, folder)]
        for regression in told or [one for one in worse if one.state not in needless][:1]:
            path = filed(regression, folder)
            if path is None:
                path = folder / issue_name(regression)
                new.append(path)
            beside = [one for one in worse if one is not regression]
            text = issue_text(regression, reproduce(regression), why(regression), beside)
            partial = path.with_suffix(".partial")
            partial.write_text(text, encoding="utf-8")
            partial.rename(path)
            written.append(path)
    return new, written


def filed(regression: Regression, folder: Path) -> Path | None:
    """Return its file; its place on the line, and so the name it would have, may have moved."""
    return next(folder.glob(f"*-regression-{regression.fingerprint}.md"), None)


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
