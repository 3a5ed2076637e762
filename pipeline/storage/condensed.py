"""Condensed bundles: the results of a run without its per-second samples and raw output.

A condensed bundle has the manifest, the results of each step as they are in the store, and the
small members that explanations compare. The store gets the same figures from a condensed bundle, so
detection, tables and a rebuild give the same results as with full bundles. Only the charts over
time within a step are lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pipeline.model import StepRecord, StepStatus
from pipeline.storage.bundle import COUNTS_MEMBER, SETTINGS_MEMBER, SUFFIX, Bundle, pack_bundle
from pipeline.storage.write import StepValues

MEMBER = "condensed.json"
"""The member of a condensed bundle with the results of its steps, in order."""

_KEPT = (SETTINGS_MEMBER, "plans.txt")
"""Members of a bundle that its condensed form keeps."""

_KEPT_OF_STEPS = ("/profile.folded", "/waiting.folded", f"/{COUNTS_MEMBER}")
"""Endings of the names of a step's files that the condensed form keeps: profiles and counts."""


def is_condensed(files: Mapping[str, object]) -> bool:
    """Return whether a bundle is condensed: without samples and raw output."""
    return MEMBER in files


def condense(bundle: Bundle, steps: Sequence[StepValues], to: Path) -> None:
    """Write the condensed form of a bundle to a path and sync it to the disk. Raises OSError."""
    files = {
        name: data
        for name, data in bundle.files.items()
        if name in _KEPT or name.endswith(_KEPT_OF_STEPS)
    }
    files[MEMBER] = dump_steps(steps)
    pack_bundle(to, bundle.manifest, files)


def condensed_path(path: Path) -> Path:
    """Return where a condensed bundle is written before it replaces the full one."""
    return path.with_name(f".{path.name.removesuffix(SUFFIX)}.condensed.partial")


def condensed_steps(records: Sequence[StepRecord], member: bytes) -> Iterator[StepValues]:
    """Yield the steps of a condensed bundle. Raises an error if its file is invalid."""
    for record, kept in zip(records, json.loads(member), strict=True):
        yield StepValues(
            record.step,
            StepStatus(kept["status"]),
            str(kept["note"]),
            {str(name): float(value) for name, value in kept["values"].items()},
            marks=tuple(map(str, kept["marks"])),
            activity={str(name): [(0.0, float(mean))] for name, mean in kept["activity"].items()},
            histogram=[(float(bound), int(count)) for bound, count in kept["histogram"]],
            disturbed={str(name): str(why) for name, why in kept["disturbed"].items()},
        )


def dump_steps(steps: Sequence[StepValues]) -> bytes:
    """Return the file of a condensed bundle that holds the results of its steps."""
    return json.dumps([_dumped(step) for step in steps]).encode()


def _dumped(step: StepValues) -> dict[str, object]:
    return {
        "status": step.status.value,
        "note": step.note,
        "values": dict(step.values),
        "marks": list(step.marks),
        "activity": step.activity_mean(),
        "histogram": list(step.histogram),
        "disturbed": dict(step.disturbed),
    }
