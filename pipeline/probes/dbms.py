"""What the DBMS tells of its work beside the statements, asked through a step."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType

from pipeline.model import SampledField

INTERVAL = 1.0
"""Seconds between two readings: those of the sampler."""
LEAD = 0.8
"""Seconds after a reading at which is asked for the next one, so that its answer is young."""
TOO_OLD = 3.0
"""Seconds after which an answer says nothing of the present any more."""

Ask = Callable[[], Mapping[str, float]]


class DbmsActivity:
    """Asks a DBMS in a thread of its own, so that one that does not answer holds up nothing.

    It is asked once for each reading, and every one or two seconds before the first. A DBMS that
    refuses or is gone is tried again as often.
    """

    name = "dbms"
    help = "what the DBMS does beside the statements: vacuum, purge, checkpoints, debt"

    def __init__(
        self,
        fields: Sequence[SampledField],
        session: Callable[[], AbstractContextManager[Ask]],
        refusal: type[Exception],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``session`` is held while it is asked; ``refusal`` is what it and asking may raise."""
        self.fields = tuple(fields)
        self._session, self._refusal, self._clock = session, refusal, clock
        self._answer: tuple[float, Mapping[str, float]] | None = None
        self._read, self._stopped = threading.Event(), threading.Event()

    def read(self) -> dict[str, float]:
        """Return the newest answer, at once; nothing while it is too old."""
        self._read.set()
        if self._answer is None or self._clock() - self._answer[0] > TOO_OLD:
            return {}
        return dict(self._answer[1])

    def __enter__(self) -> DbmsActivity:
        """Begin to ask."""
        threading.Thread(target=self._keep_asking, name="dbms", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End asking. A question that is not answered is not waited for."""
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
