"""Private networks: their subnets, and the servers in them.

A resource is a dictionary as the API returns it; each function changes the resources of a project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Any

from tests.fakes.hetzner.refused import Refused

if TYPE_CHECKING:
    from tests.fakes.hetzner.project import Project, Thing

_KINDS = ("cloud", "server", "vswitch")


def make(project: Project, thing: Thing, body: Mapping[str, Any]) -> list[Thing]:
    """Make a network, with the subnets that the body has."""
    del project
    thing.update(
        ip_range=str(_range(body.get("ip_range"), "ip_range")),
        subnets=[],
        routes=list(body.get("routes", [])),
        servers=[],
        load_balancers=[],
        protection={"delete": False},
        expose_routes_to_vswitch=bool(body.get("expose_routes_to_vswitch", False)),
    )
    for each in body.get("subnets", []):
        _add(thing, each)
    return []


def add_subnet(project: Project, network: Thing, body: Mapping[str, Any]) -> None:
    """Give a network a subnet inside its range that overlaps no other."""
    del project
    _add(network, body)


def delete_subnet(project: Project, network: Thing, body: Mapping[str, Any]) -> None:
    """Take a subnet out of a network; refused while a server has an address of it."""
    found = next(
        (each for each in network["subnets"] if each["ip_range"] == body["ip_range"]), None
    )
    if found is None:
        raise Refused(404, "not_found", f"subnet {body['ip_range']} not found")
    if any(IPv4Address(ip) in IPv4Network(found["ip_range"]) for ip in _taken(project, network)):
        raise Refused(
            422, "service_error", "cannot remove subnet because servers are attached to it"
        )
    network["subnets"].remove(found)


def attach(project: Project, server: Thing, body: Mapping[str, Any]) -> None:
    """Put a server into a network, with the address that is asked for or the first that is free."""
    network = project.find("networks", body["network"])
    if server["id"] in network["servers"]:
        raise Refused(409, "server_already_attached", "server is already attached to this network")
    ranges = [IPv4Network(each["ip_range"]) for each in network["subnets"]]
    wanted = IPv4Network(body["ip_range"]) if "ip_range" in body else None
    ranges = [each for each in ranges if wanted in (None, each)]
    if not ranges:
        raise Refused(409, "no_subnet_available", "the network has no subnet for this")
    taken = set(_taken(project, network))
    # The first address of a subnet is its gateway's.
    free = (str(ip) for each in ranges for ip in list(each.hosts())[1:])
    ip = body.get("ip") or next((each for each in free if each not in taken), None)
    if ip is None or ip in taken or not any(IPv4Address(ip) in each for each in ranges):
        raise Refused(409, "ip_not_available", f"address {ip} cannot be had in this network")
    network["servers"].append(server["id"])
    server["private_net"].append(
        {
            "network": network["id"],
            "ip": ip,
            "alias_ips": list(body.get("alias_ips", [])),
            "mac_address": "86:00:ff:" + ":".join(f"{each:02x}" for each in _last_three(ip)),
        }
    )


def detach(project: Project, server: Thing, body: Mapping[str, Any]) -> None:
    """Take a server out of a network."""
    network = project.find("networks", body["network"])
    if server["id"] not in network["servers"]:
        raise Refused(404, "not_found", "server is not attached to this network")
    _leave(network, server)


def forget_server(project: Project, server: Thing) -> None:
    """Take a server that is no more out of its networks."""
    for network in project.things["networks"].values():
        if server["id"] in network["servers"]:
            _leave(network, server)


def forget_network(project: Project, network: Thing) -> None:
    """Take the servers out of a network that is no more, which the API does by itself."""
    for number in list(network["servers"]):
        _leave(network, project.find("servers", number))


def _leave(network: Thing, server: Thing) -> None:
    network["servers"].remove(server["id"])
    server["private_net"] = [
        each for each in server["private_net"] if each["network"] != network["id"]
    ]


def _add(network: Thing, body: Mapping[str, Any]) -> None:
    if body.get("type") not in _KINDS:
        raise Refused(422, "invalid_input", "invalid input in field 'type'")
    wanted = _range(body.get("ip_range"), "ip_range")
    if not wanted.subnet_of(IPv4Network(network["ip_range"])):
        raise Refused(422, "invalid_input", "the range of a subnet is a part of the network's")
    if any(wanted.overlaps(IPv4Network(each["ip_range"])) for each in network["subnets"]):
        raise Refused(422, "invalid_input", "the range of a subnet overlaps another's")
    subnet = {
        "type": body["type"],
        "ip_range": str(wanted),
        "network_zone": body["network_zone"],
        "gateway": str(IPv4Network(network["ip_range"])[1]),
        "vswitch_id": body.get("vswitch_id"),
    }
    network["subnets"].append(subnet)


def _range(text: Any, field: str) -> IPv4Network:
    try:
        found = IPv4Network(text)
    except ValueError as error:
        raise Refused(422, "invalid_input", f"invalid input in field '{field}'") from error
    if not found.is_private:
        raise Refused(422, "invalid_input", f"invalid input in field '{field}'")
    return found


def _taken(project: Project, network: Thing) -> Iterator[str]:
    for number in network["servers"]:
        for each in project.find("servers", number)["private_net"]:
            if each["network"] == network["id"]:
                yield each["ip"]


def _last_three(ip: str) -> bytes:
    return IPv4Address(ip).packed[1:]
