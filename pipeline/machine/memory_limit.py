"""Limit the memory of a DBMS, page cache included, by a control group of the kernel.

A limit makes a database of moderate size exceed memory, so that reads go to storage. Version 2 of
control groups is used where it has the memory controller, and version 1 elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pipeline.text.errors import UserError

ROOT = Path("/sys/fs/cgroup")

_PREFIX = "nightshift-"

_PATIENCE = 10.0
"""Seconds to wait until the processes of a group have gone."""

_ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"'


class _Layout(NamedTuple):
    """Where control groups with a memory limit are created, and the files that set the limit."""

    parent: Path
    limits: tuple[str, ...]
    swap: str


def check_memory_limits(root: Path = ROOT) -> None:
    """Raise UserError if this process cannot limit memory."""
    _layout(root)


@contextmanager
def memory_limit(limit: int, root: Path = ROOT) -> Iterator[tuple[str, ...]]:
    """Yield a command prefix that limits memory to ``limit`` bytes.

    All commands with this prefix share the limit. Raises UserError if this process cannot limit
    memory.
    """
    layout = _layout(root)
    for left in layout.parent.glob(f"{_PREFIX}*"):
        # Of a killed night; one in use cannot be removed.
        with contextlib.suppress(OSError):
            left.rmdir()
    group = layout.parent / f"{_PREFIX}{os.getpid()}-{time.monotonic_ns()}"
    try:
        group.mkdir()
        try:
            for name in layout.limits:
                (group / name).write_text(f"{limit}\n")
            if (group / layout.swap).exists():
                # Version 1 limits memory and swap together.
                without = limit if layout.swap.startswith("memory.memsw") else 0
                (group / layout.swap).write_text(f"{without}\n")
        except OSError:
            _remove(group)
            raise
    except OSError as error:
        raise _refused(f"{error.filename}: {error.strerror}") from error
    try:
        yield ("/bin/sh", "-c", _ENTER, str(group))
    finally:
        _remove(group)


def drop_cached(folder: Path) -> None:
    """Write all files in a folder to disk, and let the kernel drop their cached pages.

    A page counts towards the limit of the group that reads it first. Pages that this process read
    during maintenance would give the DBMS memory beyond its limit.
    """
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fdatasync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _layout(root: Path) -> _Layout:
    """Return where this machine limits memory. Raises UserError if it cannot."""
    controllers = root / "cgroup.controllers"
    if controllers.exists():
        if "memory" not in controllers.read_text().split():
            raise _refused(f"{root} has no memory controller")
        try:
            if "memory" not in (root / "cgroup.subtree_control").read_text().split():
                (root / "cgroup.subtree_control").write_text("+memory\n")
        except OSError as error:
            raise _refused(f"{error.filename}: {error.strerror}") from error
        return _checked(_Layout(root, ("memory.max",), "memory.swap.max"))
    older = root / "memory"
    if not (older / "memory.limit_in_bytes").exists():
        raise _refused(f"{root} has no memory controller")
    return _checked(_Layout(older, ("memory.limit_in_bytes",), "memory.memsw.limit_in_bytes"))


def _checked(layout: _Layout) -> _Layout:
    if not os.access(layout.parent, os.W_OK):
        raise _refused(f"{layout.parent} is not writable")
    return layout


def _refused(why: str) -> UserError:
    return UserError(
        f"memory cannot be limited here ({why}); run nightshift as root where control groups are "
        "writable, or remove memory from the workload"
    )


def _remove(group: Path) -> None:
    """Remove a group as soon as its processes have gone."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > deadline or not group.exists():
                return
            time.sleep(0.05)
        else:
            return
