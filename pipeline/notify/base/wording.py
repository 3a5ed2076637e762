"""What is said of a regression: one line for a title, one for a chat, and markdown for an issue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from pipeline.analyse.regressions import size, worst
from pipeline.markdown import cell, code, fenced, inert, linked
from pipeline.metrics import METRICS, change
from pipeline.model import Culprit, Regression, RegressionState, Shift
from pipeline.notify.base import Link, Notice
from pipeline.notify.base.choose import GONE
from pipeline.notify.base.links import Lookup, Origin, Pages, between
from pipeline.units import counted, show_figure

ROWS = 30
"""Rows of the table that are seen at once; the others are folded."""

ROOM = 40_000
"""Characters that the rows of the table may take; the report has them all."""

MOST_BESIDE = 30
"""Other regressions of the same cause that are listed."""

MOST = 60_000
"""Characters of a body: an issue of GitHub holds 65 536."""

MOST_BETWEEN = 10
"""Revisions that cannot be told from the culprit, as they were not measured, that are listed."""

NAME = 60
"""Characters of a name: GitHub ends a title at 256."""

_VERDICT = {
    RegressionState.SUSPECTED: "Suspected, measured in one night and not yet again",
    RegressionState.CONFIRMED: "Confirmed by measuring it again, on purpose",
    RegressionState.REJECTED: "Not there when it was measured again, on purpose",
    RegressionState.ACKNOWLEDGED: "Known to somebody",
    RegressionState.RESOLVED: "Gone, the newest revisions are as good as those before it",
    RegressionState.WONT_FIX: "Will not be mended",
}


class Facts(NamedTuple):
    """What is said of a regression beside what it says of itself.

    ``reproduce`` is the command that measures it again and ``why`` its explanation in markdown,
    nothing where there is none. ``find`` says where revisions are from, ``pages`` are where
    results are served, and ``decide`` is one sentence in markdown about what people can do.
    """

    reproduce: str
    why: str = ""
    find: Lookup = lambda _: Origin()
    pages: Pages = Pages()
    decide: str = ""


def notice(regression: Regression, beside: Sequence[Regression], facts: Facts) -> Notice:
    """Write a regression for the people who have to act on it.

    ``beside`` are other regressions that have the same cause.
    """
    return Notice(
        regression=regression,
        beside=tuple(beside),
        title=_title(regression),
        body=_body(regression, beside, facts),
        summary=_summary(regression, beside),
        links=tuple(_links(regression, facts)),
    )


def by_verbs(fingerprint: str) -> str:
    """Return what people can do who have the command line."""
    return (
        f"`nightshift ack {fingerprint}` says that it is known, `nightshift wontfix {fingerprint}` "
        f"that it will not be mended, and `nightshift reopen {fingerprint}` undoes either."
    )


def by_label(label: str) -> str:
    """Return what people can do on an issue; ``label`` is that by which it is acknowledged."""
    return (
        f"The label {code(label)} says that it is known; closed as not planned it will not be "
        "mended; reopened it stands again. It is closed once it is measured to be gone."
    )


def _title(regression: Regression) -> str:
    shift = worst(regression)
    return inert(
        f"{regression.state.value.capitalize()} regression in {regression.target} "
        f"{_brief(_place(regression))}: {_brief(shift.series.step)} {change(shift)} "
        f"{_brief(shift.series.metric)}"
    )


def _summary(regression: Regression, beside: Sequence[Regression]) -> str:
    shift, culprit = worst(regression), regression.culprit
    series = sum(len(one.shifts) for one in (regression, *beside))
    subject = culprit.subject if culprit is not None and culprit.confirmed else ""
    return inert(
        f"{regression.target} {_brief(_place(regression))}: {_brief(shift.series.step)} "
        f"{change(shift)} {_brief(shift.series.metric)}, {counted(series, 'series', 'series')}; "
        f"{regression.state.value}" + (f"; {subject}" if subject else "")
    )


def _brief(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= NAME else f"{line[: NAME - 1]}…"


def _named(name: str) -> str:
    return cell(_brief(name))


def _label(revision: str) -> str:
    return code(_brief(revision))


def _place(regression: Regression) -> str:
    """Return where it lies, as well as that is known."""
    culprit = regression.culprit
    return culprit.revision if culprit is not None and culprit.confirmed else regression.first_bad


def _body(regression: Regression, beside: Sequence[Regression], facts: Facts) -> str:
    before = [
        _verdict(regression, beside),
        "",
        *_about(regression, facts),
        "",
        *_table(sorted(regression.shifts, key=lambda shift: (-size(shift), shift.series.step))),
        "",
        "Change is relative to the level before, or in the metric's unit if that was zero. p is of",
        "the change point, corrected for having searched for it.",
        "",
    ]
    after = [
        *_beside(beside),
        "## Reproduce",
        "",
        fenced(facts.reproduce, "sh"),
        "",
        *([facts.decide, ""] if facts.decide else []),
    ]
    why = [facts.why.rstrip(), ""] if facts.why else []
    if sum(len(line) + 1 for line in (*before, *why, *after)) > MOST:
        told = f"`nightshift explain {regression.fingerprint}` says why: it is too long for here."
        why = [told, ""]
    return "\n".join([*before, *why, *after])


def _verdict(regression: Regression, beside: Sequence[Regression]) -> str:
    shift, more = worst(regression), len(regression.shifts) - 1
    others = f", and {counted(more, 'more series', 'more series')} changed" if more else ""
    standing = [one for one in beside if one.state not in GONE]
    left = ""
    if regression.state in GONE and standing:
        left = "; others of the same cause are still there"
    return (
        f"**{_VERDICT[regression.state]}: {_named(shift.series.metric)} of "
        f"{_named(shift.series.step)} {change(shift)} in {_label(_place(regression))}"
        f"{others}{left}.**"
    )


def _about(regression: Regression, facts: Facts) -> list[str]:
    """List what is known of it, with links."""
    found = between(regression.last_good, regression.first_bad, facts.find)
    # Of a culprit it is told what changed by that.
    changed = found.compare if regression.culprit is None else ""
    steps = len({shift.series.step for shift in regression.shifts})
    lines = [
        f"- line: {_named(regression.line)}",
        f"- last good: {linked(_label(regression.last_good), found.good)}",
        f"- first bad: {linked(_label(regression.first_bad), found.bad)}"
        + (f" ({linked('what changed', changed)})" if changed else ""),
    ]
    if regression.culprit is not None:
        lines.append(f"- culprit: {_culprit(regression.culprit, facts.find)}")
    lines += [
        f"- state: {regression.state.value}",
        f"- fingerprint: {regression.fingerprint}",
        f"- series that changed: {len(regression.shifts)}, in {counted(steps, 'step')}",
    ]
    pages = facts.pages.links(worst(regression).series)
    if pages:
        lines.append(f"- seen in: {', '.join(linked(each.name, each.address) for each in pages)}")
    return lines


def _links(regression: Regression, facts: Facts) -> list[Link]:
    """Return what is to be seen of a regression: its commit, or what changed, and the pages."""
    good, bad = regression.last_good, regression.first_bad
    culprit = regression.culprit
    if culprit is not None:
        good, bad = culprit.parent, culprit.revision
    found = between(good, bad, facts.find)
    sure = culprit is not None and culprit.confirmed
    commits = [("commit", found.bad if sure else ""), ("what changed", found.compare)]
    return [
        *(Link(name=name, address=address) for name, address in commits if address),
        *facts.pages.links(worst(regression).series),
    ]


def _culprit(culprit: Culprit, find: Lookup) -> str:
    """Say a culprit as it says itself, with links."""
    found = between(culprit.parent, culprit.revision, find)
    one, parent = (
        linked(_label(label), address)
        for label, address in ((culprit.revision, found.bad), (culprit.parent, found.good))
    )
    changed = f" ({linked('what changed', found.compare)})" if found.compare else ""
    if not culprit.confirmed:
        # Rounded down: nothing is certain.
        sure = f"{math.floor(100 * culprit.probability)} %"
        return f"after {parent} and up to {one} with {sure}{changed}"
    subject = f": {cell(culprit.subject)}" if culprit.subject else ""
    others = ", ".join(map(_label, culprit.between[:MOST_BETWEEN]))
    more = len(culprit.between) - MOST_BETWEEN
    others += f" and {more} more" if more > 0 else ""
    unmeasured = f", or {others} (not measured)" if others else ""
    return f"{one}{subject}{unmeasured}; its parent is {parent}{changed}"


def _table(shifts: Sequence[Shift]) -> list[str]:
    """Return the rows of shifts, worst first; those that are too many to be seen are folded."""
    setups = len({_setup(shift) for shift in shifts}) > 1
    rows = _fitting([_row(shift, setups) for shift in shifts])
    head = ["| step | metric | before | after | change | 95 % interval | p |"]
    head.append("| :--- | :--- | ---: | ---: | ---: | :---: | ---: |")
    if setups:
        head = [f"{line}{more}" for line, more in zip(head, (" setup |", " :--- |"), strict=True)]
    lines = [*head, *rows[:ROWS]]
    if len(shifts) > ROWS:
        left = len(shifts) - len(rows)
        summary = f"<summary>{len(shifts) - ROWS} more series</summary>"
        lines += ["", "<details>", summary, "", *head, *rows[ROWS:], ""]
        lines += [f"And {left} more, in the report.", ""] if left > 0 else []
        lines.append("</details>")
    return lines


def _fitting(rows: Sequence[str]) -> list[str]:
    ends = accumulate(len(row) + 1 for row in rows)
    return [row for row, end in zip(rows, ends, strict=True) if end <= ROOM]


def _row(shift: Shift, setup: bool) -> str:
    known = METRICS.get(shift.series.metric)
    metric = shift.series.metric + (f" ({known.unit})" if known is not None else "")
    interval = "–"
    if math.isfinite(shift.effect):
        interval = f"{shift.effect_low:+.1%} to {shift.effect_high:+.1%}"
    return (
        f"| {_named(shift.series.step)} | {_named(metric)} | {show_figure(shift.before, 5)} | "
        f"{show_figure(shift.after, 5)} | {change(shift)} | {interval} | {shift.pvalue:.2g} |"
        + (f" {cell(_setup(shift))} |" if setup else "")
    )


def _setup(shift: Shift) -> str:
    key = shift.series
    clients = counted(key.clients, "client")
    return f"{key.workload}, {key.config}, {clients}, {key.build_options}, {key.machine_class}"


def _beside(beside: Sequence[Regression]) -> list[str]:
    if not beside:
        return []
    lines = ["## By the same culprit", "", *map(_item, beside[:MOST_BESIDE]), ""]
    more = len(beside) - MOST_BESIDE
    return [*lines, *([f"And {more} more.", ""] if more > 0 else [])]


def _item(regression: Regression) -> str:
    """Tell another regression in a line."""
    shift, more = worst(regression), len(regression.shifts) - 1
    series = f" and {counted(more, 'more series', 'more series')}" if more else ""
    known = f"{regression.state.value}, {regression.fingerprint}"
    return (
        f"- {_named(regression.line)}, {_label(regression.last_good)} to "
        f"{_label(regression.first_bad)}: {_named(shift.series.step)} {change(shift)} "
        f"{_named(shift.series.metric)}{series} ({known})"
    )
