"""Checks of a machine before it measures; they change nothing."""

from __future__ import annotations

from pipeline.machine.checks import memory, neighbours, processor, storage, system
from pipeline.machine.checks.base import Check

GROUPS: dict[str, tuple[Check, ...]] = {
    "processor": processor.CHECKS,
    "memory": memory.CHECKS,
    "storage": storage.CHECKS,
    "neighbours": neighbours.CHECKS,
    "system": system.CHECKS,
}
"""All checks, by group."""

CHECKS: dict[str, Check] = {check.name: check for checks in GROUPS.values() for check in checks}
"""All checks, by name."""
