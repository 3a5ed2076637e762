"""Changes of a machine that its fingerprint shows, such as a new kernel."""

from __future__ import annotations

from itertools import pairwise

from pipeline.environment.panel import Panel
from pipeline.machine.differences import differences
from pipeline.model import Machine


def updates_of(panel: Panel) -> dict[int, str]:
    """Return the nights in which the fingerprint of a machine changed, and what changed."""
    found = {}
    for at, (before, after) in enumerate(pairwise(panel.prints), start=1):
        # Most nights equal the previous one, and comparing is cheaper than parsing two
        # fingerprints.
        if before != after:
            old, new = Machine.model_validate(before), Machine.model_validate(after)
            if reported := ", ".join(map(str, differences(old, new))):
                found[at] = reported
    return found
