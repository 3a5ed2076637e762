"""Commands of resources besides those that every fleet sends, by kind and name.

Each function does it at once; the action that reports it takes its time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tests.fakes.hetzner import firewalls, networks, primary_ips
from tests.fakes.hetzner.catalogue import SERVER_TYPES
from tests.fakes.hetzner.refused import Refused

if TYPE_CHECKING:
    from tests.fakes.hetzner.project import Project, Thing

_WINDOW = "22-02"
_GIB = 10240


def _enable_backup(project: Project, server: Thing, body: Mapping[str, Any]) -> None:
    del project, body
    server["backup_window"] = _WINDOW


def _disable_backup(project: Project, server: Thing, body: Mapping[str, Any]) -> None:
    del project, body
    server["backup_window"] = None


def _change_type(project: Project, server: Thing, body: Mapping[str, Any]) -> None:
    del project
    if server["status"] != "off":
        raise Refused(422, "server_not_stopped", "the server has to be off")
    wanted = next((each for each in SERVER_TYPES if each["name"] == body["server_type"]), None)
    if wanted is None or (
        body.get("upgrade_disk") and wanted["disk"] < server["primary_disk_size"]
    ):
        raise Refused(422, "invalid_server_type", "the server cannot become of this type")
    server["server_type"] = wanted
    if body.get("upgrade_disk"):
        server["primary_disk_size"] = wanted["disk"]


def _resize(project: Project, volume: Thing, body: Mapping[str, Any]) -> None:
    del project
    if not volume["size"] < body["size"] <= _GIB:
        raise Refused(422, "invalid_input", "a volume can only become larger")
    volume["size"] = body["size"]


def _add_to_group(project: Project, server: Thing, body: Mapping[str, Any]) -> None:
    group = project.find("placement_groups", body["placement_group"])
    group["servers"].append(server["id"])
    server["placement_group"] = group


def _remove_from_group(project: Project, server: Thing, body: Mapping[str, Any]) -> None:
    del project, body
    server["placement_group"]["servers"].remove(server["id"])
    server["placement_group"] = None


COMMANDS: Mapping[tuple[str, str], Callable[[Project, Thing, Mapping[str, Any]], None]] = {
    ("servers", "enable_backup"): _enable_backup,
    ("servers", "disable_backup"): _disable_backup,
    ("servers", "change_type"): _change_type,
    ("servers", "attach_to_network"): networks.attach,
    ("servers", "detach_from_network"): networks.detach,
    ("servers", "add_to_placement_group"): _add_to_group,
    ("servers", "remove_from_placement_group"): _remove_from_group,
    ("volumes", "resize"): _resize,
    ("firewalls", "set_rules"): firewalls.set_rules,
    ("firewalls", "apply_to_resources"): firewalls.apply,
    ("firewalls", "remove_from_resources"): firewalls.remove,
    ("networks", "add_subnet"): networks.add_subnet,
    ("networks", "delete_subnet"): networks.delete_subnet,
    ("primary_ips", "assign"): primary_ips.assign,
    ("primary_ips", "unassign"): primary_ips.unassign,
}
