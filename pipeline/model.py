"""The vocabulary as types. Everything may import this; it imports nothing of ours.

The way of the data, each type made once and then only read::

    Revision -> Build -> Cell -> Run (one bundle) -> Measurement -> Series -> Regression

Units, everywhere: times in seconds, sizes in bytes, CPU time in microseconds, rates per
second, unless a name says otherwise.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

BUNDLE_SCHEMA = 2
"""Version of the bundle layout that this code writes, and the newest it reads."""


class Frozen(BaseModel):
    """Base of all vocabulary types: immutable, and strict about unknown fields."""

    # JSON has no infinity; an effect relative to a level of zero is one.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON: equal values, equal identity."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


# --- what is tested ------------------------------------------------------------------


class Supply(Frozen):
    """A place that revisions of a target are had from, and what it is asked for.

    A line chooses it by its ``name``. ``kind`` is the kind of source that serves it (maven,
    debian, npm, crate, git, tags, tree) and ``coordinates`` what that kind is asked for, in its own
    spelling. ``prebuilt`` tells programs from source code. ``commits`` is true where the
    revisions are the commits of a branch, or a source tree as it stands, and not releases.
    """

    name: str
    kind: str
    coordinates: str
    prebuilt: bool = True
    commits: bool = False


class Revision(Frozen):
    """One release or commit of a target.

    ``order`` is the sort key within the target (for releases the version's numbers, for
    commits their place in the branch), from which a line gets its positions. ``major`` names
    the release series, and is empty for a commit of which it is not known. ``locator`` is what
    the ``supply`` calls it, ``at`` when it was made, if that is known. ``copy_number`` above 1
    marks a control: the same revision entered once more on purpose, so that its build is
    measured as if it were another.
    """

    target: str
    version: str
    order: tuple[int, ...]
    major: str
    locator: str = ""
    supply: Supply | None = None
    at: datetime | None = None
    copy_number: int = 1

    @property
    def label(self) -> str:
        """The name in tables and charts: ``17.11``, or ``17.11#2`` for a control."""
        return self.version if self.copy_number == 1 else f"{self.version}#{self.copy_number}"


class BuildOptions(Frozen):
    """How source code becomes a build, by a name.

    ``compiler`` is gcc, clang or a path; ``flags`` go to the compiler, ``lto`` to compiler and
    linker, ``configure`` to the target's own configuration step.
    """

    name: str
    compiler: str = "gcc"
    flags: str = "-O2 -fno-omit-frame-pointer"
    lto: bool = False
    configure: tuple[str, ...] = ()


class Provenance(Frozen):
    """Where a build came from, exactly enough to get the same one again.

    ``sha256`` identifies what was had from the source. The rest is known of builds that were
    compiled here: the commit, the compiler with its version, the flags, the patches that were
    applied, by the SHA-256 of each. ``libraries`` are those of the machine that the program
    is linked with. ``made`` is when a release was made, as it or its archive says; None where
    neither does, and of a commit, whose time is its revision's.
    """

    source: str
    locator: str
    sha256: str
    options: str
    reported_version: str = ""
    commit: str = ""
    dirty: bool = False
    compiler: str = ""
    flags: str = ""
    patches: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    # Not written where it is unknown: what was measured before it was asked keeps its digest.
    made: datetime | None = Field(default=None, exclude_if=lambda made: made is None)


class Build(Frozen):
    """A revision compiled with named options, or an official binary.

    ``hash`` is over the program files, so two revisions with equal hashes are the same
    binary. ``home`` is where it is installed on this machine and is not part of it.
    """

    target: str
    version: str
    options: str
    hash: str
    provenance: Provenance
    home: Path = Field(default=Path(), exclude=True)


class ServerConfig(Frozen):
    """A named DBMS configuration, with the file as it was given to the server.

    ``family`` is the name a series keeps over the versions (x10a); ``name`` adds what it
    was scaled to (x10a_c8r32: 8 cores, 32 GB). A database of not more bytes than it ``exceeds``
    fits into memory where the configuration is for one that does not.
    """

    family: str
    name: str
    text: str
    exceeds: int = 0

    @property
    def hash(self) -> str:
        """Identity of the file's content."""
        return digest(self.text)


# --- where it is measured ------------------------------------------------------------


