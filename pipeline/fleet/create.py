"""Create the servers of a night: all or none; a repeated call creates only what is missing."""

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
from pipeline.fleet.api_errors import Failed, Gone, Limited, NameTakenError, SoldOutError
from pipeline.fleet.labels import ResourceMark, labels, night_name, server_name
from pipeline.fleet.quote import ServerRequest
from pipeline.fleet.resources import ProjectResources
from pipeline.fleet.runner_wait import arrived
from pipeline.fleet.runners import Program
from pipeline.fleet.user_data import user_data
from pipeline.text.errors import UserError

_Thing = TypeVar("_Thing", BoundFirewall, BoundPlacementGroup)

_SPREAD = 10
"""Servers per placement group, each on a different host."""


class RunnerRegistry(Protocol):
    """Registers GitHub Actions runners for the servers of a night."""

    def program(self) -> Program:
        """Return where to download the runner program of GitHub Actions."""
        ...

    def register(self, name: str, labels: Sequence[str]) -> str:
        """Register a runner at GitHub and return its configuration."""
        ...

    def remove(self, prefix: str) -> int:
        """Remove the runners at GitHub whose names have this prefix."""
        ...

    def silent(self) -> set[str]:
        """Return the names of registered runners that are not connected to GitHub."""
        ...


class Up:
    """Creates the servers of one night."""

    def __init__(
        self,
        resources: ProjectResources,
        registry: RunnerRegistry,
        settings: FleetSection,
        night: ResourceMark,
        note: Callable[[str], None],
    ) -> None:
        self._resources, self._registry, self._settings = resources, registry, settings
        self._night, self._note = night, note
        self._made: list[BoundServer] = []
        self._registered: set[str] = set()

    def make(
        self, requests: Sequence[ServerRequest], there: Mapping[str, BoundServer]
    ) -> list[str]:
        """Create the missing servers of a night; return the names of all of them.

        If a server is unavailable or unusable, or on an interrupt, the created servers are deleted.
        """
        program = self._registry.program()
        try:
            wall = self._firewall()
            names = [
                self._server(request, number, program, wall, there)
                for request in requests
                for number in range(1, request.count + 1)
            ]
            runners = {name: self._runners(name) for name in names}
            arrived(runners, self._registry.silent, self._resources.cloud.policy)
            return names
        except BaseException:
            self._undo()
            raise

    def _server(
        self,
        request: ServerRequest,
        number: int,
        program: Program,
        wall: BoundFirewall,
        there: Mapping[str, BoundServer],
    ) -> str:
        mark = self._night.model_copy(update={"machine_class": request.machine_class})
        name = server_name(self._resources.name, mark.night, request.machine_class, number)
        if name in there and self._begun(there[name]):
            return name
        group = self._group(request, number)
        configurations: list[str] = []
        limited: dict[str, Limited] = {}
        for kind, location in request.places:
            if kind in limited:
                continue
            configurations = configurations or self._register(name, request)
            cloud_config = user_data(
                program, request.machine_class, configurations, self._settings.packages
            )
            order = self._order(name, kind, location, mark, cloud_config, wall, group)
            try:
                server = self._bought(name, mark, order)
            except SoldOutError as error:
                self._note(f"no {kind} in {location} now ({error})")
                continue
            except Limited as error:
                self._note(f"no {kind} anywhere ({error})")
                limited[kind] = error
                continue
            if self._begun(server):
                self._note(f"{name} is a {kind} in {location}")
                return name
            configurations = []
        if {kind for kind, _ in request.places} == set(limited):
            raise next(iter(limited.values()))
        places = ", ".join(f"{kind} in {location}" for kind, location in request.places)
        raise UserError(
            f"{name} is unavailable ({places}); name other locations in [fleet], or try later"
        )

    def _bought(
        self, name: str, mark: ResourceMark, order: Callable[[Client], BoundServer]
    ) -> BoundServer:
        """Order a server and return it, even if the answer to the order was lost."""
        try:
            server = self._resources.cloud.make(order)
        except NameTakenError as error:
            found = self._resources.servers(mark.night).get(name)
            if found is None:
                raise UserError(
                    f"a server {name} exists that does not belong to this night; rename or "
                    "delete it"
                ) from error
            server = found
        self._made.append(server)
        self._resources.inventory.made(server, mark)
        return server

    def _begun(self, server: BoundServer) -> bool:
        """Wait until a server runs; delete the server if it fails."""
        try:
            self._resources.cloud.started(server)
        except (Failed, Gone) as error:
            self._note(f"{server.name} did not start ({error})")
            self._resources.delete(server)
            return False
        return True

    def _order(
        self,
        name: str,
        kind: str,
        location: str,
        mark: ResourceMark,
        cloud_config: str,
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
                user_data=cloud_config,
                labels=labels(self._resources.name, mark),
                location=Location(name=location),
                placement_group=group,
            ).server

        return ask

    def _register(self, name: str, request: ServerRequest) -> list[str]:
        """Register the GitHub runners of a server and return their configurations."""
        self._registered.add(name)
        return [
            self._registry.register(each, request.runner_labels) for each in self._runners(name)
        ]

    def _runners(self, name: str) -> list[str]:
        """Return the names of the GitHub runners of a server, one for each job."""
        return [f"{name}-{job}" for job in range(1, self._settings.jobs + 1)]

    def _firewall(self) -> BoundFirewall:
        """Return the firewall of a night's servers, which blocks all incoming traffic."""
        return self._one(
            night_name(self._resources.name, self._night.night),
            BoundFirewall,
            lambda client, name, about: (
                client.firewalls.create(name, rules=[], labels=about).firewall
            ),
        )

    def _group(self, request: ServerRequest, number: int) -> BoundPlacementGroup | None:
        """Return the placement group that keeps servers of a class on different hosts."""
        if request.count == 1:
            return None
        name = server_name(
            self._resources.name,
            self._night.night,
            request.machine_class,
            (number - 1) // _SPREAD + 1,
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
        """Return a resource of the night by its name; create it if it is missing."""
        known = self._known(name, kind)
        if known is not None:
            return known
        about = labels(self._resources.name, self._night)
        try:
            return self._resources.cloud.make(lambda client: make(client, name, about))
        except NameTakenError as error:
            known = self._known(name, kind)
            if known is None:
                raise UserError(
                    f"a resource {name} exists that does not belong to this night; rename or "
                    "delete it"
                ) from error
            return known

    def _known(self, name: str, kind: type[_Thing]) -> _Thing | None:
        owned = self._resources.owned(self._night.night, [kind])
        things = (each.thing for each in owned if isinstance(each.thing, kind))
        return next((thing for thing in things if thing.name == name), None)

    def _undo(self) -> None:
        """Delete the servers created so far; `fleet down` and `fleet reap` find any that remain."""
        for server in self._made:
            try:
                self._resources.delete(server)
            except UserError as error:
                self._note(
                    f"{server.name} was not deleted ({error}); `nightshift fleet down` deletes it"
                )
        for name in self._registered:
            try:
                self._registry.remove(f"{name}-")
            except UserError as error:
                self._note(f"the runners of {name} could not be removed from GitHub: {error}")
