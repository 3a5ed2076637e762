"""Ports of the loopback interface."""

from __future__ import annotations

import socket

from pipeline.errors import UserError, first_line

LOOPBACK = "127.0.0.1"
"""The only address that servers under test listen on."""


def free_port() -> int:
    """Return a port that nothing listens on right now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def check_port(port: int) -> None:
    """Refuse a port that a server could not listen on."""
    with socket.socket() as probe:
        # As a server does: connections of the last one that still linger are no hindrance.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except (OSError, OverflowError) as error:
            raise port_error(port, error) from error


def port_error(port: int, error: Exception) -> UserError:
    """Return the one line for a port that could not be had."""
    if isinstance(error, OSError) and error.strerror == "Address already in use":
        what = f"port {port} on {LOOPBACK} is in use"
    else:
        what = f"port {port} on {LOOPBACK} cannot be used ({first_line(error)})"
    return UserError(f"{what}; set machine.port in nightshift.toml to another, or to 0 for any")
