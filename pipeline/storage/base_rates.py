"""The base rates of a machine: what other work takes of a measured core in a usual night."""

from __future__ import annotations

import heapq
import statistics
from collections import defaultdict
from datetime import date
from pathlib import Path

from pipeline.storage.bundle import DamagedBundleError, list_bundles, read_manifest

ENOUGH = 3
"""Nights that a base rate needs: the median of three is not moved by one unusual night."""

_READ = 100
"""How many of the newest bundles are read, which takes some milliseconds each."""


def usual_shares(bundles: Path, hostname: str, night: date) -> dict[str, float]:
    """Return the usual share of a core's time that each kind of disturbance takes on a machine.

    The shares are those in the newest bundles of the machine from before ``night`` (a day in UTC):
    the median over the nights of the median over the steps of a night. Empty if there are fewer
    than ``ENOUGH`` nights.
    """
    newest = heapq.nlargest(_READ, list_bundles(bundles), key=_written)
    nights: dict[str, dict[date, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in newest:
        try:
            manifest = read_manifest(path)
        except DamagedBundleError:
            continue  # Ingest reports it.
        began = manifest.started_at.date()
        if manifest.machine.hostname != hostname or began >= night:
            continue
        for step in (*manifest.steps, *manifest.repeated):
            for kind, share in step.taken.items():
                nights[kind][began].append(share)
    return {
        kind: statistics.median(map(statistics.median, each.values()))
        for kind, each in nights.items()
        if len(each) >= ENOUGH
    }


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0  # Retention may have removed it meanwhile.
