"""What a server of SFTP says is believed as far as it can be: all else is one error."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from pipeline.transfer.places import open_place
from pipeline.transfer.places.base import PlaceError
from pipeline.transfer.sftp import Sftp, SftpError
from tests.sshd import Sshd

VERSION = struct.pack(">IBI", 5, 2, 3)


def says(answer: bytes, then: str = "") -> list[str]:
    """Return a command that gives an answer to whatever it is asked, and then does something."""
    # What it is asked first has nine bytes; who ends before they are sent is a line that broke.
    write = f"sys.stdin.buffer.read(9); sys.stdout.buffer.write({answer!r}); sys.stdout.flush()"
    return [sys.executable, "-c", f"import sys, time; {write}; {then}"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (says(b"", "sys.stderr.write('first\\nno route to host\\n')"), "^no route to host$"),
        (says(b"", ""), "the connection was lost"),
        (says(b"Welcome to this host! You have no mail.\n"), "does not support SFTP"),
        (says(struct.pack(">IBI", 5, 101, 3)), "does not support SFTP"),
        (says(VERSION[:-2]), "the connection was lost"),
        (says(struct.pack(">IB", 1, 2)), "does not support SFTP"),
        (says(b"", "time.sleep(60)"), "no answer for 1 s"),
    ],
)
def test_a_server_that_is_none(command: list[str], said: str) -> None:
    with pytest.raises(SftpError, match=said):
        Sftp(command, patience=1 if "sleep" in command[-1] else 60)


def test_an_answer_that_nobody_asked_for() -> None:
    connection = Sftp(says(VERSION + struct.pack(">IBII", 9, 101, 99, 0), "sys.stdin.read()"))
    try:
        with pytest.raises(SftpError, match="sent an unexpected answer"):
            list(connection.look(b"."))
    finally:
        connection.close()


def test_a_host_with_another_key_is_refused(sshd: Sshd, tmp_path: Path) -> None:
    known = sshd.known_hosts.read_text()
    sshd.known_hosts.write_text(known.replace("nightshift-test", "other"))
    try:
        with pytest.raises(PlaceError, match="cannot be reached: Host key verification failed"):
            open_place(sshd.address(tmp_path), sshd.access)
    finally:
        sshd.known_hosts.write_text(known)


def test_a_server_that_is_not_there_is_one_line(sshd: Sshd, tmp_path: Path) -> None:
    with pytest.raises(PlaceError, match="Connection refused") as error:
        open_place(sshd.address(tmp_path, port=1), sshd.access)
    assert "\n" not in str(error.value)
