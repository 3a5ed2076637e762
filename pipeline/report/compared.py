"""Show a comparison of two builds as text, as markdown, and as rows for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.experiments.compare import TwoSideComparison
from pipeline.experiments.interleaved import FigureVerdict
from pipeline.explain.function_costs import growth_sentence
from pipeline.model import FunctionCostChange, Mode
from pipeline.model.counts import INSTRUCTIONS
from pipeline.model.metrics import is_speed, is_worse, plain_name
from pipeline.text.markdown import cell, code
from pipeline.text.units import plural, show_duration, show_figure, show_percent

NO_NEWS = ("same", "not worse")

_BLIND = 1.0
"""A comparison shows nothing if its smallest visible relative change is at least this; 1.0 is a
doubling."""

MOST_SAME = 8
"""Maximum number of unchanged figures that a pull request shows; further ones are folded."""

MOST_FUNCTIONS = 5
"""Maximum number of functions of a changed step in a pull request: the largest parts of its
change."""

_HEADS = ("step", "metric", "ratio", "interval", "verdict", "could see", "blocks")


def verdict_line(comparison: TwoSideComparison) -> str:
    """Return the verdict of a comparison in one sentence."""
    rows = comparison.rows
    if comparison.answer.moved:
        return "undecided: the machine was not steady during the comparison"
    worse, better, undecided = (
        [row for row in rows if row.verdict == verdict]
        for verdict in ("worse", "better", "undecided")
    )
    failed = list(dict.fromkeys(row.step for row in rows if row.verdict == "failed"))
    parts = []
    if failed:
        parts.append(f"broken: {_these(failed)} on head, but not on base")
    if worse:
        parts.append(f"{change_sentence(worse[0])}; {_of(worse, rows)} worse")
    elif not failed:
        parts.append("no regression found" if undecided else "no regression")
    if better:
        parts.append(f"{len(better)} better" if worse or failed else change_sentence(better[-1]))
    if undecided:
        parts.append(f"{len(undecided)} undecided")
    return ", ".join(parts)


def change_sentence(row: FigureVerdict) -> str:
    """Return a changed figure in words: ``slower: scan has 5.0 % less throughput (...)``."""
    worse = is_worse(row.metric, row.effect)
    words = ("slower", "faster") if is_speed(row.metric) else ("worse", "better")
    return (
        f"{words[0] if worse else words[1]}: {row.step} has {show_percent(abs(row.effect))} "
        f"{'more' if row.effect > 0 else 'less'} {plain_name(row.metric)} ({interval(row)})"
    )


def interval(row: FigureVerdict) -> str:
    """Return the interval of a change in percent."""
    if row.smallest_visible >= _BLIND:
        return "any change is possible"
    low, high = (show_percent(end, sign=True) for end in row.interval)
    return f"{low.removesuffix(' %')} to {high}"


def _these(steps: Sequence[str]) -> str:
    if len(steps) == 1:
        return f"{steps[0]} fails"
    return f"{steps[0]} and {plural(len(steps) - 1, 'more step')} fail"


def _of(some: Sequence[FigureVerdict], rows: Sequence[FigureVerdict]) -> str:
    return f"{len(some)} of {plural(len(rows), 'figure')}"


def as_rows(comparison: TwoSideComparison) -> list[dict[str, Any]]:
    """Return a comparison as rows for scripts, worst first; ratios are head / base."""
    return [
        {
            "step": row.step,
            "metric": row.metric,
            "ratio": 1.0 + row.effect if row.blocks else None,
            "interval": [1.0 + end for end in row.interval],
            "verdict": row.verdict,
            "smallest_visible": row.smallest_visible,
            "blocks": row.blocks,
            "note": row.note,
            **_functions(comparison, row),
        }
        for row in comparison.rows
    ]


def _functions(comparison: TwoSideComparison, row: FigureVerdict) -> dict[str, Any]:
    """Return the functions behind a changed instruction count; none for timed metrics."""
    if comparison.mode is not Mode.COUNT:
        return {}
    reported = comparison.functions.get(row.step, ()) if row.metric == INSTRUCTIONS else ()
    return {"functions": [each.model_dump(mode="json") for each in reported]}


def as_text(comparison: TwoSideComparison) -> str:
    """Return a comparison as text: the verdict, then a line for each metric, worst first."""
    table = [_HEADS, *(_cells(row) for row in comparison.rows)]
    widths = [max(len(line[at]) for line in table) for at in range(len(_HEADS))]
    lines = [
        f"base  {comparison.base}",
        f"head  {comparison.head}",
        verdict_line(comparison),
        "",
        *(_aligned(line, widths) for line in table),
        "",
        *_remarks(comparison, growth_sentences(comparison)),
    ]
    return "\n".join(lines)


def as_markdown(comparison: TwoSideComparison) -> str:
    """Return a comparison as markdown for a pull request, verdict first."""
    verdict = verdict_line(comparison)
    rows = comparison.rows
    same = [row for row in rows if row.verdict in NO_NEWS]
    reported = [row for row in rows if len(same) <= MOST_SAME or row not in same]
    lines = [
        "<!-- nightshift compare -->",
        f"### {verdict[0].upper()}{verdict[1:]}",
        "",
        f"`{comparison.head}` against `{comparison.base}`",
        "",
        *_table(reported),
    ]
    if len(reported) < len(rows):
        summary = f"<summary>{plural(len(same), 'figure')} without a change</summary>"
        lines += ["<details>", summary, "", *_table(same), "</details>", ""]
    lines += function_tables(comparison)
    # Separate paragraphs, because markdown joins adjacent lines.
    return "\n".join([*lines, "\n\n".join(_remarks(comparison, ()))])


def _table(rows: Sequence[FigureVerdict]) -> list[str]:
    """Return compared metrics as a markdown table; those that ``--gate`` fails on are bold."""
    if not rows:
        return []
    lines = [f"| {' | '.join(_HEADS)} |", "| :--- | :--- | ---: | :---: | :--- | ---: | ---: |"]
    for row in rows:
        cells = [cell(each) for each in _cells(row)]
        if row.verdict in ("worse", "failed"):
            at = _HEADS.index("verdict")
            cells[at] = f"**{cells[at]}**"
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def function_tables(comparison: TwoSideComparison) -> list[str]:
    """Return for each changed counted step a table of its functions, as lines of markdown."""
    return [line for row, found in _counted(comparison) for line in _function_table(row, found)]


def growth_sentences(comparison: TwoSideComparison) -> list[str]:
    """Return for each changed counted step a sentence with the functions that grew."""
    return [
        f"{row.step}: {growth_sentence('instructions', row.effect, found)}."
        for row, found in _counted(comparison)
    ]


def _counted(
    comparison: TwoSideComparison,
) -> list[tuple[FigureVerdict, Sequence[FunctionCostChange]]]:
    """Return the rows of instructions with the functions that their change comes from."""
    return [
        (row, found)
        for row in comparison.rows
        if row.metric == INSTRUCTIONS and (found := comparison.functions.get(row.step))
    ]


def _function_table(row: FigureVerdict, functions: Sequence[FunctionCostChange]) -> list[str]:
    """Return the functions of a changed step, with their own instructions per operation."""
    return [
        f"| instructions of {cell(row.step)} | base | head | change of the step |",
        "| :--- | ---: | ---: | ---: |",
        *(
            f"| {code(each.function, table=True)} | {show_figure(each.before)} | "
            f"{show_figure(each.after)} | {each.share * row.effect:+.2%} |"
            for each in functions[:MOST_FUNCTIONS]
        ),
        "",
    ]


def _cells(row: FigureVerdict) -> tuple[str, ...]:
    if not row.blocks:
        return (row.step, row.metric, "", "", row.verdict, "", "0")
    return (
        row.step,
        row.metric,
        f"{1.0 + row.effect:.3f}",
        _interval(row),
        row.verdict,
        # A decided figure needs no smallest visible change.
        _percent(row.smallest_visible) if row.verdict == "undecided" else "",
        str(row.blocks),
    )


def _interval(row: FigureVerdict) -> str:
    if row.smallest_visible >= _BLIND:
        return "any"
    return " to ".join(f"{1.0 + end:.3f}" for end in row.interval)


def _percent(change: float) -> str:
    return f"{change:.1%}" if change < _BLIND else "nothing"


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()


def _remarks(comparison: TwoSideComparison, growth: Sequence[str]) -> list[str]:
    """Return remarks: how it was measured, the sentences in ``growth``, what it can miss."""
    ratio = f"Ratio is head / base; {directions(comparison.rows)}."
    found = [f"{ratio} {how_measured(comparison)}", *growth, *findings(comparison)]
    reach = [row.smallest_visible for row in comparison.rows if row.verdict == "undecided"]
    if reach and not comparison.answer.moved:
        found.append(
            'Undecided figures: "could see" is the smallest change that this comparison '
            "could detect; a longer --budget detects smaller ones."
            if min(reach) < _BLIND
            else ("Undecided figures: too few blocks to detect any change; give a longer --budget.")
        )
    return found


def how_measured(comparison: TwoSideComparison) -> str:
    """Return the runs, the time, the machine class and the workload of a comparison."""
    answer = comparison.answer
    how = (
        "One run of base and of head, counted,"
        if comparison.mode is Mode.COUNT
        else f"{plural(answer.blocks, 'block')} of base, head and a control (base once more)"
    )
    return (
        f"{how} in {show_duration(answer.seconds)} on {comparison.machine_class}, "
        f"workload {comparison.workload}; smallest change of interest "
        f"{comparison.question.smallest_effect:.1%}."
    )


def findings(comparison: TwoSideComparison) -> list[str]:
    """Return sentences about changes of the machine, and about single figures."""
    answer = comparison.answer
    found = [
        f"the machine was not steady: {each}; everything was measured again."
        for each in answer.moved_before
    ]
    again = " again" if answer.moved_before else ""
    if answer.moved:
        return [*found, *(f"the machine was{again} not steady: {each}." for each in answer.moved)]
    notes = dict.fromkeys(f"{row.step}: {row.note}" for row in comparison.rows if row.note)
    return [*found, *(f"{note}." for note in notes)]


def directions(rows: Sequence[FigureVerdict]) -> str:
    """Return for which of the compared metrics more is better, and for which less."""
    names = dict.fromkeys(row.metric for row in rows)
    less = [name for name in names if is_worse(name, 1.0)]
    more = [name for name in names if name not in less]
    parts = [
        f"{way} {', '.join(found)}" for way, found in (("more", more), ("less", less)) if found
    ]
    return " and ".join(parts) + " is better"
