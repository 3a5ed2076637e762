"""Servers that run and are of no use: none of their runners was ever heard of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pipeline.fleet.pace import Pace, Passing


def arrived(
    runners: Mapping[str, Sequence[str]], silent: Callable[[], set[str]], pace: Pace
) -> None:
    """Wait until a runner of each server came; ``runners`` are by the server's name.

    ``silent`` returns the names of those that are registered and not connected. One that is not
    registered any more has done its job, so it did come; and between two jobs of a server none is
    connected, but the first one is gone. Raises UserError once the patience is over.
    """

    def look() -> None:
        away = silent()
        missing = [name for name, its in runners.items() if away.issuperset(its)]
        if missing:
            raise Passing(f"no runner of {', '.join(missing)} has come yet")

    pace.persist(look)
