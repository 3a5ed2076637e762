"""Check what could disturb measurements on this machine."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.machine.checks.base import CheckResult, Look
from pipeline.machine.preflight import examine
from pipeline.machine.system import System
from pipeline.measure.readiness import check_by_trying, ready
from pipeline.model import Machine
from pipeline.storage.database import is_newest, open_store
from pipeline.storage.runs import last_machine
from pipeline.use_cases.context import Context


class Examined(NamedTuple):
    """A machine with the results of its checks."""

    machine: Machine
    checks: list[CheckResult]


def examine_machine(context: Context) -> Examined:
    """Check this machine and the store before a night. Nothing is changed."""
    store, last = _store(context)
    look = Look(System(folder=context.cache), last)
    checks = examine(look, context.config.preflight.policy())
    return Examined(look.machine, [*ready(context.file), store, *checks])


def _store(context: Context) -> tuple[CheckResult, Machine | None]:
    """Check the store; return also this machine's fingerprint at its last run, if known."""
    last = None

    def opened() -> str:
        nonlocal last
        url = context.config.store.url
        if not url and not (context.config.paths.results / "store.db").exists():
            return "created in the first night"
        store = open_store(context.config.store_url, migrate=False)
        if not is_newest(store):
            return "written by an older nightshift; migrated in the next night"
        last = last_machine(store, context.machine.hostname)
        return "in paths.results" if not url else "given by store.url"

    return check_by_trying("store", opened, "The store holds the results of earlier nights."), last
