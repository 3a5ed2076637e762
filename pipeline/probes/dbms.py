"""A probe of the background work of a DBMS, such as vacuum or checkpoints."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from pipeline.model import SampledField

INTERVAL = 1.0
"""Seconds between two readings, the same as between two samples."""
LEAD = 0.8
"""Seconds after a reading at which the query for the next reading starts: late, so that its answer
is fresh."""
TOO_OLD = 3.0
"""Seconds after which an answer is discarded as outdated."""

Ask = Callable[[], Mapping[str, float]]


class DbmsActivity:
    """Asks a DBMS for its activity, in a thread so that a slow answer delays nothing.

    The thread queries the DBMS once for each reading, and before the first reading every one or two
    seconds. If the DBMS refuses the query or has stopped, the thread retries at the same interval.
    """

    def __init__(
        self,
        fields: Sequence[SampledField],
        session: Callable[[], AbstractContextManager[Ask]],
        refusal: type[Exception],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Query the DBMS in a ``session``; errors of the type ``refusal`` are expected."""
        self.fields = tuple(fields)
        self._session, self._refusal, self._clock = session, refusal, clock
        self._answer: tuple[float, Mapping[str, float]] | None = None
        self._read, self._stopped = threading.Event(), threading.Event()

    def read(self) -> dict[str, float]:
        """Return the newest answer of the DBMS; empty if it is too old."""
        self._read.set()
        if self._answer is None or self._clock() - self._answer[0] > TOO_OLD:
            return {}
        return dict(self._answer[1])

    def __enter__(self) -> DbmsActivity:
        """Start querying the DBMS."""
        threading.Thread(target=self._keep_asking, name="dbms", daemon=True).start()
        return self

    def __exit__(self, *failure: object) -> None:
        """Stop querying the DBMS, without waiting for an answer."""
        self._stopped.set()
        self._read.set()

    def _keep_asking(self) -> None:
        while not self._stopped.is_set():
            try:
                with self._session() as ask:
                    while not self._stopped.is_set():
                        began = self._clock()
                        self._answer = began, ask()
                        self._read.clear()
                        self._read.wait(INTERVAL)
                        self._stopped.wait(LEAD)
            except self._refusal:
                self._stopped.wait(INTERVAL)
