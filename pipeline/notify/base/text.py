"""The text of a report about a regression: a title, one line for a chat, markdown for an issue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from pipeline.model import Culprit, Regression, RegressionKind, RegressionState, Shift
from pipeline.model.metrics import METRICS, change, plain_name
from pipeline.notify.base import Link, Notice
from pipeline.notify.base.choose import GONE
from pipeline.notify.base.links import Lookup, Pages, RevisionOrigin, between
from pipeline.regressions.grouping import effect_size, worst
from pipeline.text.markdown import cell, code, fenced, inert, linked
from pipeline.text.units import plural, show_figure

ROWS = 30
"""Number of visible rows of the table; further rows are folded."""

ROOM = 40_000
"""Maximum length of the table's rows in characters; further rows are only on the report page."""

MOST_BESIDE = 30
"""Maximum number of listed regressions with the same cause."""

MOST = 60_000
"""Maximum length of a body in characters: a GitHub issue holds 65 536."""

MOST_BETWEEN = 10
"""Maximum number of listed revisions that may be the culprit too, because they were not
measured."""

NAME = 60
"""Maximum length of a name in characters: GitHub cuts a title at 256."""

_VERDICT = {
    RegressionState.SUSPECTED: "Suspected: not confirmed by a second measurement yet",
    RegressionState.CONFIRMED: "Confirmed by a second measurement",
    RegressionState.REJECTED: "Rejected by a second measurement",
    RegressionState.ACKNOWLEDGED: "Acknowledged",
    RegressionState.RESOLVED: "Resolved, the newest revisions are as good as before. It was",
    RegressionState.WONT_FIX: "Won't fix",
}


_WHAT_TO_DO = {
    RegressionState.SUSPECTED: (
        "There is nothing to do yet: nightshift measures both revisions again before it reports."
    ),
    RegressionState.CONFIRMED: (
        "**What to do:** look for the cause between the two revisions below and fix it, or decide "
        "as described at the end. This issue blocks no pull request. nightshift keeps measuring."
    ),
    RegressionState.REJECTED: "There is nothing to do: there was no change.",
    RegressionState.ACKNOWLEDGED: (
        "This regression is known and accepted for now, so there is nothing to do. nightshift "
        "keeps measuring and closes this report when the regression is gone."
    ),
    RegressionState.RESOLVED: "There is nothing to do.",
    RegressionState.WONT_FIX: "Somebody decided to leave it as it is. There is nothing to do.",
}
"""What the reader should do next, by state of the regression."""


_DECIDED = {RegressionState.ACKNOWLEDGED, RegressionState.WONT_FIX}
"""States that result from a person's decision."""


class Facts(NamedTuple):
    """Facts for the text about a regression, in addition to the regression itself.

    ``reproduce`` is the command that measures the regression again, ``script`` a script that shows
    it without nightshift, and ``why`` its explanation in markdown; each may be empty.
    ``fix`` describes in one line the last fix that was measured, if any. ``find`` returns the
    origin of a revision, ``pages`` has the addresses of published results, and ``decide`` is
    markdown about the possible decisions, empty if there are none.
    """

    reproduce: str
    why: str = ""
    find: Lookup = lambda _: RevisionOrigin()
    pages: Pages = Pages()
    decide: str = ""
    script: str = ""
    fix: str = ""


def notice(regression: Regression, beside: Sequence[Regression], facts: Facts) -> Notice:
    """Write the report of a regression for the people who act on it.

    ``beside`` are other regressions with the same cause.
    """
    return Notice(
        regression=regression,
        beside=tuple(beside),
        title=_title(regression),
        body=_body(regression, beside, facts),
        summary=_summary(regression, beside),
        links=tuple(_links(regression, facts)),
    )


def by_verbs(fingerprint: str, state: RegressionState) -> str:
    """Describe the decisions that a reader can make on the command line; empty if there are none.

    ``state`` is the present state of the regression.
    """
    if state in GONE:
        return ""
    if state in _DECIDED:
        return f"`nightshift reopen {fingerprint}` undoes the decision."
    return (
        f"If it will be fixed later, `nightshift ack {fingerprint}` acknowledges this regression: "
        f"it stays watched. If it will stay, `nightshift wontfix {fingerprint}` marks it as won't "
        "fix."
    )


def by_label(label: str, state: RegressionState) -> str:
    """Describe the decisions that a reader can make on the issue itself; empty if there are none.

    ``state`` is the present state of the regression.
    """
    if state in GONE:
        return ""
    closes = "nightshift closes this issue when measurements show that the regression is gone."
    wont_fix = "If the regression will stay, close this issue as not planned."
    if state is RegressionState.WONT_FIX:
        return "To undo the decision, reopen this issue."
    if state is RegressionState.ACKNOWLEDGED:
        return f"To undo the acknowledgement, remove the label {code(label)}. {wont_fix} {closes}"
    return (
        f"If the regression will be fixed later, add the label {code(label)}: this issue stays "
        f"open, and the regression watched. {wont_fix} {closes}"
    )


