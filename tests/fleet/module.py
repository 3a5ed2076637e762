"""What the job provision does, without Terraform: a stand-in that sends the module's requests.

It sends them in the order of ``infra/modules/bench``, waits as the provider does, and gives up at
the first error. ``tests/real/infra`` has Terraform itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from hcloud.images import Image
from hcloud.locations import Location
from hcloud.server_types import ServerType
from hcloud.servers import BoundServer

from pipeline.fleet.api_errors import translated
from pipeline.fleet.cloud import Cloud
from pipeline.fleet.fleet import Fleet
from pipeline.fleet.labels import ResourceMark, labels, server_name
from pipeline.fleet.night_variables import ClassServers, NightVariables
from pipeline.fleet.retry import TransientError
from pipeline.text.errors import UserError

_Answer = TypeVar("_Answer")


def up(fleet: Fleet, night: str, seconds: float = 0.0) -> list[str]:
    """Quote the servers of all classes, create them, and wait for their runners."""
    work = {each.name: 0.0 for each in fleet._classes}
    ordered = fleet.order(fleet.gate(night, work, seconds), night, seconds)
    apply(fleet, ordered)
    return fleet.ready(night)


def apply(fleet: Fleet, ordered: NightVariables) -> None:
    """Create what the variables of a night say. Raises UserError at the first error."""
    for name, servers in ordered.classes.items():
        mark = ResourceMark(night=ordered.night, machine_class=name, expires=ordered.expires)
        about: Any = labels(ordered.pipeline, mark)
        base = server_name(ordered.pipeline, ordered.night, name, 1).removesuffix("-1")
        _create(fleet._cloud, ordered, servers, base, about, ordered.runner_configurations[name])


def _create(
    cloud: Cloud,
    ordered: NightVariables,
    servers: ClassServers,
    base: str,
    about: Any,
    configurations: Sequence[Sequence[str]],
) -> None:
    """Create the servers of one class."""
    client = cloud._client
    wall = _asked(lambda: client.firewalls.create(base, rules=[], labels=about).firewall)
    group = None
    if servers.server_count > 1:
        group = _asked(
            lambda: client.placement_groups.create(f"{base}-1", "spread", about).placement_group
        )
    for number, jobs in enumerate(configurations, 1):
        ask = partial(
            client.servers.create,
            f"{base}-{number}",
            ServerType(name=servers.server_type),
            Image(name=ordered.image),
            location=Location(name=servers.location),
            firewalls=[wall],
            placement_group=group,
            labels=about,
            user_data="\n".join(jobs),
        )
        _begun(cloud, _asked(ask).server)


def _begun(cloud: Cloud, server: BoundServer) -> None:
    """Wait until a server runs."""
    while True:
        actions = _asked(lambda: cloud._client.servers.get_actions(server))
        if any(each.status == "error" for each in actions):
            raise UserError(f"{server.name} did not start")
        if all(each.status == "success" for each in actions):
            return
        cloud.policy.sleep(1.0)


def _asked(ask: Callable[[], _Answer]) -> _Answer:
    try:
        return translated(ask)
    except TransientError as error:
        raise UserError(str(error)) from error
