"""Network ports of this machine that servers can listen on."""

from __future__ import annotations

import socket

from pipeline.text.errors import UserError, first_line

LOOPBACK = "127.0.0.1"
"""The only address that servers under test listen on."""

ANOTHER = "set machine.port in nightshift.toml to another port, or to 0 for any free port"
"""The remedy for an unusable port of a server under test."""


def free_port() -> int:
    """Return a port that nothing listens on right now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def check_port(port: int, host: str = LOOPBACK, remedy: str = ANOTHER) -> None:
    """Raise UserError for a port that a server cannot listen on."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        # As a server does: lingering connections of the last server do not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            raise port_error(port, error, host, remedy) from error


def port_error(
    port: int, error: Exception, host: str = LOOPBACK, remedy: str = ANOTHER
) -> UserError:
    """Return the error for a port that cannot be used."""
    if isinstance(error, OSError) and error.strerror == "Address already in use":
        what = f"port {port} on {host} is in use"
    else:
        what = f"port {port} on {host} cannot be used ({first_line(error)})"
    return UserError(f"{what}; {remedy}")