def _title(regression: Regression) -> str:
    shift = worst(regression)
    return inert(
        f"{regression.state.value.capitalize()} regression in {regression.target} "
        f"{_where(regression)}: {_brief(shift.series.step)} {change(shift)} "
        f"{_brief(shift.series.metric)}"
    )


def _summary(regression: Regression, beside: Sequence[Regression]) -> str:
    shift, culprit = worst(regression), regression.culprit
    series = sum(len(one.shifts) for one in (regression, *beside))
    subject = culprit.subject if culprit is not None and culprit.confirmed else ""
    return inert(
        f"{regression.target} {_where(regression)}: {_brief(shift.series.step)} "
        f"{change(shift)} {_brief(shift.series.metric)}, {plural(series, 'series', 'series')}; "
        f"{regression.state.value}" + (f"; {subject}" if subject else "")
    )


def _brief(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= NAME else f"{line[: NAME - 1]}…"


def _named(name: str) -> str:
    return cell(_brief(name))


def _in_words(metric: str) -> str:
    """Return the plain name of a metric with its symbol; an unknown one has only its symbol."""
    plain = plain_name(metric)
    symbol = _named(metric)
    return symbol if plain == metric else f"{plain} ({symbol})"


def _label(revision: str) -> str:
    return code(_brief(revision))


def _place(regression: Regression) -> str:
    """Describe where a regression began, as precisely as it is known."""
    culprit = regression.culprit
    return culprit.revision if culprit is not None and culprit.confirmed else regression.first_bad


def _where(regression: Regression) -> str:
    """Describe where a regression lies: at a revision, or between two revisions for a creep."""
    if regression.kind is RegressionKind.CREEP:
        return f"{_brief(regression.last_good)} to {_brief(regression.first_bad)}"
    return _brief(_place(regression))


def _body(regression: Regression, beside: Sequence[Regression], facts: Facts) -> str:
    before = [
        _verdict(regression, beside),
        "",
        _WHAT_TO_DO[regression.state],
        "",
        *_about(regression, facts),
        "",
        *_table(
            sorted(regression.shifts, key=lambda shift: (-effect_size(shift), shift.series.step))
        ),
        "",
        *_explained(regression),
    ]
    after = [
        *_beside(beside),
        "## Reproduce",
        "",
        fenced(facts.reproduce, "sh"),
        "",
        *_script(facts.script),
        *(["## Fix", "", inert(facts.fix), ""] if facts.fix else []),
        *(["## Decide", "", facts.decide, ""] if facts.decide else []),
    ]
    why = [facts.why.rstrip(), ""] if facts.why else []
    if sum(len(line) + 1 for line in (*before, *why, *after)) > MOST:
        explanation = (
            "The explanation is too long for this text; `nightshift explain "
            f"{regression.fingerprint}` prints it."
        )
        why = [explanation, ""]
    return "\n".join([*before, *why, *after])


def _script(text: str) -> list[str]:
    """Return the part about a script that shows a regression; empty without one."""
    if not text:
        return []
    shown = "This script shows it on another machine, without nightshift:"
    return [shown, "", fenced(text, "sh"), ""]


def _explained(regression: Regression) -> list[str]:
    """Return the text that explains the table's columns, and the parts of a creep."""
    if regression.kind is not RegressionKind.CREEP:
        return [
            "Change is relative to the level before, or in the metric's unit if that level is "
            "zero. p is",
            "the p-value of the change point, corrected for the search over positions.",
            "",
        ]
    return [
        "Before is the level at the anchor, after that of the newest revisions without changes "
        "that were",
        "reported by themselves. p is the p-value of the slope between them.",
        "",
        *_contributions(worst(regression)),
    ]


def _contributions(shift: Shift) -> list[str]:
    """Return a table of what each revision contributes to a creep."""
    parts = shift.parts
    if parts is None:
        return []
    rows = [
        f"| {_label(one.revision)} | {_share(one.effect, one.low, one.high)} | "
        + ("reported by itself, not counted |" if one.step else "|")
        for one in parts.contributions
    ]
    rest = _share(parts.remainder, parts.remainder_low, parts.remainder_high)
    whole = _share(shift.effect, shift.effect_low, shift.effect_high)
    return [
        f"Contributions of revisions to {_named(shift.series.metric)} of "
        f"{_named(shift.series.step)}, relative to the level at the anchor:",
        "",
        "| revision | contribution | 95 % interval | |",
        "| :--- | ---: | :---: | :--- |",
        *rows,
        f"| remainder | {rest} | all other revisions |",
        f"| **whole** | {whole} | |",
        "",
    ]


def _share(effect: float, low: float, high: float) -> str:
    """Return the two cells of a contribution to a creep: its size and its interval."""
    return f"{effect:+.1%} | {low:+.1%} to {high:+.1%}"


def _verdict(regression: Regression, beside: Sequence[Regression]) -> str:
    shift, more = worst(regression), len(regression.shifts) - 1
    others = f", and {plural(more, 'more series', 'more series')} changed" if more else ""
    standing = [one for one in beside if one.state not in GONE]
    left = ""
    if regression.state in GONE and standing:
        left = "; other regressions with the same cause remain"
    return (
        f"**{_VERDICT[regression.state]}: {_in_words(shift.series.metric)} of "
        f"{_named(shift.series.step)} {change(shift)} {_at(regression)}"
        f"{others}{left}.**"
    )


def _at(regression: Regression) -> str:
    if regression.kind is RegressionKind.CREEP:
        return f"from {_label(regression.last_good)} to {_label(regression.first_bad)}"
    return f"in {_label(_place(regression))}"


def _about(regression: Regression, facts: Facts) -> list[str]:
    """Return the list of facts about a regression, with links."""
    found = between(regression.last_good, regression.first_bad, facts.find)
    # With a culprit, the listed change is the culprit's.
    changed = found.compare if regression.culprit is None else ""
    steps = len({shift.series.step for shift in regression.shifts})
    creep = regression.kind is RegressionKind.CREEP
    good, bad = ("anchor", "newest") if creep else ("last good", "first bad")
    lines = [
        f"- line: {_named(regression.line)}",
        f"- {good}: {linked(_label(regression.last_good), found.good)}",
        f"- {bad}: {linked(_label(regression.first_bad), found.bad)}"
        + (f" ({linked('what changed', changed)})" if changed else ""),
    ]
    if regression.culprit is not None:
        lines.append(f"- culprit: {_culprit(regression.culprit, facts.find)}")
    lines += [
        f"- state: {regression.state.value}",
        f"- fingerprint: {regression.fingerprint}",
        f"- series that changed: {len(regression.shifts)}, in {plural(steps, 'step')}",
    ]
    pages = facts.pages.links(worst(regression).series)
    if pages:
        lines.append(f"- pages: {', '.join(linked(each.name, each.address) for each in pages)}")
    return lines


def _links(regression: Regression, facts: Facts) -> list[Link]:
    """Return the links of a regression: its commits and its published pages."""
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
    """Return the text about the culprit of a regression, with links."""
    found = between(culprit.parent, culprit.revision, find)
    one, parent = (
        linked(_label(label), address)
        for label, address in ((culprit.revision, found.bad), (culprit.parent, found.good))
    )
    changed = f" ({linked('what changed', found.compare)})" if found.compare else ""
    if not culprit.confirmed:
        # Round down: nothing is certain.
        sure = f"{math.floor(100 * culprit.probability)} %"
        return f"after {parent} and up to {one} ({sure} probability){changed}"
    subject = f": {cell(culprit.subject)}" if culprit.subject else ""
    others = ", ".join(map(_label, culprit.between[:MOST_BETWEEN]))
    more = len(culprit.between) - MOST_BETWEEN
    others += f" and {more} more" if more > 0 else ""
    unmeasured = f", or {others} (not measured)" if others else ""
    return f"{one}{subject}{unmeasured}; its parent is {parent}{changed}"


def _table(shifts: Sequence[Shift]) -> list[str]:
    """Return the table of changed series, worst first; rows after the first ``ROWS`` are folded."""
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
        lines += [f"{left} more are in the report.", ""] if left > 0 else []
        lines.append("</details>")
    return lines


def _fitting(rows: Sequence[str]) -> list[str]:
    ends = accumulate(len(row) + 1 for row in rows)
    return [row for row, end in zip(rows, ends, strict=True) if end <= ROOM]


def _row(shift: Shift, setup: bool) -> str:
    known = METRICS.get(shift.series.metric)
    metric = _in_words(shift.series.metric)
    metric += f" in {known.unit}" if known is not None and known.unit else ""
    interval = "–"
    if math.isfinite(shift.effect):
        interval = f"{shift.effect_low:+.1%} to {shift.effect_high:+.1%}"
    return (
        f"| {_named(shift.series.step)} | {metric} | {show_figure(shift.before, 5)} | "
        f"{show_figure(shift.after, 5)} | {change(shift)} | {interval} | {shift.pvalue:.2g} |"
        + (f" {cell(_setup(shift))} |" if setup else "")
    )


def _setup(shift: Shift) -> str:
    key = shift.series
    clients = plural(key.clients, "client")
    return f"{key.workload}, {key.config}, {clients}, {key.build_options}, {key.machine_class}"


def _beside(beside: Sequence[Regression]) -> list[str]:
    if not beside:
        return []
    lines = [
        "## Other regressions with the same culprit",
        "",
        *map(_item, beside[:MOST_BESIDE]),
        "",
    ]
    more = len(beside) - MOST_BESIDE
    return [*lines, *([f"And {more} more.", ""] if more > 0 else [])]


def _item(regression: Regression) -> str:
    """Return one line about another regression with the same cause."""
    shift, more = worst(regression), len(regression.shifts) - 1
    series = f" and {plural(more, 'more series', 'more series')}" if more else ""
    known = f"{regression.state.value}, {regression.fingerprint}"
    return (
        f"- {_named(regression.line)}, {_label(regression.last_good)} to "
        f"{_label(regression.first_bad)}: {_named(shift.series.step)} {change(shift)} "
        f"{_named(shift.series.metric)}{series} ({known})"
    )