class Disk(Frozen):
    """One disk, as the kernel tells of it; empty or None stands for what it does not."""

    name: str
    model: str = ""
    firmware: str = ""
    size_bytes: int | None = None
    rotational: bool | None = None
    scheduler: str = ""
    write_cache: str = ""


class Machine(Frozen):
    """One server with its fingerprint. Machines of equal hardware form a machine class.

    ``cores`` are the processors that the kernel schedules on: threads, where SMT is on.
    ``storage`` and ``mount`` are of the folder with the databases, and ``disks`` those under it.
    ``cmdline`` is what the kernel was started with, ``software`` the versions of the C library and
    the compilers. Bundles of an older nightshift lack some: empty or None is what is not known.
    """

    machine_class: str
    hostname: str
    cpu_model: str
    cores: int
    memory_bytes: int
    kernel: str
    operating_system: str
    virtualised: str
    storage: str
    microcode: str = ""
    sockets: int | None = None
    physical_cores: int | None = None
    numa_nodes: int | None = None
    memory_speed: str = ""
    mount: str = ""
    disks: tuple[Disk, ...] = ()
    cmdline: str = ""
    software: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, str] = Field(default_factory=dict)


class Pinning(Frozen):
    """Which processors the server, the client and the harness itself may use."""

    server: tuple[int, ...] = ()
    client: tuple[int, ...] = ()
    harness: tuple[int, ...] = ()


class FieldKind(StrEnum):
    """A counter only grows and is read as a rate; a gauge is read as it stands."""

    COUNTER = "counter"
    GAUGE = "gauge"


class SampledField(NamedTuple):
    """One figure of a sample."""

    name: str
    kind: FieldKind
    unit: str


class Sample(NamedTuple):
    """What the probes read at one moment, ``at`` seconds after the step's start.

    Counters only grow; two samples and the time between them make a rate.
    """

    at: float
    values: Mapping[str, float]


class Connection(Frozen):
    """How a client reaches a started server: by its Unix socket, in ``socket_dir``.

    ``driver`` is sysbench's name for the protocol (pgsql, mysql). A DBMS without a server has
    the name of its own as driver; its database is in ``socket_dir``. The load generator loads
    the library ``program``, or is what ``command`` runs: a program of the build, with the options
    of the configuration.
    """

    driver: str
    socket_dir: str
    port: int
    user: str
    database: str
    program: str = ""
    command: tuple[str, ...] = ()


# --- what is run ---------------------------------------------------------------------


class Step(Frozen):
    """One measured part of a workload."""

    name: str
    group: str
    unit: str


class Scale(Frozen):
    """How large and how long: rows per table, seconds measured and seconds of warm-up.

    Zero where a published result does not say.
    """

    tables: int = Field(ge=0)
    rows: int = Field(ge=0)
    clients: int = Field(ge=0)
    measure: float = Field(ge=0)
    warmup: float = Field(ge=0)


OptionValue = bool | int | float | str
"""The value of a setting that a workload family has of its own."""


class Workload(Frozen):
    """A named, versioned sequence of steps at a scale.

    ``version`` changes when its scripts do, so that results of different scripts never
    share a series. ``options`` are the settings of its family that were given. With ``profile``
    the server is recorded while it is measured, which costs it something: a workload of its own.
    """

    family: str
    name: str
    version: str
    scale: Scale
    steps: tuple[Step, ...]
    options: dict[str, OptionValue] = Field(default_factory=dict)
    profile: bool = False

    @property
    def hash(self) -> str:
        """Identity: equal hashes measure the same thing."""
        return digest(self.model_dump(mode="json", exclude_defaults=True))


class Control(Frozen):
    """What makes a run a control: which one, on which machine (its hostname), in which night.

    A night is a day in UTC.
    """

    name: str
    machine: str
    night: date


class Cell(Frozen):
    """What the planner schedules: build x config x machine class x workload.

    The number of clients is part of the workload's scale. A ``control`` is measured every night
    on every machine, and is on no line.
    """

    revision: Revision
    build_options: str
    config: ServerConfig
    machine_class: str
    workload: Workload
    control: Control | None = None

    @property
    def key(self) -> str:
        """Identity of the cell: what is measured once need not be measured again."""
        control = {"control": self.control.model_dump(mode="json")} if self.control else {}
        return digest(
            {
                **control,
                "target": self.revision.target,
                "revision": self.revision.label,
                "source": self.revision.supply.name if self.revision.supply else "",
                "build_options": self.build_options,
                "config": [self.config.name, self.config.hash],
                "machine_class": self.machine_class,
                "workload": self.workload.hash,
            }
        )

    def run_id(self, repetition: int) -> str:
        """Name of one execution of this cell; the same for every attempt at it."""
        return f"{self.revision.target}-{self.revision.label}-{self.key[:12]}-r{repetition}"


