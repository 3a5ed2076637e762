"""A project of Hetzner Cloud: its resources, what is done to them, and what they cost."""

from __future__ import annotations

import copy
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tests.fakes.hetzner import firewalls, networks, primary_ips
from tests.fakes.hetzner.catalogue import IMAGES, LOCATIONS, PRICING, SERVER_TYPES
from tests.fakes.hetzner.commands import COMMANDS
from tests.fakes.hetzner.refused import Refused
from tests.fakes.hetzner.selector import valid

Thing = dict[str, Any]

KINDS = (
    "servers",
    "ssh_keys",
    "placement_groups",
    "volumes",
    "firewalls",
    "primary_ips",
    "networks",
)
"""What can be made and deleted."""

_HOSTNAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9-]+)*")
_USER_DATA = 32 * 1024
_AT_ONCE = 10
"""Servers of a placement group, at most."""


class Project:
    """Resources by kind and id. ``clock`` returns seconds since 1970.

    An action is done after ``polls`` requests that ask for something. ``sold_out`` are types and
    locations that cannot be had now, ``limits`` how many of a kind there may be at most.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self.polls = 1
        self.things: dict[str, dict[int, Thing]] = {kind: {} for kind in KINDS}
        self.actions: dict[int, Thing] = {}
        self.sold_out: set[tuple[str, str]] = set()
        self.limits: dict[str, int] = {}
        self.user_data: dict[str, str] = {}
        self.past: list[Thing] = []
        self._left: dict[int, int] = {}
        self._failing: dict[int, str] = {}
        self._ids = iter(range(4711, 10**9))

    # --- asking ----------------------------------------------------------------------

    def tick(self) -> None:
        """Let time pass for what goes on: each action by one poll."""
        for number in list(self._left):
            self._left[number] -= 1
            if self._left[number] < 0:
                del self._left[number]
                self._finish(self.actions[number])

    def settle(self) -> None:
        """Let all that goes on be done at the next request that asks for something."""
        self._left = dict.fromkeys(self._left, 0)

    def find(self, kind: str, number: int) -> Thing:
        """Return a resource, or an action."""
        found = self.actions if kind == "actions" else self.things[kind]
        if number not in found:
            raise Refused(404, "not_found", f"{kind[:-1]} with ID '{number}' not found")
        return found[number]

    def named(self, kind: str) -> set[str]:
        """Return the names that there are."""
        return {each["name"] for each in self.things[kind].values()}

    def bill(self) -> float:
        """Return what all servers cost so far, gross: every started hour of each."""
        return math.fsum(self.cost(each) for each in (*self.past, *self.things["servers"].values()))

    def cost(self, server: Thing) -> float:
        """Return what a server costs so far, with its address."""
        ended: float = server.get("deleted_at", self.clock())
        hours: int = math.ceil(max(ended - server["made_at"], 1.0) / 3600)
        where = server["location"]["name"]
        (own,) = (p for p in server["server_type"]["prices"] if p["location"] == where)
        (address,) = (p for p in PRICING["primary_ips"][0]["prices"] if p["location"] == where)
        return hours * math.fsum(float(p["price_hourly"]["gross"]) for p in (own, address))

    # --- making ----------------------------------------------------------------------

    def make(self, kind: str, body: Mapping[str, Any]) -> tuple[Thing, list[Thing]]:
        """Make a resource; return it with the actions that this takes. Raises Refused."""
        name = body.get("name")
        if not isinstance(name, str) or not name:
            raise Refused(422, "invalid_input", "invalid input in field 'name'")
        if not valid(body.get("labels", {})):
            raise Refused(422, "invalid_input", "invalid input in field 'labels'")
        if name in self.named(kind):
            raise Refused(409, "uniqueness_error", f"{kind[:-1]} name is already used")
        if len(self.things[kind]) >= self.limits.get(kind, 10**6):
            raise Refused(403, "resource_limit_exceeded", f"{kind[:-1]} limit exceeded")
        thing: Thing = {
            "id": next(self._ids),
            "name": name,
            "labels": dict(body.get("labels", {})),
            "created": self._stamp(),
        }
        actions = getattr(self, f"_make_{kind}")(thing, body)
        self.things[kind][thing["id"]] = thing
        return thing, actions

    def _make_ssh_keys(self, thing: Thing, body: Mapping[str, Any]) -> list[Thing]:
        if not str(body.get("public_key", "")).startswith("ssh-"):
            raise Refused(422, "invalid_input", "invalid input in field 'public_key'")
        print_ = ":".join(f"{byte:02x}" for byte in thing["id"].to_bytes(16))
        thing.update(public_key=body["public_key"], fingerprint=print_)
        return []

    def _make_placement_groups(self, thing: Thing, body: Mapping[str, Any]) -> list[Thing]:
        if body.get("type") != "spread":
            raise Refused(422, "invalid_input", "invalid input in field 'type'")
        thing.update(type="spread", servers=[])
        return []

    def _make_networks(self, thing: Thing, body: Mapping[str, Any]) -> list[Thing]:
        return networks.make(self, thing, body)

    def _make_primary_ips(self, thing: Thing, body: Mapping[str, Any]) -> list[Thing]:
        return primary_ips.make(self, thing, body)

    def _make_volumes(self, thing: Thing, body: Mapping[str, Any]) -> list[Thing]:
        server = self.find("servers", body["server"]) if body.get("server") is not None else None
        where = body.get("location", "fsn1") if server is None else server["location"]["name"]
        thing.update(
            size=int(body.get("size", 10)),
            server=None if server is None else server["id"],
            location=_one(LOCATIONS, where, "location"),
            status="available",
            format=body.get("format"),
            linux_device=f"/dev/disk/by-id/scsi-0HC_Volume_{thing['id']}",
            protection={"delete": False},
        )
        if server is not None:
            server["volumes"].append(thing["id"])
        return [self.begin("create_volume", "volume", thing["id"])]

    def _make_firewalls(self, thing: Thing, body: Mapping[str, Any]) -> list[Thing]:
        return firewalls.make(self, thing, body)

    def _make_servers(self, thing: Thing, body: Mapping[str, Any]) -> list[Thing]:
        kind = _one(SERVER_TYPES, body.get("server_type"), "server type")
        where = _one(LOCATIONS, body.get("location", "fsn1"), "location")
        image = _one(IMAGES, body.get("image"), "image")
        if not _HOSTNAME.fullmatch(thing["name"]) or len(thing["name"]) > 63:
            raise Refused(422, "invalid_input", "invalid input in field 'name'")
        if len(str(body.get("user_data", "")).encode()) > _USER_DATA:
            raise Refused(422, "invalid_input", "invalid input in field 'user_data'")
        keys = [self._known("ssh_keys", each) for each in body.get("ssh_keys", [])]
        walls = [self._known("firewalls", each["firewall"]) for each in body.get("firewalls", [])]
        group = body.get("placement_group")
        spread = self._known("placement_groups", group) if group is not None else None
        if spread is not None and len(spread["servers"]) >= _AT_ONCE:
            raise Refused(422, "placement_error", "error during placement")
        if (kind["name"], where["name"]) in self.sold_out:
            raise Refused(412, "resource_unavailable", "error during placement")
        number = thing["id"]
        thing.update(
            status="initializing",
            server_type=copy.deepcopy(kind),
            location=where,
            image=image,
            iso=None,
            rescue_enabled=False,
            locked=True,
            backup_window=None,
            ingoing_traffic=0,
            outgoing_traffic=0,
            included_traffic=20 * 2**40,
            primary_disk_size=kind["disk"],
            protection={"delete": False, "rebuild": False},
            volumes=[],
            private_net=[],
            load_balancers=[],
            placement_group=spread,
            public_net={
                "ipv4": {
                    "id": number + 10**6,
                    "ip": f"192.0.2.{number % 254 + 1}",
                    "blocked": False,
                    "dns_ptr": "",
                },
                "ipv6": {
                    "id": number + 2 * 10**6,
                    "ip": f"2001:db8:{number:x}::/64",
                    "blocked": False,
                    "dns_ptr": [],
                },
                "floating_ips": [],
                "firewalls": [{"id": wall["id"], "status": "applied"} for wall in walls],
            },
            made_at=self.clock(),
        )
        for wall in walls:
            wall["applied_to"].append({"type": "server", "server": {"id": number}})
        if spread is not None:
            spread["servers"].append(number)
        primary_ips.take(self, thing, body)
        self.user_data[thing["name"]] = str(body.get("user_data", ""))
        thing["root_password"] = None if keys else "e2WDDDN7nTc3"
        return [
            self.begin("create_server", "server", number),
            self.begin("start_server", "server", number),
        ]

    # --- changing and deleting -------------------------------------------------------

    def change(self, kind: str, number: int, body: Mapping[str, Any]) -> Thing:
        """Give a resource another name or other labels."""
        thing = self.find(kind, number)
        if not valid(body.get("labels", {})):
            raise Refused(422, "invalid_input", "invalid input in field 'labels'")
        thing.update({key: body[key] for key in ("name", "labels") if key in body})
        return thing

    def act(self, kind: str, number: int, command: str, body: Mapping[str, Any]) -> Thing:
        """Begin something that a resource can do."""
        thing = self.find(kind, number)
        match kind, command:
            case "servers", "poweroff" | "shutdown":
                thing["status"] = "off"
            case "servers", "poweron" | "reboot" | "reset":
                thing["status"] = "running"
            case (("servers" | "volumes"), "change_protection"):
                thing["protection"].update(body)
            case "volumes", "attach":
                self.find("servers", body["server"])["volumes"].append(number)
                thing["server"] = body["server"]
            case "volumes", "detach":
                self._detach(thing)
            case (("networks" | "primary_ips"), "change_protection"):
                thing["protection"].update(body)
            case _ if (kind, command) in COMMANDS:
                COMMANDS[kind, command](self, thing, body)
            case _:
                raise Refused(404, "not_found", f"there is no action {command}")
        return self.begin(command, kind[:-1], number)

    def delete(self, kind: str, number: int) -> Thing | None:
        """Delete a resource; return the action that this takes, if it takes one."""
        thing = self.find(kind, number)
        if thing.get("protection", {}).get("delete"):
            raise Refused(423, "protected", f"{kind[:-1]} deletion is protected")
        used = {
            "placement_groups": thing.get("servers"),
            "firewalls": thing.get("applied_to"),
            "volumes": thing.get("server"),
            "primary_ips": thing.get("assignee_id"),
        }.get(kind)
        if used:
            raise Refused(409, "resource_in_use", f"{kind[:-1]} is still in use")
        if kind == "networks":
            networks.forget_network(self, thing)
        if kind != "servers":
            del self.things[kind][number]
            return None
        if thing["status"] == "deleting":
            # Who asks again waits for it as who looks.
            self.tick()
            raise Refused(423, "locked", "server is locked")
        thing.update(status="deleting", deleted_at=self.clock())
        return self.begin("delete_server", "server", number)

    def fail(self, action: Thing, code: str) -> None:
        """Let an action end with an error."""
        self._failing[action["id"]] = code

    # --- what goes on ----------------------------------------------------------------

    def begin(self, command: str, kind: str, number: int) -> Thing:
        """Begin an action of a resource."""
        action: Thing = {
            "id": next(self._ids),
            "command": command,
            "status": "running",
            "progress": 0,
            "started": self._stamp(),
            "finished": None,
            "resources": [{"id": number, "type": kind}],
            "error": None,
        }
        self.actions[action["id"]] = action
        self._left[action["id"]] = self.polls
        return action

    def _finish(self, action: Thing) -> None:
        action.update(status="success", progress=100, finished=self._stamp())
        code = self._failing.pop(action["id"], "")
        if code:
            error = {"code": code, "message": f"{action['command']} failed"}
            action.update(status="error", error=error)
        server = self.things["servers"].get(action["resources"][0]["id"])
        if server is None or action["resources"][0]["type"] != "server":
            return
        server["locked"] = False
        match action["command"]:
            case "create_server":
                server["status"] = "off" if code else "starting"
            case "start_server":
                server["status"] = "off" if code else "running"
            case "delete_server" if code:
                server["status"] = "running"
                del server["deleted_at"]
            case "delete_server":
                self._remove(server)

    def _remove(self, server: Thing) -> None:
        number = server["id"]
        networks.forget_server(self, server)
        primary_ips.forget_server(self, server)
        self.past.append(self.things["servers"].pop(number))
        for group in self.things["placement_groups"].values():
            group["servers"] = [each for each in group["servers"] if each != number]
        for wall in self.things["firewalls"].values():
            wall["applied_to"] = [
                each for each in wall["applied_to"] if each["server"]["id"] != number
            ]
        for volume in self.things["volumes"].values():
            if volume["server"] == number:
                volume["server"] = None

    def _detach(self, volume: Thing) -> None:
        server = self.things["servers"].get(volume["server"])
        if server is not None:
            server["volumes"].remove(volume["id"])
        volume["server"] = None

    def _known(self, kind: str, wanted: Any) -> Thing:
        return _one(list(self.things[kind].values()), wanted, kind[:-1])

    def _stamp(self) -> str:
        return datetime.fromtimestamp(self.clock(), UTC).isoformat().replace("+00:00", "Z")


def _one(things: list[Thing], wanted: Any, noun: str) -> Thing:
    """Find by id or name, both of which the API takes."""
    found = _first(each for each in things if wanted in (each["id"], each["name"]))
    if found is None:
        raise Refused(422, "invalid_input", f"{noun} {wanted} not found")
    return found


def _first(things: Iterator[Thing]) -> Thing | None:
    return next(things, None)
