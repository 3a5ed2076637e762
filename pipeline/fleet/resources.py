"""Find, delete and record all cloud resources that a pipeline has created."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from hcloud.servers import BoundServer, Server

from pipeline.fleet.cloud import KINDS, Cloud, Thing, required
from pipeline.fleet.labels import NIGHT, OURS, Malformed, ResourceMark, read_mark
from pipeline.fleet.server_inventory import ServerInventory
from pipeline.text.errors import UserError


class Owned(NamedTuple):
    """A cloud resource that nightshift created for a night."""

    thing: Thing
    mark: ResourceMark

    @property
    def what(self) -> str:
        """The kind and the name of the cloud resource."""
        return f"{KINDS[type(self.thing)]} {self.thing.name}"


class Swept(NamedTuple):
    """Which cloud resources were deleted, and a line for each that remains."""

    deleted: list[str]
    left: list[str]


class ProjectResources:
    """All cloud resources that a pipeline created, in the order to delete them."""

    def __init__(
        self, cloud: Cloud, name: str, inventory: ServerInventory, note: Callable[[str], None]
    ) -> None:
        self.cloud, self.name, self.inventory, self._note = cloud, name, inventory, note
        self._reported: set[str] = set()

    def owned(
        self,
        night: str = "",
        kinds: Iterable[type[Thing]] = KINDS,
        odd: Callable[[str], None] | None = None,
    ) -> list[Owned]:
        """Return the cloud resources of one night or of all nights.

        Resources without a valid expiry label are not included: ``odd`` receives a line about each;
        by default each is reported once.
        """
        say = odd or self._log_once
        selector = f"{OURS}=={self.name}" + (f",{NIGHT}=={night}" if night else "")
        found = []
        for kind in kinds:
            for thing in self.cloud.listed(kind, selector):
                # Before a deletion the labels are checked again: the listing is not trusted.
                try:
                    mark = read_mark(self.name, thing.labels)
                except Malformed as error:
                    say(f"{KINDS[kind]} {thing.name}: {error}; correct its label, or delete it")
                    continue
                if mark is not None and night in ("", mark.night):
                    found.append(Owned(thing, mark))
        return found

    def servers(
        self, night: str = "", odd: Callable[[str], None] | None = None
    ) -> dict[str, BoundServer]:
        """Return our servers by name, and bring the record of servers up to date.

        Without a ``night``, recorded servers that no longer exist are recorded as deleted.
        """
        found = [
            (each.thing, each.mark)
            for each in self.owned(night, [BoundServer], odd)
            if isinstance(each.thing, BoundServer)
        ]
        for server, mark in found:
            self.inventory.made(server, mark)
        if not night:
            self.inventory.close((required(server.id) for server, _ in found), self.cloud)
        return {str(server.name): server for server, _ in found}

    def sweep(self, wanted: Callable[[ResourceMark], bool], night: str = "") -> Swept:
        """Delete the cloud resources that ``wanted`` selects.

        A failed deletion, or a failure of the record, does not stop the others. A resource of ours
        without a valid expiry is reported as remaining, because nobody else would notice it. Raises
        UserError if even the servers cannot be listed.
        """
        swept = Swept([], [])
        self._recorded(lambda: self.servers(odd=_ignore))
        for kind in KINDS:
            for each in self._listed(kind, night, swept):
                if wanted(each.mark):
                    self._sweep_one(each, swept)
        # Record servers that an earlier attempt deleted and that disappeared meanwhile.
        self._recorded(lambda: self.servers(odd=_ignore))
        return swept

    def delete(self, thing: Thing) -> None:
        """Delete one cloud resource; if it is a server, record that."""
        if not isinstance(thing, BoundServer):
            self.cloud.delete(thing)
            return
        number = required(thing.id)
        if thing.status != Server.STATUS_DELETING:
            self._recorded(lambda: self.inventory.deleting(number))
        gone = self.cloud.delete(thing)
        # The deletion may be later than first requested, and may have begun another hour.
        self._recorded(lambda: self.inventory.deleted(number, gone or self.cloud.deleted(number)))

    def _listed(self, kind: type[Thing], night: str, swept: Swept) -> list[Owned]:
        try:
            return self.owned(night, [kind], swept.left.append)
        except UserError as error:
            if kind is BoundServer:
                raise
            swept.left.append(
                f"the existing resources of kind {KINDS[kind]} cannot be listed: {error}"
            )
            return []

    def _sweep_one(self, each: Owned, swept: Swept) -> None:
        server, mark = each.thing, each.mark
        if isinstance(server, BoundServer):
            # Once it is gone, its cost can no longer be determined.
            self._recorded(lambda: self.inventory.made(server, mark))
        try:
            self.delete(each.thing)
        except UserError as error:
            swept.left.append(f"{each.what}: {error}")
        else:
            swept.deleted.append(each.what)

    def _recorded(self, note: Callable[[], object]) -> None:
        """Record something if possible, but never fail a deletion because of the record."""
        try:
            note()
        except (UserError, OSError) as error:
            self._log_once(f"the record of servers is incomplete: {error}")

    def _log_once(self, text: str) -> None:
        if text not in self._reported:
            self._reported.add(text)
            self._note(text)


def _ignore(text: str) -> None:
    """Do nothing with a line that is reported elsewhere."""
    del text
