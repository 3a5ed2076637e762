"""Messages that are delivered: each change once, and what was not delivered the next time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pipeline.appended import Appended
from pipeline.journal import now
from pipeline.model import Frozen, digest
from pipeline.notify.base import Cause, Notice, Result, Told, Words
from pipeline.notify.base.changes import Change, ChangeKind, Standing, change_since, standing_of
from pipeline.notify.base.choose import choose
from pipeline.notify.base.post import RefusedError, UnreachableError
from pipeline.units import counted

FILE = "delivered.jsonl"
"""Its name in the results folder."""


class Delivered(Frozen):
    """A message that was taken: by which ``sink``, when, its ``id``, and what it told."""

    at: datetime
    sink: str
    id: str
    fingerprint: str
    change: ChangeKind
    standing: Standing


class Message(NamedTuple):
    """What is told of one change. ``id`` stays the same however often it is sent."""

    id: str
    change: Change
    notice: Notice


class Deliveries:
    """What a sink delivered, in ``results/delivered.jsonl`` with that of others."""

    def __init__(self, sink: str, results: Path) -> None:
        self._sink = sink
        self._file = Appended(results / FILE, Delivered, "a delivery")

    def deliver(
        self,
        causes: Sequence[Cause],
        words: Words,
        send: Callable[[Message], None],
        *,
        suspected: bool,
        place: str,
        note: bool = True,
    ) -> Result:
        """Send what changed and note it, each at once; with ``note`` false nothing is noted.

        ``send`` raises RefusedError for a message that the receiver does not take, after which the
        others are sent, and UnreachableError where it takes none, after which no other is tried.
        ``place`` is what the receiver is called.
        """
        last: dict[str, Standing] = {}
        counts: dict[str, int] = {}
        for each in self._file.read():
            if each.sink == self._sink:
                last[each.fingerprint] = each.standing
                counts[each.fingerprint] = counts.get(each.fingerprint, 0) + 1
        told, left, waiting, gone = [], [], 0, ""
        for telling in choose(causes, last, suspected=suspected):
            one = telling.regression
            before = last.get(one.fingerprint)
            change = change_since(telling, before)
            if change is None:
                told.append(Told(fingerprint=one.fingerprint, place=place))
                continue
            if gone:
                waiting += 1
                continue
            standing = standing_of(telling)
            number = counts.get(one.fingerprint, 0)
            identity = digest(
                [self._sink, one.fingerprint, number, change.kind, standing.model_dump(mode="json")]
            )[:32]
            try:
                send(Message(identity, change, words(one, telling.beside)))
            except RefusedError as error:
                left.append(f"{one.fingerprint}: {error}; it is sent again the next time")
                continue
            except UnreachableError as error:
                gone, waiting = str(error), waiting + 1
                continue
            if note:
                self._file.append(
                    [
                        Delivered(
                            at=now(),
                            sink=self._sink,
                            id=identity,
                            fingerprint=one.fingerprint,
                            change=change.kind,
                            standing=standing,
                        )
                    ]
                )
            told.append(
                Told(fingerprint=one.fingerprint, place=place, new=before is None, changed=True)
            )
        if gone:
            left.append(f"{gone}; {counted(waiting, 'message')} left for the next time")
        return Result(told=tuple(told), left=tuple(left))
