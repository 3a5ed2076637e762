"""What of a project is a pipeline's: found by its labels, deleted, and noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from hcloud.servers import BoundServer, Server

from pipeline.errors import UserError
from pipeline.fleet.books import Books
from pipeline.fleet.cloud import KINDS, Cloud, Thing, certain
from pipeline.fleet.labels import NIGHT, OURS, Malformed, Mark, read_mark


class Owned(NamedTuple):
    """A resource that was made for a night."""

    thing: Thing
    mark: Mark

    @property
    def what(self) -> str:
        """How it is called."""
        return f"{KINDS[type(self.thing)]} {self.thing.name}"


class Swept(NamedTuple):
    """What was deleted, and a line for each that was left."""

    deleted: list[str]
    left: list[str]


class Estate:
    """Everything that a pipeline of a name made for nights, in the order of deletion."""

    def __init__(self, cloud: Cloud, name: str, books: Books, tell: Callable[[str], None]) -> None:
        self.cloud, self.name, self.books, self._tell = cloud, name, books, tell
        self._told: set[str] = set()

    def owned(
        self,
        night: str = "",
        kinds: Iterable[type[Thing]] = KINDS,
        odd: Callable[[str], None] | None = None,
    ) -> list[Owned]:
        """Return what there is, of one night or of all; what is not ours never.

        One whose labels do not say until when it lives is not among them: ``odd`` is given a line
        about it, which otherwise is told.
        """
        say = odd or self._tell_once
        selector = f"{OURS}=={self.name}" + (f",{NIGHT}=={night}" if night else "")
        found = []
        for kind in kinds:
            for thing in self.cloud.listed(kind, selector):
                # A listing is not trusted with what is deleted: the labels themselves are read.
                try:
                    mark = read_mark(self.name, thing.labels)
                except Malformed as error:
                    say(f"{KINDS[kind]} {thing.name}: {error}; mend it, or delete it")
                    continue
                if mark is not None and night in ("", mark.night):
                    found.append(Owned(thing, mark))
        return found

    def servers(
        self, night: str = "", odd: Callable[[str], None] | None = None
    ) -> dict[str, BoundServer]:
        """Return the servers by their names, and see to it that the record has all that happened.

        Without a night that includes what is gone, and was not noted when it went.
        """
        found = [
            (each.thing, each.mark)
            for each in self.owned(night, [BoundServer], odd)
            if isinstance(each.thing, BoundServer)
        ]
        for server, mark in found:
            self.books.made(server, mark)
        if not night:
            self.books.close((certain(server.id) for server, _ in found), self.cloud)
        return {str(server.name): server for server, _ in found}

    def sweep(self, wanted: Callable[[Mark], bool], night: str = "") -> Swept:
        """Delete what is wanted to be gone.

        What one thing cannot be deleted for stops no other, and no trouble with the record does.
        What does not say until when it lives is among what was left: nobody else would ever look.
        Raises UserError where servers cannot even be listed.
        """
        swept = Swept([], [])
        self._noted(lambda: self.servers(odd=_unsaid))
        for kind in KINDS:
            for each in self._listed(kind, night, swept):
                if wanted(each.mark):
                    self._sweep_one(each, swept)
        # What went while we looked, deleted by an earlier attempt, is noted now.
        self._noted(lambda: self.servers(odd=_unsaid))
        return swept

    def delete(self, thing: Thing) -> None:
        """Delete one resource, and note it of a server."""
        if not isinstance(thing, BoundServer):
            self.cloud.delete(thing)
            return
        number = certain(thing.id)
        if thing.status != Server.STATUS_DELETING:
            self._noted(lambda: self.books.deleting(number))
        gone = self.cloud.delete(thing)
        # It may have gone later than at first asked to, and that may have begun another hour.
        self._noted(lambda: self.books.deleted(number, gone or self.cloud.deleted(number)))

    def _listed(self, kind: type[Thing], night: str, swept: Swept) -> list[Owned]:
        try:
            return self.owned(night, [kind], swept.left.append)
        except UserError as error:
            if kind is BoundServer:
                raise
            swept.left.append(f"every {KINDS[kind]}: {error}")
            return []

    def _sweep_one(self, each: Owned, swept: Swept) -> None:
        server, mark = each.thing, each.mark
        if isinstance(server, BoundServer):
            # Once it is gone nobody can tell any more what it cost.
            self._noted(lambda: self.books.made(server, mark))
        try:
            self.delete(each.thing)
        except UserError as error:
            swept.left.append(f"{each.what}: {error}")
        else:
            swept.deleted.append(each.what)

    def _noted(self, note: Callable[[], object]) -> None:
        """Note something, if that can be: servers cost money, whether it is written down or not."""
        try:
            note()
        except (UserError, OSError) as error:
            self._tell_once(f"the record of servers is not complete: {error}")

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._tell(text)


def _unsaid(text: str) -> None:
    """Say nothing of what is said elsewhere."""
    del text
