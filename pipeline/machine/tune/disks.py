"""Disks: who orders their requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from pipeline.machine.tree import Tree
from pipeline.machine.tune.settings import KEEP, Settings
from pipeline.machine.tune.wish import Asked, Lacking, Wish


def scheduler(settings: Settings, tree: Tree) -> Iterator[Asked]:
    """Ask for the scheduler of every disk that does not rotate.

    What has no ``device`` beside its queue (loop, RAM, device mapper) is no disk of its own.
    """
    wanted = settings.io_scheduler
    if wanted == KEEP:
        return
    for path in tree.glob("/sys/block/*/queue/scheduler"):
        queue = PurePosixPath(path).parent
        disk = tree.path(str(queue.parent / "device")).exists()
        if not disk or tree.read(str(queue / "rotational")) != "0":
            continue
        known = tree.read(path).replace("[", "").replace("]", "").split()
        if wanted in known:
            yield Wish("io_scheduler", path, wanted)
        else:
            yield Lacking("io_scheduler", f"{path} knows {', '.join(known)}")
