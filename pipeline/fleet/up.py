"""The servers of a night are made: each once, whatever was done before, and all or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from hcloud import Client
from hcloud.firewalls import BoundFirewall
from hcloud.images import Image
from hcloud.locations import Location
from hcloud.placement_groups import BoundPlacementGroup
from hcloud.server_types import ServerType
from hcloud.servers import BoundServer
from hcloud.ssh_keys import SSHKey

from pipeline.config import FleetSection
from pipeline.errors import UserError
from pipeline.fleet.arrival import arrived
from pipeline.fleet.estate import Estate
from pipeline.fleet.labels import Mark, labels, night_name, server_name
from pipeline.fleet.meaning import Failed, Gone, Limited, SoldOut, Taken
from pipeline.fleet.quote import Wish
from pipeline.fleet.runners import Program
from pipeline.fleet.user_data import user_data

_Thing = TypeVar("_Thing", BoundFirewall, BoundPlacementGroup)

_SPREAD = 10
"""Servers that one placement group takes, each on a host of its own."""


class Registry(Protocol):
    """Where runners are registered."""

    def program(self) -> Program:
        """Return the runner program."""
        ...

    def register(self, name: str, labels: Sequence[str]) -> str:
        """Register a runner and return its configuration."""
        ...

    def remove(self, prefix: str) -> int:
        """Remove the runners whose names begin so."""
        ...

    def silent(self) -> set[str]:
        """Return the names of the runners that are registered and not connected."""
        ...


class Up:
    """The servers of one night, in the making."""

    def __init__(
        self,
        estate: Estate,
        registry: Registry,
        settings: FleetSection,
        night: Mark,
        tell: Callable[[str], None],
    ) -> None:
        self._estate, self._registry, self._settings = estate, registry, settings
        self._night, self._tell = night, tell
        self._made: list[BoundServer] = []
        self._registered: set[str] = set()

    def make(self, wishes: Sequence[Wish], there: Mapping[str, BoundServer]) -> list[str]:
        """Make the servers that are not ``there`` and return the names of all.

        Where one cannot be had or is of no use, or we are interrupted, those that were made are
        deleted.
        """
        program = self._registry.program()
        try:
            wall = self._firewall()
            names = [
                self._server(wish, number, program, wall, there)
                for wish in wishes
                for number in range(1, wish.count + 1)
            ]
            runners = {name: self._runners(name) for name in names}
            arrived(runners, self._registry.silent, self._estate.cloud.pace)
            return names
        except BaseException:
            self._undo()
            raise

    def _server(
        self,
        wish: Wish,
        number: int,
        program: Program,
        wall: BoundFirewall,
        there: Mapping[str, BoundServer],
    ) -> str:
        mark = self._night.model_copy(update={"machine_class": wish.machine_class})
        name = server_name(self._estate.name, mark.night, wish.machine_class, number)
        if name in there and self._begun(there[name]):
            return name
        group = self._group(wish, number)
        configurations: list[str] = []
        limited: dict[str, Limited] = {}
        for kind, location in wish.places:
            if kind in limited:
                continue
            configurations = configurations or self._register(name, wish)
            told = user_data(program, wish.machine_class, configurations, self._settings.packages)
            order = self._order(name, kind, location, mark, told, wall, group)
            try:
                server = self._bought(name, mark, order)
            except SoldOut as error:
                self._tell(f"no {kind} in {location} now ({error})")
                continue
            except Limited as error:
                self._tell(f"no {kind} anywhere ({error})")
                limited[kind] = error
                continue
            if self._begun(server):
                self._tell(f"{name} is a {kind} in {location}")
                return name
            configurations = []
        if {kind for kind, _ in wish.places} == set(limited):
            raise next(iter(limited.values()))
        places = ", ".join(f"{kind} in {location}" for kind, location in wish.places)
        raise UserError(
            f"{name} cannot be had ({places}); name other locations in [fleet], or try later"
        )

    def _bought(self, name: str, mark: Mark, order: Callable[[Client], BoundServer]) -> BoundServer:
        """Return a server that was ordered, also where only the answer to that was lost."""
        try:
            server = self._estate.cloud.make(order)
        except Taken as error:
            found = self._estate.servers(mark.night).get(name)
            if found is None:
                raise UserError(
                    f"a server named {name} is there that is not of this night; rename or delete it"
                ) from error
            server = found
        self._made.append(server)
        self._estate.books.made(server, mark)
        return server

    def _begun(self, server: BoundServer) -> bool:
        """Wait until a server runs; one that does not is deleted."""
        try:
            self._estate.cloud.started(server)
        except (Failed, Gone) as error:
            self._tell(f"{server.name} did not start ({error})")
            self._estate.delete(server)
            return False
        return True

    def _order(
        self,
        name: str,
        kind: str,
        location: str,
        mark: Mark,
        told: str,
        wall: BoundFirewall,
        group: BoundPlacementGroup | None,
    ) -> Callable[[Client], BoundServer]:
        def ask(client: Client) -> BoundServer:
            return client.servers.create(
                name,
                ServerType(name=kind),
                Image(name=self._settings.image),
                ssh_keys=[SSHKey(name=key) for key in self._settings.ssh_keys],
                firewalls=[wall],
                user_data=told,
                labels=labels(self._estate.name, mark),
                location=Location(name=location),
                placement_group=group,
            ).server

        return ask

    def _register(self, name: str, wish: Wish) -> list[str]:
        """Register the runners of a server and return their configurations."""
        self._registered.add(name)
        return [self._registry.register(each, wish.runner_labels) for each in self._runners(name)]

    def _runners(self, name: str) -> list[str]:
        """Return the names of a server's runners, one for each of its jobs."""
        return [f"{name}-{job}" for job in range(1, self._settings.jobs + 1)]

    def _firewall(self) -> BoundFirewall:
        """Return the night's firewall: without a rule, nothing is let in."""
        return self._one(
            night_name(self._estate.name, self._night.night),
            BoundFirewall,
            lambda client, name, about: (
                client.firewalls.create(name, rules=[], labels=about).firewall
            ),
        )

    def _group(self, wish: Wish, number: int) -> BoundPlacementGroup | None:
        """Return the group that keeps servers of a class off one another's host."""
        if wish.count == 1:
            return None
        name = server_name(
            self._estate.name, self._night.night, wish.machine_class, (number - 1) // _SPREAD + 1
        )
        return self._one(
            name,
            BoundPlacementGroup,
            lambda client, name, about: (
                client.placement_groups.create(name, "spread", about).placement_group
            ),
        )

    def _one(
        self,
        name: str,
        kind: type[_Thing],
        make: Callable[[Client, str, Any], _Thing],
    ) -> _Thing:
        """Return something of the night by its name; it is made if it is not there."""
        known = self._known(name, kind)
        if known is not None:
            return known
        about = labels(self._estate.name, self._night)
        try:
            return self._estate.cloud.make(lambda client: make(client, name, about))
        except Taken as error:
            known = self._known(name, kind)
            if known is None:
                raise UserError(
                    f"something named {name} is there that is not of this night; rename or delete "
                    "it"
                ) from error
            return known

    def _known(self, name: str, kind: type[_Thing]) -> _Thing | None:
        owned = self._estate.owned(self._night.night, [kind])
        things = (each.thing for each in owned if isinstance(each.thing, kind))
        return next((thing for thing in things if thing.name == name), None)

    def _undo(self) -> None:
        """Delete the servers that were made; what that fails for, `down` and the reaper find."""
        for server in self._made:
            try:
                self._estate.delete(server)
            except UserError as error:
                self._tell(f"{server.name} is left to `nightshift fleet down`: {error}")
        for name in self._registered:
            try:
                self._registry.remove(f"{name}-")
            except UserError as error:
                self._tell(f"the runners of {name} stay registered: {error}")
