"""What is done once before measuring. There is nothing to restore of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from pipeline.machine.tune.host import Host
from pipeline.machine.tune.settings import Settings
from pipeline.machine.tune.tuner import Did, Outcome

DROP_CACHES = "/proc/sys/vm/drop_caches"


def foreseen(settings: Settings) -> list[Outcome]:
    """Return what :func:`do_once` would do."""
    wanted = {"fstrim": settings.fstrim, "drop_caches": settings.drop_caches}
    return [Outcome(did=Did.DUE, setting=name) for name, asked in wanted.items() if asked]


def do_once(settings: Settings, host: Host) -> list[Outcome]:
    """Forget cached files and tell disks what is unused, as far as that is asked."""
    return list(_done(settings, host))


def _done(settings: Settings, host: Host) -> Iterator[Outcome]:
    if settings.fstrim:
        # What cannot be trimmed (a disk that rotates, a file system in memory) is passed over.
        yield _tried("fstrim", lambda: host.run(["fstrim", "--all", "--quiet-unsupported"]))
    if settings.drop_caches:
        yield _tried("drop_caches", lambda: _drop(host))


def _drop(host: Host) -> None:
    os.sync()  # What is not written yet cannot be forgotten.
    host.tree.path(DROP_CACHES).stat()
    host.tree.write(DROP_CACHES, "3\n")


def _tried(setting: str, act: Callable[[], object]) -> Outcome:
    try:
        act()
    except OSError as error:
        return Outcome(did=Did.REFUSED, setting=setting, why=error.strerror or str(error))
    return Outcome(did=Did.DONE, setting=setting)
