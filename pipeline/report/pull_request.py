"""The report about a pull request: its verdict, and the text."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from pipeline.experiments.compare import USUAL, TwoSideComparison
from pipeline.experiments.interleaved import FigureVerdict
from pipeline.experiments.pull_request import PullRequestRuns, plain
from pipeline.notify.base.pull_request import Note, PullRequestOutcome, Words
from pipeline.report.compared import as_markdown, verdict_line
from pipeline.text.markdown import code
from pipeline.text.units import plural

MOST_STEPS = 3
"""Worst steps that the reproduction command measures."""

MOST_NOTES = 50
"""Annotations that GitHub accepts in one request."""


def message_of(
    measured: PullRequestRuns,
    *,
    smallest: float | None = None,
    number: int | None = None,
    config: str = "",
) -> Words:
    """Return the text about a pull request that was measured.

    Args:
        measured: the runs, from which everything else is computed.
        smallest: the smallest change that matters; by default as measured.
        number: of the pull request, if known.
        config: the configuration in its repository, if it has an unusual name.
    """
    comparison = measured.comparison(smallest)
    title = _title(comparison)
    reproduce = reproduction(measured, comparison, config)
    fetch = [f"git fetch origin pull/{number}/head"] if number is not None else []
    body = [
        as_markdown(comparison),
        "",
        "To reproduce it, in a clone of this repository:",
        "",
        *(f"    {line}" for line in [*fetch, reproduce]),
    ]
    notes = [_note(row) for row in comparison.rows if row.verdict in ("worse", "failed", "better")]
    return Words(outcome_of(comparison), title, "\n".join(body), tuple(notes[:MOST_NOTES]))


def message_without_result(reason: str) -> Words:
    """Return the text about a pull request that could not be measured, and why."""
    body = [
        "### Could not run",
        "",
        "Whether this change is slower is unknown.",
        "",
        code(plain(reason)),
    ]
    return Words(PullRequestOutcome.COULD_NOT_RUN, "Could not run", "\n".join(body))


def outcome_of(comparison: TwoSideComparison) -> PullRequestOutcome:
    """Return the verdict on a pull request; it passes only if every metric is decided."""
    if comparison.regressed:
        return PullRequestOutcome.REGRESSION
    rows = comparison.rows
    open_rows = [row for row in rows if row.verdict == "undecided"]
    return PullRequestOutcome.UNDECIDED if open_rows or not rows else PullRequestOutcome.PASSED


def reproduction(measured: PullRequestRuns, comparison: TwoSideComparison, config: str = "") -> str:
    """Return the command that repeats the measurement of what changed most.

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
    verdict = verdict_line(comparison)
    if outcome is PullRequestOutcome.PASSED:
        worst = max(rows, key=lambda row: row.loss)
        return f"No regression in {plural(len(rows), 'figure')}; {_said(worst)}"
    if outcome is PullRequestOutcome.UNDECIDED and not comparison.answer.moved:
        still = [row for row in rows if row.verdict == "undecided"]
        worst = max(still, key=lambda row: row.loss)
        return f"Undecided: {len(still)} of {plural(len(rows), 'figure')}; {_said(worst)}"
    return f"{verdict[0].upper()}{verdict[1:]}"


def _said(row: FigureVerdict) -> str:
    if not row.blocks:
        return f"{row.step} {row.metric} without a figure"
    return f"{row.step} {row.metric} {row.effect:+.1%} at worst"


def _note(row: FigureVerdict) -> Note:
    """Return the note about one changed metric."""
    if row.verdict == "failed":
        return Note(True, f"{row.step} failed", f"{row.step} fails on head but not on base.")
    ends = " to ".join(f"{end:+.1%}" for end in row.interval)
    worse = row.verdict == "worse"
    return Note(
        worse,
        f"{row.step} {row.metric} {row.effect:+.1%}",
        f"{row.step}: {row.metric} is {row.effect:+.1%} ({'worse' if worse else 'better'}; "
        f"interval {ends}, {plural(row.blocks, 'block')}).",
    )
