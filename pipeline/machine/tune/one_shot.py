"""Actions before a night that need no restore: drop cached files, trim disks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from pipeline.machine.tune.host import Host
from pipeline.machine.tune.settings import TuneSettings
from pipeline.machine.tune.tuner import KnobResult, TuneOutcome

DROP_CACHES = "/proc/sys/vm/drop_caches"


def foreseen(settings: TuneSettings) -> list[TuneOutcome]:
    """Return which one-time actions :func:`do_once` would do."""
    wanted = {"fstrim": settings.fstrim, "drop_caches": settings.drop_caches}
    return [
        TuneOutcome(did=KnobResult.DUE, setting=name) for name, asked in wanted.items() if asked
    ]


def do_once(settings: TuneSettings, host: Host) -> list[TuneOutcome]:
    """Drop cached files and trim disks, as ``[tune]`` asks."""
    return list(_done(settings, host))


def _done(settings: TuneSettings, host: Host) -> Iterator[TuneOutcome]:
    if settings.fstrim:
        # Skips what cannot be trimmed: a disk that rotates, a file system in memory.
        yield _tried("fstrim", lambda: host.run(["fstrim", "--all", "--quiet-unsupported"]))
    if settings.drop_caches:
        yield _tried("drop_caches", lambda: _drop(host))


def _drop(host: Host) -> None:
    os.sync()  # Dirty pages cannot be dropped.
    host.tree.path(DROP_CACHES).stat()
    host.tree.write(DROP_CACHES, "3\n")


def _tried(setting: str, act: Callable[[], object]) -> TuneOutcome:
    try:
        act()
    except OSError as error:
        return TuneOutcome(
            did=KnobResult.REFUSED, setting=setting, why=error.strerror or str(error)
        )
    return TuneOutcome(did=KnobResult.DONE, setting=setting)
