"""What must hold of everything that Terraform made in Hetzner Cloud.

No scanner that a registry offers has rules for Hetzner Cloud, so these are ours. They are asked of
what the cloud was sent, which is nearer to the truth than any plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_network
from typing import Any

from pipeline.fleet.labels import Malformed, read_mark

Thing = Mapping[str, Any]

SECRETS = re.compile(
    r"gh[opsru]_\w{20}|github_pat_\w{20}|PRIVATE KEY|AKIA[0-9A-Z]{16}"
    r"|\b[A-Za-z0-9]{64}\b(?<![0-9a-f]{64})"
    r"|(?<!lock_)(?i:passw(or)?d['\" ]*[:=] *['\"]?[^\s'\"{}]{4})"
)
"""Tokens of GitHub, keys, passwords, and the 64 letters and digits of Hetzner Cloud's tokens; those
of a SHA-256 are hexadecimal."""

_WIDEST = {4: 16, 6: 32}
"""Bits of the widest network that may come in."""


def broken(
    things: Mapping[str, Sequence[Thing]],
    user_data: Mapping[str, str],
    pipeline: str = "nightshift",
    allowed: Sequence[str] = (),
    backups: bool = True,
) -> list[str]:
    """Return what does not hold, a line each: ``things`` by kind, and what servers were told.

    ``allowed`` are the networks that SSH is let in from.
    """
    return [
        *_walls(things["firewalls"], allowed),
        *_servers(things["servers"], pipeline, backups),
        *_volumes(things["volumes"]),
        *_reported(user_data),
        *_unlabelled(things, pipeline),
    ]


def _walls(walls: Sequence[Thing], allowed: Sequence[str]) -> Iterator[str]:
    for wall in walls:
        for rule in wall["rules"]:
            if rule["direction"] != "in":
                continue
            if (rule["protocol"], rule.get("port")) != ("tcp", "22"):
                yield f"firewall {wall['name']} lets in {rule['protocol']} {rule.get('port')}"
            for source in rule["source_ips"]:
                network = ip_network(source)
                if network.prefixlen < _WIDEST[network.version]:
                    yield f"firewall {wall['name']} is open to {source}"
                elif source not in allowed:
                    yield f"firewall {wall['name']} lets in {source}, which nobody asked for"
        if not wall["applied_to"]:
            yield f"firewall {wall['name']} protects nothing"


def _servers(servers: Sequence[Thing], pipeline: str, backups: bool) -> Iterator[str]:
    for server in servers:
        name, role = server["name"], server["labels"].get("role")
        if not server["public_net"]["firewalls"]:
            yield f"server {name} has no firewall"
        if role == "bench":
            yield from _bench(server, pipeline)
        elif role == "hub":
            if backups and not server["backup_window"]:
                yield f"server {name} has no backups"
            if backups and not all(server["protection"].values()):
                yield f"server {name} is not protected"
        else:
            yield f"server {name} has the role {role}"


def _bench(server: Thing, pipeline: str) -> Iterator[str]:
    try:
        mark = read_mark(pipeline, server["labels"])
    except Malformed as error:
        yield f"server {server['name']} outlives every reaper: {error}"
        return
    if mark is None or not mark.night or not mark.machine_class:
        yield f"server {server['name']} is no server of a night for the reaper"
    if server["private_net"]:
        yield f"server {server['name']} is a bench in a private network"


def _volumes(volumes: Sequence[Thing]) -> Iterator[str]:
    for volume in volumes:
        if not volume["protection"]["delete"]:
            yield f"volume {volume['name']} is not protected"


def _reported(user_data: Mapping[str, str]) -> Iterator[str]:
    for name, text in user_data.items():
        for secret in SECRETS.finditer(text):
            yield f"server {name} is told what looks like a secret: {secret[0][:8]}..."


def _unlabelled(things: Mapping[str, Sequence[Thing]], pipeline: str) -> Iterator[str]:
    for kind, each_kind in things.items():
        for thing in each_kind:
            if thing["labels"].get("nightshift") != pipeline:
                yield f"{kind} {thing['name']} lacks the label of the pipeline"
