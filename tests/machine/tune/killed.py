"""A process that tunes and restores a made-up machine until somebody kills it."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from pipeline.machine.tune.record import Record
from pipeline.machine.tune.settings import Settings
from pipeline.machine.tune.tuner import Tuner
from tests.fakes.kernel import Machine

ALL = Settings(
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


def main(root: Path, record: Path, seed: int) -> None:
    """Set and restore in turn, or set otherwise, so slowly that a kill meets something."""
    chance = random.Random(seed)
    pause = lambda _: time.sleep(chance.random() * 4e-4)  # noqa: E731
    tuner = Tuner(Machine(root, pause, pause).host, Record(record))
    print("began", flush=True)  # noqa: T201 - the test waits for it
    while True:
        tuner.set(chance.choice((ALL, OTHER)), by_hand=True)
        if chance.random() < 0.6:
            tuner.restore()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
