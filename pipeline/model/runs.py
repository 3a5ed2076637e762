"""Types for runs: the manifest of a bundle, and the parsed output of steps."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import AwareDatetime, Field, model_validator

from pipeline.model.base import MOST, Frozen
from pipeline.model.builds import Build, Revision, ServerConfig
from pipeline.model.cells import Control, Step, Workload
from pipeline.model.machines import Machine, Pinning

BUNDLE_SCHEMA = 2
"""Version of the bundle layout that this code writes; bundles of newer versions cannot be read."""


class StepStatus(StrEnum):
    """How a step ended: it succeeded or failed. Failures are recorded, never averaged away.

    A step that failed its SLA has values, but did not sustain the rate of its background work. Its
    throughput is not comparable.
    """

    OK = "ok"
    FAILED = "failed"
    SLA_FAILED = "sla failed"


class StepRecord(Frozen):
    """What is recorded of an executed step: its times, its command, how it ended.

    ``disturbed`` describes what else used the machine during the step, one sentence for each kind
    of disturbance. ``taken`` is the share of a core's time that other processes and the hypervisor
    took, by kind, whether or not this disturbed the step.
    """

    step: Step
    status: StepStatus
    started_at: AwareDatetime
    wall_seconds: float = Field(ge=0, allow_inf_nan=False)
    command: tuple[str, ...]
    folder: str
    database_bytes: int | None = Field(default=None, ge=0)
    note: str = ""
    # Omitted if empty, as ``repeated`` below.
    disturbed: dict[str, str] = Field(
        default_factory=dict, exclude_if=lambda reported: not reported
    )
    taken: dict[str, float] = Field(default_factory=dict, exclude_if=lambda shares: not shares)

    @property
    def severity(self) -> float:
        """The largest share of time that a disturbance took; 1 if one is no share, 0 without."""
        return max((self.taken.get(kind, 1.0) for kind in self.disturbed), default=0.0)


class PhaseRecord(Frozen):
    """How long a part of a run other than a step took: start, load, warm-up, maintenance, stop."""

    name: str
    seconds: float = Field(ge=0, allow_inf_nan=False)
    command: tuple[str, ...] = ()


class Origin(StrEnum):
    """Whether a run was measured here or taken from a published table."""

    MEASURED = "measured"
    IMPORTED = "imported"


_SHORT = {"postgres": "pg", "mysql": "my", "mariadb": "ma", "rocksdb": "rdb", "sqlite": "sl"}


def column_name(target: str, label: str, options: str, config: str) -> str:
    """Return the published name of a build with a configuration: ``pg1711_official.x10a_c2r24``.

    ``label`` is the name of the revision, ``options`` that of the build options, ``config`` that of
    the configuration. Imported results have no configuration and keep their published name.
    """
    if not config:
        return label
    return f"{_SHORT.get(target, target)}{label.replace('.', '')}_{options}.{config}"


def attempt_name(run_id: str, attempt: int) -> str:
    """Return the name of a disturbed attempt at a run; such an attempt does not count."""
    return f"{run_id}.disturbed-{attempt}"


class Manifest(Frozen):
    """Everything known about a run except its raw output; the first file of a bundle.

    ``files`` maps every other member of the bundle to its SHA-256. ``sampled`` has the kind
    (counter or gauge) and the unit of every sampled field. ``line`` is set only for imported runs;
    the configuration determines the lines of measured runs. ``preflight`` has the warnings about
    the machine at the beginning of the run, by check.

    ``repeated`` has the disturbed attempts at steps that were repeated immediately; ``steps`` has
    the attempts that count. ``attempt`` numbers the disturbed attempts at a run that was repeated
    as a whole; it is 0 for the attempt that counts.
    """

    schema_version: int = Field(default=BUNDLE_SCHEMA, ge=1)
    # The name of a file, shown in messages of one line.
    run_id: str = Field(pattern=r"^[^/\x00-\x1f\x7f]+$")
    origin: Origin
    revision: Revision
    build: Build
    config: ServerConfig
    machine: Machine
    workload: Workload
    cell_key: str
    repetition: int = Field(ge=1, le=MOST)
    started_at: AwareDatetime
    ended_at: AwareDatetime
    control: Control | None = Field(default=None, exclude_if=lambda control: control is None)
    pinning: Pinning = Pinning()
    tools: dict[str, str] = Field(default_factory=dict)
    preflight: dict[str, str] = Field(default_factory=dict)
    sampled: dict[str, str] = Field(default_factory=dict)
    steps: tuple[StepRecord, ...] = ()
    repeated: tuple[StepRecord, ...] = Field(default=(), exclude_if=lambda steps: not steps)
    attempt: int = Field(default=0, ge=0, exclude_if=lambda attempt: not attempt)
    phases: tuple[PhaseRecord, ...] = ()
    line: str | None = None
    notes: str = ""
    files: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.ended_at < self.started_at:
            raise ValueError("ended_at, which is before started_at")
        return self

    @property
    def name(self) -> str:
        """The name of the bundle: the run's name, or that of a disturbed attempt at the run."""
        return attempt_name(self.run_id, self.attempt) if self.attempt else self.run_id


class TimePoint(Frozen):
    """The throughput of a step in one second, ``at`` seconds after the start of the step."""

    at: float
    ops_per_second: float
    latency_ms: float | None = None


class Background(Frozen):
    """Background work during a step, such as inserts: its achieved rate, and its target rate.

    ``target`` is None if no rate has to be sustained.
    """

    achieved: float
    target: float | None = None


class StepOutput(Frozen):
    """What the load generator printed about one step, parsed.

    ``operations`` counts queries, or rows for steps whose unit is rows. ``histogram`` is pairs
    (upper bound of the bucket in milliseconds, number of events); ``latency_ms`` has the mean,
    percentiles and maximum as avg, p50, p95, p99 and max. ``background`` is by kind of work
    (inserts, deletes); ``figures`` are the family's own metrics, by name.
    """

    operations: float
    seconds: float
    timeline: tuple[TimePoint, ...] = ()
    histogram: tuple[tuple[float, int], ...] = ()
    latency_ms: dict[str, float] = Field(default_factory=dict)
    errors: int = 0
    background: dict[str, Background] = Field(default_factory=dict)
    figures: dict[str, float] = Field(default_factory=dict)
