"""The vocabulary as types, which every package may import; it imports no other package.

The flow of the data; each object is created once and then only read::

    Revision -> Build -> Cell -> Run (one bundle) -> Measurement -> Series -> Regression

Units, everywhere: times in seconds, sizes in bytes, CPU time in microseconds, rates per second,
unless a name states another unit.
"""

from __future__ import annotations

from pipeline.model.base import MOST, Frozen, digest
from pipeline.model.builds import Build, BuildOptions, Provenance, Revision, ServerConfig, Supply
from pipeline.model.cells import (
    MEASURED_HOW,
    Cell,
    Control,
    Mode,
    OptionValue,
    Scale,
    Step,
    Workload,
)
from pipeline.model.changes import (
    Contribution,
    CreepParts,
    Culprit,
    Excused,
    Pattern,
    Regression,
    RegressionKind,
    RegressionState,
    SeriesKey,
    Shift,
)
from pipeline.model.counts import CallCost, FunctionCost, FunctionCostChange, StepCounts
from pipeline.model.machines import (
    WAIT_FIELD,
    Connection,
    Disk,
    FieldKind,
    Machine,
    Pinning,
    ProbeSample,
    SampledField,
)
from pipeline.model.runs import (
    BUNDLE_SCHEMA,
    Background,
    Manifest,
    Origin,
    PhaseRecord,
    StepOutput,
    StepRecord,
    StepStatus,
    TimePoint,
    attempt_name,
    column_name,
)

__all__ = [
    "BUNDLE_SCHEMA",
    "MEASURED_HOW",
    "MOST",
    "WAIT_FIELD",
    "Background",
    "Build",
    "BuildOptions",
    "CallCost",
    "Cell",
    "Connection",
    "Contribution",
    "Control",
    "CreepParts",
    "Culprit",
    "Disk",
    "Excused",
    "FieldKind",
    "Frozen",
    "FunctionCost",
    "FunctionCostChange",
    "Machine",
    "Manifest",
    "Mode",
    "OptionValue",
    "Origin",
    "Pattern",
    "PhaseRecord",
    "Pinning",
    "ProbeSample",
    "Provenance",
    "Regression",
    "RegressionKind",
    "RegressionState",
    "Revision",
    "SampledField",
    "Scale",
    "SeriesKey",
    "ServerConfig",
    "Shift",
    "Step",
    "StepCounts",
    "StepOutput",
    "StepRecord",
    "StepStatus",
    "Supply",
    "TimePoint",
    "Workload",
    "attempt_name",
    "column_name",
    "digest",
]