# --- what comes out ------------------------------------------------------------------


class StepStatus(StrEnum):
    """How a step ended. A failed step is a value; it is never averaged away.

    One that failed its SLA has figures, but did not sustain the rate of the work beside what it
    measures: they are no throughput of the step as it was meant.
    """

    OK = "ok"
    FAILED = "failed"
    SLA_FAILED = "sla failed"


class StepRecord(Frozen):
    """A step as it was executed: when, by which command, how it ended.

    ``disturbed`` says what else went on on the machine meanwhile, a sentence for each kind.
    """

    step: Step
    status: StepStatus
    started_at: datetime
    wall_seconds: float
    command: tuple[str, ...]
    folder: str
    database_bytes: int | None = None
    note: str = ""
    # Not written where there is nothing, as what is measured again below.
    disturbed: dict[str, str] = Field(default_factory=dict, exclude_if=lambda told: not told)


class PhaseRecord(Frozen):
    """Timed work that is no step: start, load, warm-up, maintenance, stop."""

    name: str
    seconds: float
    command: tuple[str, ...] = ()


class Origin(StrEnum):
    """Whether a run was measured here or taken from a published table."""

    MEASURED = "measured"
    IMPORTED = "imported"


_SHORT = {"postgres": "pg", "mysql": "my", "mariadb": "ma", "rocksdb": "rdb", "sqlite": "sl"}


def column_name(target: str, label: str, options: str, config: str) -> str:
    """Return the published name of what was measured: ``pg1711_official.x10a_c2r24``.

    ``label`` is the revision's, ``options`` the build's, ``config`` the configuration's name.
    Results that were imported have no configuration and keep the name they came with.
    """
    if not config:
        return label
    return f"{_SHORT.get(target, target)}{label.replace('.', '')}_{options}.{config}"


def attempt_name(run_id: str, attempt: int) -> str:
    """Return the name of an attempt at a run that was disturbed and does not count."""
    return f"{run_id}.disturbed-{attempt}"


class Manifest(Frozen):
    """The head of a bundle: everything known about a run except its raw output.

    ``files`` maps every other member of the bundle to its SHA-256. ``sampled`` says of every
    figure in the samples whether it is a counter or a gauge, and its unit. ``line`` is set
    only for imported runs; the lines of measured ones follow from the configuration. ``preflight``
    is what the machine was warned of when it began to measure, by the name of the check.

    ``repeated`` are attempts at steps that were disturbed and repeated at once; what counts is in
    ``steps``. ``attempt`` numbers the attempts at a run that were disturbed and measured again as a
    whole; in the one that counts it is 0.
    """

    schema_version: int = BUNDLE_SCHEMA
    run_id: str
    origin: Origin
    revision: Revision
    build: Build
    config: ServerConfig
    machine: Machine
    workload: Workload
    cell_key: str
    repetition: int = Field(ge=1)
    started_at: datetime
    ended_at: datetime
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

    @property
    def name(self) -> str:
        """Name of the bundle: that of its run, or of one attempt at it that does not count."""
        return attempt_name(self.run_id, self.attempt) if self.attempt else self.run_id


class TimePoint(Frozen):
    """Throughput of one reporting interval of a step, ``at`` seconds after its start."""

    at: float
    ops_per_second: float
    latency_ms: float | None = None


class Background(Frozen):
    """Work beside what a step measures: how much of it was done per second, and was to be.

    ``target`` is None where there is no rate to sustain.
    """

    achieved: float
    target: float | None = None


class StepOutput(Frozen):
    """What the load generator said of one step.

    ``operations`` counts queries, or rows for steps whose unit is rows. ``histogram`` is
    pairs (upper bound of the bucket in milliseconds, number of events); ``latency_ms`` holds
    the mean, percentiles and maximum as avg, p50, p95, p99 and max. ``background`` is by what
    is done (inserts, deletes); ``figures`` are metrics of the family's own, by their name.
    """

    operations: float
    seconds: float
    timeline: tuple[TimePoint, ...] = ()
    histogram: tuple[tuple[float, int], ...] = ()
    latency_ms: dict[str, float] = Field(default_factory=dict)
    errors: int = 0
    background: dict[str, Background] = Field(default_factory=dict)
    figures: dict[str, float] = Field(default_factory=dict)


