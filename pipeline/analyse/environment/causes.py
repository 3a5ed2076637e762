"""What the fingerprint of a machine says of a night in which it is another than before."""

from __future__ import annotations

from itertools import pairwise

from pipeline.analyse.environment.panel import Panel
from pipeline.machine.differences import differences
from pipeline.model import Machine


def updates_of(panel: Panel) -> dict[int, str]:
    """Return the nights (columns) before which something changed, and what."""
    found = {}
    for at, (before, after) in enumerate(pairwise(panel.prints), start=1):
        # Most nights are as the one before: to read two fingerprints costs more than to see that.
        if before != after:
            old, new = Machine.model_validate(before), Machine.model_validate(after)
            if told := ", ".join(map(str, differences(old, new))):
                found[at] = told
    return found
