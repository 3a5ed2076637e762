"""Public addresses that are kept apart from a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.fakes.hetzner.catalogue import LOCATIONS
from tests.fakes.hetzner.refused import Refused

if TYPE_CHECKING:
    from tests.fakes.hetzner.project import Project, Thing


def make(project: Project, thing: Thing, body: Mapping[str, Any]) -> list[Thing]:
    """Make an address, at a location or for a server that has none of its kind yet."""
    if body.get("type") not in ("ipv4", "ipv6") or body.get("assignee_type") != "server":
        raise Refused(422, "invalid_input", "invalid input in field 'type'")
    number, server = thing["id"], None
    if body.get("assignee_id") is not None:
        server = project.find("servers", body["assignee_id"])
    where = server["location"]["name"] if server is not None else body.get("location", "fsn1")
    place = next((each for each in LOCATIONS if each["name"] == where), None)
    if place is None:
        raise Refused(422, "invalid_input", "invalid input in field 'location'")
    ipv4 = body["type"] == "ipv4"
    thing.update(
        type=body["type"],
        ip=f"198.51.100.{number % 254 + 1}" if ipv4 else f"2001:db8:{number:x}::/64",
        location=place,
        assignee_type="server",
        assignee_id=None,
        auto_delete=bool(body.get("auto_delete", False)),
        blocked=False,
        dns_ptr=[],
        protection={"delete": False},
    )
    if server is None:
        return []
    _give(thing, server)
    return [project.begin("assign_primary_ip", "primary_ip", number)]


def assign(project: Project, address: Thing, body: Mapping[str, Any]) -> None:
    """Give an address to a server, which has to be off."""
    _give(address, project.find("servers", body["assignee_id"]))


def unassign(project: Project, address: Thing, body: Mapping[str, Any]) -> None:
    """Take an address from its server, which has to be off."""
    del body
    server = project.find("servers", address["assignee_id"])
    if server["status"] != "off":
        raise Refused(422, "server_not_stopped", "the server has to be off")
    address["assignee_id"] = None


def take(project: Project, server: Thing, body: Mapping[str, Any]) -> None:
    """Give a server that is being made the addresses that its body has."""
    for kind in ("ipv4", "ipv6"):
        number = body.get("public_net", {}).get(kind)
        if number is None:
            continue
        address = project.find("primary_ips", number)
        if address["type"] != kind or address["location"] != server["location"]:
            raise Refused(422, "invalid_input", f"primary IP {number} cannot be used here")
        if address["assignee_id"] is not None:
            raise Refused(409, "primary_ip_already_assigned", "primary IP is already assigned")
        address["assignee_id"] = server["id"]
        server["public_net"][kind].update(id=address["id"], ip=address["ip"])


def forget_server(project: Project, server: Thing) -> None:
    """Free the addresses of a server that is no more, or delete those that go with it."""
    for number, address in list(project.things["primary_ips"].items()):
        if address["assignee_id"] == server["id"]:
            address["assignee_id"] = None
            if address["auto_delete"] and not address["protection"]["delete"]:
                del project.things["primary_ips"][number]


def _give(address: Thing, server: Thing) -> None:
    if address["assignee_id"] is not None:
        raise Refused(409, "primary_ip_already_assigned", "primary IP is already assigned")
    if server["status"] != "off":
        raise Refused(422, "server_not_stopped", "the server has to be off")
    address["assignee_id"] = server["id"]
    server["public_net"][address["type"]].update(id=address["id"], ip=address["ip"])
