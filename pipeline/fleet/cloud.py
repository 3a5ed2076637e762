"""A client of Hetzner Cloud with retries and readable errors."""

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
from pipeline.fleet.api_errors import Failed, Gone, plain, translated
from pipeline.fleet.rate_limit import Allowance
from pipeline.fleet.retry import RetryPolicy, TransientError
from pipeline.text.errors import UserError

Thing = (
    BoundServer
    | BoundVolume
    | BoundPrimaryIP
    | BoundPlacementGroup
    | BoundFirewall
    | BoundNetwork
    | BoundSSHKey
)
"""Resources that can be labelled as created for a night, and that cost money or block later nights
if they remain."""

KINDS: Mapping[type[Thing], str] = {
    BoundServer: "server",
    BoundVolume: "volume",
    BoundPrimaryIP: "primary IP",
    BoundPlacementGroup: "placement group",
    BoundFirewall: "firewall",
    BoundNetwork: "network",
    BoundSSHKey: "ssh key",
}
"""The names of the kinds, in the order of deletion: resources that others use come last."""

_Answer = TypeVar("_Answer")

TIMEOUT = (10.0, 60.0)
"""Timeouts in seconds: to connect, and for a response."""
_IN_USE_PATIENCE = 60.0
"""Seconds to wait for a deleted server to release its resources."""
_POLL = 5.0
"""Maximum seconds between two polls of an action."""

_PAGES = 20
"""Pages of 50 actions to search for the deletion of a server."""

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def connect(
    settings: FleetSection,
    policy: RetryPolicy,
    environ: Mapping[str, str] = os.environ,
    timeout: tuple[float, float] = TIMEOUT,
) -> Cloud:
    """Return the cloud project of the token in the environment. Raises UserError without one."""
    token = environ.get(settings.secret, "").strip()
    if not token or not token.isascii() or not token.isprintable():
        raise UserError(
            f"the environment variable {settings.secret} ([fleet] secret) holds no token; set "
            "it to a token of your Hetzner Cloud project with read and write access"
        )
    url = environ.get("HCLOUD_ENDPOINT") or settings.url
    at = urlsplit(url)
    if at.scheme != "https" and at.hostname not in _LOOPBACK:
        raise UserError(
            f"[fleet] url = {url} is not encrypted, so the token is not sent; use https"
        )
    client = Client(token, url.rstrip("/"), "nightshift", timeout=timeout)
    # The SDK's own retries sleep by a clock that cannot be replaced, and no setting disables them.
    client._client._retry_max_retries = 0
    allowance = Allowance()
    client._client._session.hooks["response"].append(allowance.hear)
    return Cloud(client, policy, allowance)


class Cloud:
    """A cloud project. Each call is retried, and raises UserError if all retries fail."""

    def __init__(self, client: Client, policy: RetryPolicy, allowance: Allowance) -> None:
        self._client, self.policy, self._allowance = client, policy, allowance

    def pricing(self) -> Mapping[str, Any]:
        """Return the cloud's price list."""
        answer = self._ask(lambda: self._client.request("GET", "/pricing"))
        pricing: Mapping[str, Any] = answer["pricing"]
        return pricing

    def listed(self, kind: type[Thing], selector: str) -> Sequence[Thing]:
        """Return the resources of a kind (servers, keys, ...) whose labels match."""
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

    def sold_out(self) -> set[tuple[str, str]]:
        """Return the server types and locations without capacity at present."""
        return {
            (required(each.name), required(place.location.name))
            for each in self._ask(self._client.server_types.get_all)
            for place in each.locations or ()
            if place.available is False
        }

    def exists(self, number: int) -> bool:
        """Whether a server with this number exists in the cloud."""
        try:
            self._ask(lambda: self._client.servers.get_by_id(number))
        except Gone:
            return False
        return True

    def deleted(self, number: int) -> datetime | None:
        """Return when somebody deleted a server; None if the cloud no longer knows."""
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
        """Delete a resource and wait until it is gone; it may be gone already. Raises Failed.

        For a server, the time of deletion is returned, if known.
        """
        patience = min(self.policy.patience, _IN_USE_PATIENCE)
        policy = self.policy if isinstance(thing, BoundServer) else _shorter(self.policy, patience)
        try:
            return policy.persist(lambda: self._once(lambda: self._delete(thing)))
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
                raise TransientError(f"{thing.name} is being deleted")

        quiet = RetryPolicy(self.policy.patience, clock=self.policy.clock, sleep=self.policy.sleep)
        quiet.persist(lambda: self._once(look), longest=_POLL)
        return done.started

    def _ask(self, ask: Callable[[], _Answer]) -> _Answer:
        return self.policy.persist(lambda: self._once(ask))

    def _once(self, ask: Callable[[], _Answer]) -> _Answer:
        if self._allowance.pause:
            self.policy.sleep(self._allowance.pause)
        return translated(ask)


def required(value: _Answer | None) -> _Answer:
    """Return a value that the cloud always sends, although its type says it may be missing."""
    if value is None:
        raise UserError(
            "the response of Hetzner Cloud lacks a field of the server; upgrade nightshift"
        )
    return value


def _shorter(policy: RetryPolicy, patience: float) -> RetryPolicy:
    return RetryPolicy(patience, policy.note, policy.clock, policy.sleep)


def _why(action: Action) -> str:
    if action.error is None:
        return f"{action.command} failed"
    return plain(f"{action.error['message']} ({action.error['code']})")
