"""Find rented servers that cannot be used: their GitHub runner never connected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pipeline.fleet.retry import RetryPolicy, TransientError


def arrived(
    runners: Mapping[str, Sequence[str]], silent: Callable[[], set[str]], policy: RetryPolicy
) -> None:
    """Wait until a GitHub runner of each server has connected.

    ``silent`` returns the names of registered runners that are not connected. A runner that is no
    longer registered has connected and finished its job, so its server has arrived too. Raises
    UserError once the patience is over.
    """

    def look() -> None:
        away = silent()
        missing = [name for name, its in runners.items() if away.issuperset(its)]
        if missing:
            raise TransientError(f"no runner of {', '.join(missing)} has registered yet")

    policy.persist(look)
