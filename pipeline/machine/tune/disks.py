"""Tuning of disks: in which order they serve requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from pipeline.machine.kernel_files import Tree
from pipeline.machine.tune.desired_value import DesiredValue, KnobRequest, UnavailableSetting
from pipeline.machine.tune.settings import KEEP, TuneSettings


def scheduler(settings: TuneSettings, tree: Tree) -> Iterator[KnobRequest]:
    """Request the configured I/O scheduler for each disk that does not rotate.

    A block device without ``device`` beside its queue (loop, RAM, device mapper) is no physical
    disk.
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
            yield DesiredValue("io_scheduler", path, wanted)
        else:
            yield UnavailableSetting("io_scheduler", f"{path} supports only {', '.join(known)}")
