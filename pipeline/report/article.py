"""An article about a table, as markdown to edit: builds, workloads, tables, evidence, settings.

The order of the sections is that of the Small Datum reports.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pipeline.config import ReportSection
from pipeline.explain.settings import SettingDifferences
from pipeline.model import Mode
from pipeline.model.metrics import METRICS
from pipeline.report.cells import format_value, tone_of
from pipeline.report.grid import Grid, Tone
from pipeline.report.layouts.base import usual_metric
from pipeline.report.relative import compared
from pipeline.report.render.markdown import as_markdown
from pipeline.report.tables import MeasuredSubject
from pipeline.storage.runs import RunRow
from pipeline.text.markdown import cell, code
from pipeline.text.units import plural
from pipeline.workloads import find_family

EVIDENCE = ("cpu_us/o", "cs/o", "rKB/o", "wKB/o", "instructions/o")
"""The metrics shown as evidence next to a changed step, as ratios to the base: CPU, context
switches, I/O."""

_MOST_SETTINGS = 40
"""Maximum number of rows in a table of changed settings; a longer table states how many rows it
leaves out."""


class ArticleColumn(NamedTuple):
    """A column of an article's table, with its newest run.

    ``settings`` are the differences from the settings of the first column with the same DBMS; None
    for that column, and if they are unknown.
    """

    label: str
    run: RunRow
    settings: SettingDifferences | None


class ChangedStep(NamedTuple):
    """A step that is slower or faster than the base in one column, with its evidence.

    ``evidence`` has the ratios to the base by metric, None without values.
    """

    step: str
    ratio: float
    tone: Tone
    evidence: Mapping[str, float | None]


def article(
    title: str,
    columns: Sequence[ArticleColumn],
    subjects: Sequence[MeasuredSubject],
    grids: Sequence[Grid],
    base: str,
    settings: ReportSection,
) -> str:
    """Return the article about the results of chosen columns, relative to ``base``."""
    changes = {subject.title: changed_steps(subject, base, settings) for subject in subjects}
    name = {column.label: column.run.name for column in columns}
    parts = [
        f"# {cell(title)}",
        _summary(subjects, changes, name, base, settings),
        _builds(columns),
        _workloads(subjects),
        _results(grids, name.get(base, base)),
        _evidence(subjects, changes, name, base),
        _settings(columns),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def changed_steps(
    subject: MeasuredSubject, base: str, settings: ReportSection
) -> dict[str, list[ChangedStep]]:
    """Return for each column the steps that are notably slower or faster than the base.

    The slowest step comes first.
    """
    metric = usual_metric(subject)
    if base not in {column.label for column in subject.columns} or len(subject.columns) < 2:
        return {}
    relative = {
        name: compared(table, base).by_step()
        for name, table in subject.tables([metric, *EVIDENCE]).items()
    }
    others = [column for column in subject.columns if column.label != base]
    found: dict[str, list[ChangedStep]] = {}
    for at, column in enumerate(others):
        changed = []
        for step, values in relative[metric].items():
            ratio = values[at]
            if ratio is None or not (tone := tone_of(metric, ratio, settings)):
                continue
            evidence = {
                each: relative[each][step][at] if step in relative[each] else None
                for each in EVIDENCE
                if each != metric
            }
            changed.append(ChangedStep(step, ratio, tone, evidence))
        found[column.label] = sorted(changed, key=lambda each: (each.tone != "worse", each.ratio))
    return found


def _summary(
    subjects: Sequence[MeasuredSubject],
    changes: Mapping[str, Mapping[str, Sequence[ChangedStep]]],
    name: Mapping[str, str],
    base: str,
    settings: ReportSection,
) -> str:
    lines = ["## tl;dr", ""]
    for subject in subjects:
        metric = usual_metric(subject)
        found = changes[subject.title]
        if not found:
            lines.append(f"- {cell(subject.title)}: there is nothing to compare with {cell(base)}")
            continue
        table = compared(subject.table(metric), base)
        ratios = list(table.by_step().values())
        for at, (label, changed) in enumerate(found.items()):
            values = [row[at] for row in ratios]
            known = [value for value in values if value is not None]
            if not known:
                continue
            worse = [each for each in changed if each.tone == "worse"]
            better = [each for each in changed if each.tone == "better"]
            lines.append(
                f"- {cell(subject.title)}: {cell(name.get(label, label))} has a median relative "
                f"{metric} of {statistics.median(known):.2f} over {plural(len(known), 'step')}; "
                f"{_extreme(worse, 'worse', worse[:1])}, {_extreme(better, 'better', better[-1:])}"
            )
    limits = f"{settings.worse:g} or less is worse, {settings.better:g} or more is better"
    return "\n".join([*lines, "", f"Relative throughput of {limits}."])


def _extreme(changed: Sequence[ChangedStep], word: str, extreme: Sequence[ChangedStep]) -> str:
    most = "".join(f" (most: {each.ratio:.2f}, {cell(each.step)})" for each in extreme)
    return f"{len(changed)} {word}{most}"


def _builds(columns: Sequence[ArticleColumn]) -> str:
    lines = ["## Builds, configuration and hardware", ""]
    lines += [
        "| column | DBMS | build | made from | configuration |",
        "| --- | --- | --- | --- | --- |",
    ]
    for column in columns:
        run = column.run
        provenance = run.provenance
        how = " ".join(
            text for text in (provenance.get("compiler", ""), provenance.get("flags", "")) if text
        )
        build = f"{run.build_options}: {how}" if how else run.build_options
        source = f"{provenance.get('source', '')} {provenance.get('locator', '')}".strip()
        lines.append(
            f"| {cell(run.name)} | {cell(run.target)} {cell(run.revision)} | {cell(build)} | "
            f"{cell(source)} | {cell(run.config)} |"
        )
    machines = dict.fromkeys(_machine(column.run.machine) for column in columns)
    return "\n".join([*lines, "", *(f"The server: {machine}." for machine in machines)])


def _machine(machine: Mapping[str, object]) -> str:
    memory = machine.get("memory_bytes")
    facts = [
        machine.get("cpu_model"),
        f"{machine.get('cores')} cores",
        f"{memory / 2**30:.0f} GiB of memory" if isinstance(memory, int) else "",
        machine.get("storage"),
        machine.get("operating_system"),
        f"kernel {machine.get('kernel')}",
        f"virtual ({machine.get('virtualised')})" if machine.get("virtualised") else "",
    ]
    return ", ".join(cell(str(fact)) for fact in facts if fact)


def _workloads(subjects: Iterable[MeasuredSubject]) -> str:
    lines = ["## Benchmark", ""]
    for subject in subjects:
        workload, scale = subject.workload, subject.workload.scale
        how = (
            "instructions per operation are counted"
            if workload.mode is Mode.COUNT
            else f"each step is measured for {scale.measure:g} s after {scale.warmup:g} s"
        )
        steps = plural(len(workload.steps), "step")
        lines.append(
            f"- {cell(subject.title)}: {workload.family} with {steps}, "
            f"{find_family(workload.family).size(workload)}; {how}"
        )
    return "\n".join(lines)


def _results(grids: Sequence[Grid], base: str) -> str:
    text = ["## Results"]
    if any(grid.base is not None for grid in grids):
        text.append(
            f"A relative value is the value of a column divided by the value of {cell(base)}. "
            "Values are medians over the repetitions."
        )
    return "\n\n".join([*text, *(as_markdown(grid).rstrip() for grid in grids)])


def _evidence(
    subjects: Sequence[MeasuredSubject],
    changes: Mapping[str, Mapping[str, Sequence[ChangedStep]]],
    name: Mapping[str, str],
    base: str,
) -> str:
    parts = []
    for subject in subjects:
        for label, changed in changes[subject.title].items():
            metrics = [
                metric
                for metric in EVIDENCE
                if any(each.evidence.get(metric) is not None for each in changed)
            ]
            if not changed:
                continue
            heads = ["step", usual_metric(subject), *metrics]
            rows = [
                [
                    cell(each.step),
                    format_value(each.ratio, 2),
                    *(format_value(each.evidence[metric], 2) for metric in metrics),
                ]
                for each in changed
            ]
            parts.append(
                "\n".join(
                    [
                        f"### {cell(subject.title)}: {cell(name.get(label, label))} against "
                        f"{cell(name.get(base, base))}",
                        "",
                        f"| {' | '.join(heads)} |",
                        f"| :--- | {' | '.join('---:' for _ in heads[1:])} |",
                        *(f"| {' | '.join(row)} |" for row in rows),
                    ]
                )
            )
    if not parts:
        return ""
    meanings = "; ".join(f"{metric}: {METRICS[metric].help}" for metric in EVIDENCE)
    first = f"Ratios to the base for each changed step. {meanings}."
    return "\n\n".join(["## What changed", first, *parts])


def _settings(columns: Sequence[ArticleColumn]) -> str:
    parts = []
    for column in columns:
        if column.settings is None:
            continue
        head = f"### {cell(column.run.name)}: {column.settings.summary}"
        lines = [head]
        shown = column.settings.changed[:_MOST_SETTINGS]
        if shown:
            lines += ["", "| setting | before | now |", "| --- | --- | --- |"]
            lines += [f"| {code(n, table=True)} | {cell(a)} | {cell(b)} |" for n, a, b in shown]
        if left := len(column.settings.changed) - len(shown):
            lines += ["", f"{plural(left, 'more changed setting')} not shown."]
        for what, found in (("Added", column.settings.added), ("Removed", column.settings.removed)):
            if found:
                names = ", ".join(code(each) for each, _ in found)
                lines += ["", f"{what}: {names}."]
        parts.append("\n".join(lines))
    if not parts:
        return ""
    return "\n\n".join(["## Settings", "Compared with the first column of the same DBMS.", *parts])
