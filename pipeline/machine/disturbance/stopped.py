"""Detect processes of the measurement that were stopped by a signal such as SIGSTOP."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.machine.disturbance.base import Ending, Scene
from pipeline.model import ProbeSample
from pipeline.text.units import plural

_PARTS = {"server": "the DBMS", "client": "the load generator"}
"""The sampled process trees, with their names in reports. A DBMS that runs inside the load
generator is sampled as the server."""


def watch_stopped(_scene: Scene) -> Ending:
    """Watch whether a process of the DBMS or the load generator is stopped by a signal."""

    def ending(samples: Sequence[ProbeSample]) -> str:
        seen = {
            reported: sum(sample.values.get(f"{part}.stopped", 0) > 0 for sample in samples)
            for part, reported in _PARTS.items()
        }
        return ", and ".join(
            f"a signal had stopped {reported} in {plural(count, 'sample')} of {len(samples)}"
            for reported, count in seen.items()
            if count
        )

    return ending
