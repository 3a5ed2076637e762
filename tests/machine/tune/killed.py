"""A process that tunes and restores a made-up machine and is killed at one of its changes."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from pipeline.machine.tune.record import TuneRecord
from pipeline.machine.tune.settings import TuneSettings
from pipeline.machine.tune.tuner import Tuner
from tests.fakes.kernel import Machine

ALL = TuneSettings(
    smt="off",
    idle_latency_us=1,
    aslr="off",
    swap="off",
    swappiness=1,
    dirty_ratio=5,
    dirty_background_ratio=2,
    stop_timers=("apt-daily.timer", "fstrim.timer"),
)
"""Everything there is."""

OTHER = ALL.model_copy(update={"thp": "never", "swappiness": 10, "governor": "powersave"})
"""Everything, some of it otherwise."""


def main(root: Path, record: Path, number: int) -> None:
    """Set, set otherwise and restore in turn; the process is killed before a change of a number."""
    left = number

    def count(_: str) -> None:
        nonlocal left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    tuner = Tuner(Machine(root, before=count).host, TuneRecord(record))
    while True:
        tuner.set(ALL, by_hand=True)
        tuner.set(OTHER, by_hand=True)
        tuner.restore()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
