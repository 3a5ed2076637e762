"""Machines of files, before a step and after it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from pipeline.machine.disturbance.base import ClockReading, Limits, Scene, ShareWatch, Watch
from pipeline.machine.disturbance.others import watch_others
from pipeline.machine.kernel_files import Tree
from pipeline.model import ProbeSample

Files = Mapping[str, str]

STILL = (ClockReading(1000.0, 10.0, 20.0), ClockReading(1005.0, 15.0, 25.0))
"""Clocks over a step of five seconds in which nothing happens to them."""


def limits(**written: str) -> Limits:
    """Return limits as people write them."""
    return Limits.model_validate(written)


def put(root: Path, files: Files) -> Tree:
    """Make files, or write them anew."""
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return Tree(root)


def reported(
    watch: Watch | ShareWatch,
    root: Path,
    before: Files,
    after: Files,
    *,
    gone: Sequence[str] = (),
    samples: Sequence[ProbeSample] = (),
    within: Limits | None = None,
    ours: Collection[int] = (100,),
    clocks: Sequence[ClockReading] = STILL,
    serving: Collection[int] = (),
) -> str:
    """Return what a watch reports of a step, before and after which the files are these.

    ``gone`` are files that are there before and not after.
    """
    moments: Iterator[ClockReading] = iter(clocks)
    held = within or Limits()
    scene = Scene(put(root, before), held, ours, lambda: next(moments), serving)
    ending = watch(scene)
    put(root, after)
    for name in gone:
        (root / name.lstrip("/")).unlink()
    found = ending(samples)
    if isinstance(found, str):
        return found
    limit = held.others if watch is watch_others else held.steal
    return found.reported if found is not None and found.share > limit else ""


def total(user: int, idle: int, steal: int = 0) -> dict[str, str]:
    """Return the file of the processors' time."""
    return {"/proc/stat": f"cpu  {user} 0 0 {idle} 0 0 0 {steal} 0 0"}


def process(
    pid: int,
    name: str,
    parent: int = 1,
    *,
    own: int = 0,
    reaped: int = 0,
    began: int = 7,
    kernel: bool = False,
    state: str = "S",
    processor: int | None = None,
    allowed: str = "",
) -> dict[str, str]:
    """Return the files of a process; times in ticks.

    ``processor`` is where it ran last, ``allowed`` lists those where it may run.
    """
    flags = 0x00200040 if kernel else 0x00400100
    fields = [parent, pid, pid, 0, -1, flags, 0, 0, 0, 0, own, 0, reaped, 0, 20, 0, 1, 0, began]
    rest = [0, 0] if processor is None else [*[0] * 16, processor, 0]
    text = f"{pid} ({name}) {state} {' '.join(map(str, [*fields, *rest]))}"
    files = {f"/proc/{pid}/stat": text}
    if allowed:
        files[f"/proc/{pid}/status"] = f"Name:\t{name}\nCpus_allowed_list:\t{allowed}"
    return files
