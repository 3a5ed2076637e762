"""What a pull request is told of a measurement: one of four outcomes, and the words for it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from pipeline.analyse.compare import USUAL, Comparison
from pipeline.analyse.interleaved import Row
from pipeline.analyse.pull_request import Measured, plain
from pipeline.markdown import code
from pipeline.notify.base.pull_request import Note, Outcome, Words
from pipeline.report.compared import as_markdown, verdict_line
from pipeline.units import counted

MOST_STEPS = 3
"""Steps, the worst, that are measured again by the command that a pull request is given."""

MOST_NOTES = 50
"""Annotations that GitHub takes at once."""


def words_of(
    measured: Measured,
    *,
    smallest: float | None = None,
    number: int | None = None,
    config: str = "",
) -> Words:
    """Return what is told of a pull request that was measured.

    Args:
        measured: the runs; all else is worked out from them.
        smallest: the smallest change that matters; as it was measured, if not given.
        number: of the pull request, if it is known.
        config: the configuration in its repository, if it has not the usual name.
    """
    comparison = measured.comparison(smallest)
    title = _title(comparison)
    reproduce = reproduction(measured, comparison, config)
    fetch = [f"git fetch origin pull/{number}/head"] if number is not None else []
    body = [
        as_markdown(comparison),
        "",
        "To see it again, in a clone of this repository:",
        "",
        *(f"    {line}" for line in [*fetch, reproduce]),
    ]
    notes = [_note(row) for row in comparison.rows if row.verdict in ("worse", "failed", "better")]
    return Words(outcome_of(comparison), title, "\n".join(body), tuple(notes[:MOST_NOTES]))


def words_of_none(reason: str) -> Words:
    """Return what is told of a pull request that could not be measured; ``reason`` is plain."""
    body = [
        "### Could not run",
        "",
        "Nothing is known of this change: neither that it is slower nor that it is not.",
        "",
        code(plain(reason)),
    ]
    return Words(Outcome.COULD_NOT_RUN, "Could not run", "\n".join(body))


def outcome_of(comparison: Comparison) -> Outcome:
    """Return the outcome of a comparison: passed only if nothing was left open."""
    if comparison.regressed:
        return Outcome.REGRESSION
    rows = comparison.rows
    open_rows = [row for row in rows if row.verdict == "undecided"]
    return Outcome.UNDECIDED if open_rows or not rows else Outcome.PASSED


def reproduction(measured: Measured, comparison: Comparison, config: str = "") -> str:
    """Return the command that measures it again, in the steps that changed most.

    It is meant for a clone of the repository that has both commits.
    """
    worse = [row.step for row in comparison.rows if row.verdict in ("worse", "failed")]
    steps = list(dict.fromkeys(worse))[:MOST_STEPS] or _steps(measured)
    metrics = dict.fromkeys(each.metric for each in measured.levels)
    command = ["nightshift", "compare"]
    command += [side.written(measured.target) for side in (measured.base, measured.head)]
    for name, values in (("--step", steps), ("--metric", metrics)):
        command += [word for value in values for word in (name, value)]
    command += [] if measured.workload == USUAL.name else ["--workload", measured.workload]
    command += ["--smallest", f"{100 * comparison.question.smallest_effect:.10g}%"]
    command += ["--budget", f"{max(measured.budget, 0.001):.3f}".rstrip("0").rstrip(".") + "s"]
    command += ["--config", config] if config else []
    return shlex.join(command)


def _steps(measured: Measured) -> Sequence[str]:
    return list(dict.fromkeys(each.step for each in measured.levels))


def _title(comparison: Comparison) -> str:
    """Return the outcome with its worst figure."""
    outcome, rows = outcome_of(comparison), comparison.rows
    verdict = verdict_line(comparison)
    if outcome is Outcome.PASSED:
        worst = max(rows, key=lambda row: row.loss)
        return f"No regression in {counted(len(rows), 'figure')}; {_said(worst)}"
    if outcome is Outcome.UNDECIDED and not comparison.answer.moved:
        still = [row for row in rows if row.verdict == "undecided"]
        worst = max(still, key=lambda row: row.loss)
        return f"Undecided: {len(still)} of {counted(len(rows), 'figure')}; {_said(worst)}"
    return f"{verdict[0].upper()}{verdict[1:]}"


def _said(row: Row) -> str:
    if not row.blocks:
        return f"{row.step} {row.metric} without any figure"
    return f"{row.step} {row.metric} {row.effect:+.1%} at worst"


def _note(row: Row) -> Note:
    """Return what is annotated of a figure that changed."""
    if row.verdict == "failed":
        return Note(True, f"{row.step} failed", f"{row.step} fails on head, and not on base.")
    ends = " to ".join(f"{end:+.1%}" for end in row.interval)
    worse = row.verdict == "worse"
    return Note(
        worse,
        f"{row.step} {row.metric} {row.effect:+.1%}",
        f"{row.step}: {row.metric} is {row.effect:+.1%} ({'worse' if worse else 'better'}; "
        f"interval {ends}, {counted(row.blocks, 'block')}).",
    )