class Measurement(Frozen):
    """The value of one metric for one step of one run."""

    metric: str
    value: float


# --- what is concluded ---------------------------------------------------------------


class SeriesKey(Frozen):
    """What is fixed along a series; the revision is what varies.

    ``config`` is the configuration's family, ``workload`` its name and ``workload_hash`` the
    identity of what exactly was run.
    """

    line: str
    target: str
    config: str
    build_options: str
    machine_class: str
    workload: str
    workload_hash: str
    clients: int
    step: str
    group: str
    unit: str
    metric: str


class Pattern(Frozen):
    """Which series are meant: shell patterns, as in ``step = "scan*"``."""

    target: str = "*"
    line: str = "*"
    workload: str = "*"
    step: str = "*"
    metric: str = "*"

    def matches(self, key: SeriesKey) -> bool:
        """Say whether a series is meant."""
        return all(fnmatchcase(getattr(key, name), pattern) for name, pattern in self)


class Point(Frozen):
    """One value of a series: the revision at a position, one repetition."""

    position: int
    revision: str
    repetition: int
    value: float
    run_id: str


class Series(Frozen):
    """The measurements of one metric along a line, ordered by position."""

    key: SeriesKey
    points: tuple[Point, ...]


class RegressionKind(StrEnum):
    """What changed: the level of a figure, the spread of its runs, or whether an SLA is kept."""

    LEVEL = "level"
    SPREAD = "spread"
    SLA = "sla"


class Shift(Frozen):
    """A change point of one series, in the words of that series.

    ``effect`` is the relative change of the level, ``worse`` whether that is the bad way.
    ``first_bad`` is the first revision at the new level, ``last_good`` the one before it;
    ``earliest`` and ``latest`` bound the position with the detector's confidence. Of a change
    of ``kind`` spread, ``before``, ``after`` and the effect are of the standard deviation.
    """

    series: SeriesKey
    position: int
    earliest: int
    latest: int
    last_good: str
    first_bad: str
    before: float
    after: float
    effect: float
    effect_low: float
    effect_high: float
    pvalue: float
    worse: bool
    kind: RegressionKind = RegressionKind.LEVEL


class RegressionState(StrEnum):
    """Where a regression stands. Nothing is filed as proven before it was confirmed."""

    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    WONT_FIX = "won't fix"


class Culprit(Frozen):
    """Where a bisection found the cause of a regression.

    ``revision`` is the first bad one and ``parent`` the last good one; ``between`` are revisions
    that cannot be told from it, as they were not measured or cannot be. ``probability`` is that it
    lies there; with ``confirmed`` both were compared again, with runs of their own. ``subject`` is
    of a commit the first line of its message, with its author.
    """

    revision: str
    parent: str
    between: tuple[str, ...] = ()
    probability: float
    confirmed: bool
    subject: str = ""

    def __str__(self) -> str:
        """Say it in a line: one revision with its parent, or a range with its probability."""
        if not self.confirmed:
            # Rounded down: nothing is certain.
            sure = f"{math.floor(100 * self.probability)} %"
            return f"after {self.parent} and up to {self.revision} with {sure}"
        subject = f": {self.subject}" if self.subject else ""
        others = f", or {', '.join(self.between)} (not measured)" if self.between else ""
        return f"{self.revision}{subject}{others}; its parent is {self.parent}"


class Regression(Frozen):
    """Shifts with one cause: one line, one range of revisions, many series.

    An improvement is the same thing with ``worse`` false. ``fingerprint`` stays the same
    from night to night, so that one cause gives one issue. ``recovers`` is, of an improvement, the
    fingerprint of the regression that it made good. ``culprit`` is what a bisection named.
    """

    fingerprint: str
    line: str
    target: str
    last_good: str
    first_bad: str
    position: int
    worse: bool
    state: RegressionState
    shifts: tuple[Shift, ...]
    kind: RegressionKind = RegressionKind.LEVEL
    recovers: str = ""
    culprit: Culprit | None = None
