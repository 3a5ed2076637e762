"""HTTP requests to Prometheus and Grafana on this machine."""

from __future__ import annotations

import http.client
import ipaddress
from typing import NamedTuple
from urllib.parse import urlencode

PATIENCE = 10.0
"""Timeout in seconds, after which a service counts as down."""


class Address(NamedTuple):
    """The network address that a service of the hub listens on."""

    host: str
    port: int

    @property
    def listen(self) -> str:
        """The address as services expect it: ``127.0.0.1:9090`` or ``[::1]:9090``."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL by which this machine reaches the service."""
        host = ipaddress.ip_address(self.host)
        if host.is_unspecified:
            return Address("127.0.0.1" if host.version == 4 else "::1", self.port).url
        return f"http://{self.listen}"

    @property
    def private(self) -> bool:
        """Whether only this machine can reach the service."""
        return ipaddress.ip_address(self.host).is_loopback


def ask(address: Address, path: str, **parameters: str) -> bytes | None:
    """Return what a service answers to a request; None if the request fails."""
    connection = http.client.HTTPConnection(address.url.removeprefix("http://"), timeout=PATIENCE)
    try:
        connection.request("GET", f"{path}?{urlencode(parameters)}" if parameters else path)
        answer = connection.getresponse()
        return answer.read() if answer.status == http.client.OK else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
