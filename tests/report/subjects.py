"""Subjects of tables without a store: figures by step, revision and repetition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.model import OptionValue, Scale, Step, StepStatus, Workload
from pipeline.report.relative import Column
from pipeline.report.tables import MeasuredSubject
from pipeline.storage.measurements import MeasurementRow
from pipeline.storage.steps import StepRemark

Figures = Mapping[str, Mapping[str, float | Sequence[float]]]
"""metric -> "step at revision" -> the value, or one for each repetition"""


def subject(
    figures: Figures,
    *,
    columns: Sequence[str] = ("17.10", "17.11"),
    groups: Mapping[str, str] | None = None,
    family: str = "sysbench",
    name: str = "cached",
    clients: int = 1,
    options: Mapping[str, OptionValue] | None = None,
    remarks: Sequence[StepRemark] = (),
    config: str = "x10a",
    steps: Sequence[str] = (),
) -> MeasuredSubject:
    """Return a subject of these figures; steps are in the group "reads" if not given."""
    failed = {
        (remark.step, remark.revision)
        for remark in remarks
        if remark.status == StepStatus.SLA_FAILED
    }
    rows = []
    for metric, values in figures.items():
        for place, value in values.items():
            step, _, revision = place.partition(" at ")
            repetitions = value if isinstance(value, Sequence) else [value]
            for repetition, one in enumerate(repetitions, start=1):
                # Only the first repetition of the given ones has failed.
                missed = repetition == 1 and (step, revision) in failed
                rows.append(
                    MeasurementRow(
                        target="postgres",
                        revision=revision,
                        line=None,
                        config=config,
                        build_options="official",
                        machine_class="tested",
                        workload=name,
                        workload_hash="h",
                        clients=clients,
                        step=step,
                        group=(groups or {}).get(step, "reads"),
                        unit="queries",
                        metric=metric,
                        repetition=repetition,
                        value=one,
                        run_id=f"{revision}-r{repetition}",
                        status=StepStatus.SLA_FAILED if missed else StepStatus.OK,
                    )
                )
    return MeasuredSubject(
        line="minors",
        title=f"minors, {name}",
        name=f"minors, {name}",
        workload=Workload(
            family=family,
            name=name,
            version="1",
            scale=Scale(tables=1, rows=1000, clients=clients, measure=1, warmup=0),
            steps=tuple(Step(name=step, group="", unit="") for step in steps),
            options=dict(options or {}),
        ),
        columns=tuple(
            Column(label=label, name=f"pg{label.replace('.', '')}.{config}", target="postgres")
            for label in columns
        ),
        base=None,
        metrics=(),
        remarks=tuple(remarks),
        read=lambda metrics: [row for row in rows if row.metric in metrics],
    )


def missed(step: str, revision: str, note: str = "50 of 100 inserts/s") -> StepRemark:
    """Return the remark on a step that failed its SLA."""
    return StepRemark(revision, step, StepStatus.SLA_FAILED, note, [])


def marked(step: str, revision: str, mark: str = "still warming") -> StepRemark:
    """Return the remark on a step that was marked."""
    return StepRemark(revision, step, StepStatus.OK, "", [mark])
