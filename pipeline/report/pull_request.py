"""The text about a pull request: while it is measured, and for each outcome."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.experiments.compare import USUAL, TwoSideComparison
from pipeline.experiments.interleaved import FigureVerdict
from pipeline.experiments.pull_request import PullRequestRuns, plain
from pipeline.model import Mode
from pipeline.model.metrics import plain_name
from pipeline.notify.base.pull_request import (
    Note,
    PullRequestOutcome,
    WaitingState,
    WaitingText,
    Words,
)
from pipeline.report.compared import (
    change_sentence,
    directions,
    findings,
    function_tables,
    how_measured,
    interval,
    verdict_line,
)
from pipeline.report.figures_table import figures_table
from pipeline.report.pull_request_advice import advice
from pipeline.text.markdown import code, inert
from pipeline.text.units import plural, show_percent

MOST_STEPS = 3
"""Maximum number of steps that the reproduction command measures, the worst ones."""

MOST_NOTES = 50
"""Maximum number of annotations that GitHub accepts in one request."""

LEAST_SHOWN = 0.0005
"""Smallest loss that a title shows; a smaller one would be rounded to 0.0 %."""


class MessageContext(NamedTuple):
    """What the text shows in addition to the measurement; an empty field is left out.

    ``number`` is the number of the pull request. ``config`` is the path of the configuration file
    in the repository, if it is not ``nightshift.toml``. ``run_page`` is the address of the workflow
    run that measured, ``trends`` the address of the site with older results. ``pushed`` is the
    commit of a pushed branch, which is measured without a pull request.
    """

    number: int | None = None
    config: str = ""
    run_page: str = ""
    trends: str = ""
    pushed: str = ""


NO_CONTEXT = MessageContext()
"""A context for a text that shows nothing but the measurement."""


def message_of(
    measured: PullRequestRuns,
    *,
    smallest: float | None = None,
    context: MessageContext = NO_CONTEXT,
) -> Words:
    """Return the text about a pull request that was measured.

    Everything is computed from the runs. ``smallest`` is the smallest change that matters, by
    default that of the measurement.
    """
    comparison = measured.comparison(smallest)
    title, outcome = _title(comparison), outcome_of(comparison)
    reproduce = reproduction(measured, comparison, context.config)
    head = context.pushed or (f"pull/{context.number}/head" if context.number is not None else "")
    fetch = [f"git fetch origin {head}"] if head else []
    body = [
        f"### {title}",
        "",
        advice(outcome, branch=bool(context.pushed), moved=bool(comparison.answer.moved)),
        "",
        f"`{comparison.head}` (head) against `{comparison.base}` (base).",
        "",
        *figures_table(measured, comparison.rows),
        *function_tables(comparison),
        "\n\n".join([*findings(comparison), _how(comparison)]),
        "",
        *_links(context, graphs=measured.mode == "count"),
        "To measure it again, in a clone of this repository and with nightshift installed:",
        "",
        *(f"    {line}" for line in [*fetch, reproduce]),
    ]
    notes = [_note(row) for row in comparison.rows if row.verdict in ("worse", "failed", "better")]
    return Words(outcome, title, "\n".join(body), tuple(notes[:MOST_NOTES]))


def message_without_result(
    outcome: PullRequestOutcome, reason: str, context: MessageContext = NO_CONTEXT
) -> Words:
    """Return the text for a pull request that was not measured; ``reason`` is plain text."""
    said = plain(reason)
    name = f"{outcome[0].upper()}{outcome[1:]}"
    body = [
        f"### {name}",
        "",
        code(said),
        "",
        advice(outcome, branch=bool(context.pushed)),
        *(["", *_links(context)[:1]] if _links(context) else []),
    ]
    return Words(outcome, f"{name}: {inert(said)}", "\n".join(body))


def message_while_waiting(state: WaitingState, sha: str, run_page: str = "") -> WaitingText:
    """Return the text for a measurement that waits for its machine or runs."""
    title = {
        WaitingState.QUEUED: "Waiting for a machine",
        WaitingState.IN_PROGRESS: "Measuring",
    }[state]
    said = {
        WaitingState.QUEUED: f"The measurement of `{sha[:12]}` waits for a free machine.",
        WaitingState.IN_PROGRESS: f"`{sha[:12]}` is being built and measured against its base.",
    }[state]
    wait = (
        "There is nothing to do: the result appears here. If this check is required, merging waits."
    )
    body = [f"### {title}", "", f"{said} {wait}"]
    if run_page:
        body += ["", f"See also: [the run](<{run_page}>)."]
    return WaitingText(title, "\n".join(body))


def _links(context: MessageContext, *, graphs: bool = False) -> list[str]:
    """Return the links to the workflow run and to the trends.

    ``graphs`` says that the run has flame graphs.
    """
    parts = (
        "run, log, flame graphs and raw measurements" if graphs else "run, log and raw measurements"
    )
    pages = [(parts, context.run_page), ("trends", context.trends)]
    found = [f"[{name}](<{page}>)" for name, page in pages if page]
    return [f"See also: {', '.join(found)}.", ""] if found else []


def _how(comparison: TwoSideComparison) -> str:
    """Return how the table was measured, and what its columns are."""
    counted = comparison.mode is Mode.COUNT
    columns = (
        "Base and head are the counts of one run each."
        if counted
        else "Base and head are medians. Intervals of the change have a confidence of at least "
        "99 %, in rows marked same of 90 %."
    )
    names = directions(comparison.rows)
    return f"{how_measured(comparison)} {columns} {names[0].upper()}{names[1:]}."


def outcome_of(comparison: TwoSideComparison) -> PullRequestOutcome:
    """Return the outcome of a pull request; it has passed only if no metric is undecided."""
    if comparison.regressed:
        return PullRequestOutcome.REGRESSION
    rows = comparison.rows
    open_rows = [row for row in rows if row.verdict == "undecided"]
    return PullRequestOutcome.UNDECIDED if open_rows or not rows else PullRequestOutcome.PASSED


def reproduction(measured: PullRequestRuns, comparison: TwoSideComparison, config: str = "") -> str:
    """Return the command that measures again the steps that changed most.

    It runs in a clone of the repository that has both commits.
    """
    worse = [row.step for row in comparison.rows if row.verdict in ("worse", "failed")]
    steps = list(dict.fromkeys(worse))[:MOST_STEPS] or _steps(measured)
    metrics = dict.fromkeys(each.metric for each in measured.levels)
    command = ["nightshift", "compare"]
    command += [side.written(measured.target) for side in (measured.base, measured.head)]
    for name, values in (("--step", steps), ("--metric", metrics)):
        command += [word for value in values for word in (name, value)]
    command += [] if measured.workload == USUAL.name else ["--workload", measured.workload]
    command += ["--mode", measured.mode] if measured.mode != "time" else []
    command += ["--smallest", f"{100 * comparison.question.smallest_effect:.10g}%"]
    command += ["--budget", f"{max(measured.budget, 0.001):.3f}".rstrip("0").rstrip(".") + "s"]
    command += ["--config", config] if config else []
    return shlex.join(command)


def _steps(measured: PullRequestRuns) -> Sequence[str]:
    return list(dict.fromkeys(each.step for each in measured.levels))


def _title(comparison: TwoSideComparison) -> str:
    """Return the verdict with the metric that changed most, in one line."""
    outcome, rows = outcome_of(comparison), comparison.rows
    better = any(row.verdict == "better" for row in rows)
    if outcome is PullRequestOutcome.PASSED and not better:
        worst = max(rows, key=lambda row: row.loss)
        largest = f"worst: {_said(worst)}" if worst.loss >= LEAST_SHOWN else "none is slower"
        return f"No regression in {plural(len(rows), 'figure')}; {largest}"
    if outcome is PullRequestOutcome.UNDECIDED and not comparison.answer.moved:
        still = [row for row in rows if row.verdict == "undecided"]
        worst = max(still, key=lambda row: row.loss)
        return f"Undecided: {len(still)} of {plural(len(rows), 'figure')}; worst: {_said(worst)}"
    verdict = verdict_line(comparison)
    if outcome is PullRequestOutcome.PASSED:
        verdict = verdict.removeprefix("no regression, ")
    return f"{verdict[0].upper()}{verdict[1:]}"


def _said(row: FigureVerdict) -> str:
    name = f"{row.step}, {plain_name(row.metric)}"
    if not row.blocks:
        return f"{name}: without a figure"
    if row.verdict == "undecided":
        return f"{name}: {interval(row)}"
    return f"{name} {show_percent(row.effect, sign=True)}"


def _note(row: FigureVerdict) -> Note:
    """Return the note about one changed metric."""
    if row.verdict == "failed":
        return Note(True, f"{row.step} fails", f"{row.step} fails on head but not on base.")
    change = show_percent(row.effect, sign=True)
    said = change_sentence(row)
    return Note(
        row.verdict == "worse",
        f"{row.step} {row.metric} {change}",
        f"{said[0].upper()}{said[1:]}, {plural(row.blocks, 'block')}.",
    )
