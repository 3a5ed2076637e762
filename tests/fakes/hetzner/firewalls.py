"""Firewalls: their rules, and the servers that they are before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.fakes.hetzner.refused import Refused

if TYPE_CHECKING:
    from tests.fakes.hetzner.project import Project, Thing

_RULE: Mapping[str, Any] = {
    "source_ips": [],
    "destination_ips": [],
    "port": None,
    "description": None,
}
"""What the API returns for a rule without it."""


def make(project: Project, thing: Thing, body: Mapping[str, Any]) -> list[Thing]:
    """Make a firewall, before no server yet."""
    thing["applied_to"] = []
    set_rules(project, thing, body)
    return []


def set_rules(project: Project, wall: Thing, body: Mapping[str, Any]) -> None:
    """Give a firewall other rules."""
    del project
    rules = [{**_RULE, **each} for each in body.get("rules", [])]
    for each in rules:
        if each["direction"] == "in" and not each["source_ips"]:
            raise Refused(422, "invalid_input", "a rule for what comes in needs source_ips")
        if each["protocol"] in ("tcp", "udp") and not each["port"]:
            raise Refused(422, "invalid_input", "a rule for this protocol needs a port")
    wall["rules"] = rules


def apply(project: Project, wall: Thing, body: Mapping[str, Any]) -> None:
    """Put a firewall before servers that it is not before yet."""
    for each in body["apply_to"]:
        server = project.find("servers", _server_of(each))
        if each in wall["applied_to"]:
            raise Refused(422, "firewall_already_applied", "firewall was already applied")
        wall["applied_to"].append(each)
        server["public_net"]["firewalls"].append({"id": wall["id"], "status": "applied"})


def remove(project: Project, wall: Thing, body: Mapping[str, Any]) -> None:
    """Take a firewall from servers that it is before."""
    for each in body["remove_from"]:
        server = project.find("servers", _server_of(each))
        if each not in wall["applied_to"]:
            raise Refused(422, "firewall_resource_not_found", "firewall was not applied to this")
        wall["applied_to"].remove(each)
        net = server["public_net"]
        net["firewalls"] = [one for one in net["firewalls"] if one["id"] != wall["id"]]


def _server_of(resource: Mapping[str, Any]) -> int:
    if resource.get("type") != "server":
        raise Refused(422, "invalid_input", "only servers are known here")
    number: int = resource["server"]["id"]
    return number
