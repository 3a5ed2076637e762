from __future__ import annotations

import socket

import pytest

from pipeline.machine.ports import LOOPBACK, check_port, free_port
from pipeline.text.errors import UserError


def test_a_free_port_passes_the_check() -> None:
    port = free_port()
    assert 0 < port < 65536
    check_port(port)


def test_a_port_in_use_is_one_line() -> None:
    with socket.socket() as other:
        other.bind((LOOPBACK, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UserError) as error:
            check_port(port)
    assert str(error.value) == (
        f"port {port} on 127.0.0.1 is in use; set machine.port in nightshift.toml to another "
        "port, or to 0 for any free port"
    )
    check_port(port)


def test_a_port_beyond_the_last_is_refused() -> None:
    with pytest.raises(UserError, match=r"port 70000 on 127\.0\.0\.1 cannot be used"):
        check_port(70000)
