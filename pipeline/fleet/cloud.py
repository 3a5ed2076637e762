"""Hetzner Cloud by its SDK: asked with patience, and its errors in our words."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from hcloud import Client
from hcloud.actions import Action, ActionsPageResult
from hcloud.firewalls import BoundFirewall
from hcloud.networks import BoundNetwork
from hcloud.placement_groups import BoundPlacementGroup
from hcloud.primary_ips import BoundPrimaryIP
from hcloud.servers import BoundServer
from hcloud.ssh_keys import BoundSSHKey
from hcloud.volumes import BoundVolume

from pipeline.config import FleetSection
from pipeline.errors import UserError
from pipeline.fleet.allowance import Allowance
from pipeline.fleet.meaning import Failed, Gone, plain, translated
from pipeline.fleet.pace import Pace, Passing

Thing = (
    BoundServer
    | BoundVolume
    | BoundPrimaryIP
    | BoundPlacementGroup
    | BoundFirewall
    | BoundNetwork
    | BoundSSHKey
)
"""What can be labelled as made for a night, and costs money or is in the way when it stays."""

KINDS: Mapping[type[Thing], str] = {
    BoundServer: "server",
    BoundVolume: "volume",
    BoundPrimaryIP: "primary IP",
    BoundPlacementGroup: "placement group",
    BoundFirewall: "firewall",
    BoundNetwork: "network",
    BoundSSHKey: "ssh key",
}
"""What they are called, in the order in which they are deleted: what others hold on to is last."""

_Answer = TypeVar("_Answer")

_TIMEOUT = (10.0, 60.0)
"""Seconds for a connection, and for an answer."""
_IN_USE_PATIENCE = 60.0
"""Seconds in which what a deleted server used is let go."""
_POLL = 5.0
"""Seconds between two looks at what goes on, at most."""

_MAKING = frozenset({"apply_firewall", "create_server", "start_server"})
"""Actions that making a server consists of."""

_PAGES = 20
"""Pages of 50 actions that are looked through for a server that is gone."""

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def connect(settings: FleetSection, pace: Pace, environ: Mapping[str, str] = os.environ) -> Cloud:
    """Return the project that the token in the environment is of. Raises UserError without one."""
    token = environ.get(settings.secret, "").strip()
    if not token or not token.isascii() or not token.isprintable():
        raise UserError(
            f"the environment variable {settings.secret}, which [fleet] names, holds no token; set "
            "it to one of your Hetzner Cloud project that may read and write"
        )
    url = environ.get("HCLOUD_ENDPOINT") or settings.url
    at = urlsplit(url)
    if at.scheme != "https" and at.hostname not in _LOOPBACK:
        raise UserError(f"the token is not sent to {url}, which anybody could read; use https")
    client = Client(token, url.rstrip("/"), "nightshift", timeout=_TIMEOUT)
    # Its own retries sleep by a clock that nobody can set, and there is no setting for them.
    client._client._retry_max_retries = 0
    allowance = Allowance()
    client._client._session.hooks["response"].append(allowance.hear)
    return Cloud(client, pace, allowance)


class Cloud:
    """A project. Every call may raise UserError, for what does not pass or is refused."""

    def __init__(self, client: Client, pace: Pace, allowance: Allowance) -> None:
        self._client, self.pace, self._allowance = client, pace, allowance

    def pricing(self) -> Mapping[str, Any]:
        """Return what everything costs, as the API tells it."""
        answer = self._ask(lambda: self._client.request("GET", "/pricing"))
        pricing: Mapping[str, Any] = answer["pricing"]
        return pricing

    def listed(self, kind: type[Thing], selector: str) -> Sequence[Thing]:
        """Return the resources of a kind that a label selector fits."""
        lists: Mapping[type[Thing], Callable[..., Sequence[Thing]]] = {
            BoundServer: self._client.servers.get_all,
            BoundVolume: self._client.volumes.get_all,
            BoundPrimaryIP: self._client.primary_ips.get_all,
            BoundPlacementGroup: self._client.placement_groups.get_all,
            BoundFirewall: self._client.firewalls.get_all,
            BoundNetwork: self._client.networks.get_all,
            BoundSSHKey: self._client.ssh_keys.get_all,
        }
        return self._ask(lambda: lists[kind](label_selector=selector))

    def make(self, ask: Callable[[Client], _Answer]) -> _Answer:
        """Make something. Raises SoldOut, Limited, and Taken where something has its name."""
        return self._ask(lambda: ask(self._client))

    def started(self, server: BoundServer) -> None:
        """Wait until a server that was made runs.

        Raises Failed where it never will, and Gone where others deleted it. What became of anything
        that somebody else began with it is not asked.
        """

        def look() -> None:
            done = self._client.servers.get_actions(server)
            going = [action for action in done if action.command in _MAKING]
            for action in going:
                if action.status == Action.STATUS_ERROR:
                    raise Failed(_why(action))
            if any(action.status == Action.STATUS_RUNNING for action in going):
                raise Passing(f"server {server.name} is being made")

        quiet = Pace(self.pace.patience, clock=self.pace.clock, sleep=self.pace.sleep)
        quiet.persist(lambda: self._once(look), longest=_POLL)

    def exists(self, number: int) -> bool:
        """Tell whether there is a server of a number."""
        try:
            self._ask(lambda: self._client.servers.get_by_id(number))
        except Gone:
            return False
        return True

    def deleted(self, number: int) -> datetime | None:
        """Return when a server was deleted, by whomever; None if that is no longer known."""
        wanted = {"id": number, "type": "server"}
        for page in range(1, _PAGES + 1):
            found, meta = self._ask(partial(self._actions, page))
            for action in found:
                if action.command == "delete_server" and wanted in (action.resources or ()):
                    return action.started
            if meta.pagination is None or meta.pagination.next_page is None:
                break
        return None

    def _actions(self, page: int) -> ActionsPageResult:
        return self._client.servers.actions.get_list(sort=["id:desc"], page=page, per_page=50)

    def delete(self, thing: Thing) -> datetime | None:
        """Delete something and wait until it is gone; it may be already. Raises Failed.

        Of a server it returns since when it is, if that was told.
        """
        patience = min(self.pace.patience, _IN_USE_PATIENCE)
        pace = self.pace if isinstance(thing, BoundServer) else _shorter(self.pace, patience)
        try:
            return pace.persist(lambda: self._once(lambda: self._delete(thing)))
        except Gone:
            return None

    def _delete(self, thing: Thing) -> datetime | None:
        done = thing.delete()
        if not isinstance(done, Action):
            return None
        number = done.id

        def look() -> None:
            action = self._client.actions.get_by_id(number)
            if action.status == Action.STATUS_ERROR:
                raise Failed(_why(action))
            if action.status == Action.STATUS_RUNNING:
                raise Passing(f"{thing.name} is being deleted")

        quiet = Pace(self.pace.patience, clock=self.pace.clock, sleep=self.pace.sleep)
        quiet.persist(lambda: self._once(look), longest=_POLL)
        return done.started

    def _ask(self, ask: Callable[[], _Answer]) -> _Answer:
        return self.pace.persist(lambda: self._once(ask))

    def _once(self, ask: Callable[[], _Answer]) -> _Answer:
        if self._allowance.pause:
            self.pace.sleep(self._allowance.pause)
        return translated(ask)


def certain(value: _Answer | None) -> _Answer:
    """Return what the API always tells, and the SDK takes for what may be missing."""
    if value is None:
        raise UserError("Hetzner Cloud leaves out what it always told of a server; upgrade this")
    return value


def _shorter(pace: Pace, patience: float) -> Pace:
    return Pace(patience, pace.tell, pace.clock, pace.sleep)


def _why(action: Action) -> str:
    if action.error is None:
        return f"{action.command} failed"
    return plain(f"{action.error['message']} ({action.error['code']})")
