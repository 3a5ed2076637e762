"""A real ssh server on loopback, which lets in who has the one key, for files alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.machine.account import Account
from pipeline.machine.ports import LOOPBACK
from pipeline.transfer.places.base import Access
from tests.ports import free_port

_OPTIONS = (
    "UsePAM no",
    "PasswordAuthentication no",
    "KbdInteractiveAuthentication no",
    "StrictModes no",  # The folders of tests are anybody's.
    "PidFile none",
    "Subsystem sftp internal-sftp",
    "ForceCommand internal-sftp",  # No shell, as for a login that is for collecting alone.
    "LogLevel ERROR",
)


def program() -> Path:
    """Return the path of sshd; skip where it, or the client, cannot be had."""
    place = Path(sys.executable).parent.parent / "openssh" / "sshd"
    if not place.exists() or shutil.which("ssh") is None:
        pytest.skip("sshd or ssh is not here; tools/setup test unpacks Debian's sshd")
    return place


class Sshd:
    """A server with keys of its own in a folder, which runs as an account and lets in that one.

    ``config`` is a file for ``ssh -F`` that knows its key and its host key.
    """

    def __init__(self, folder: Path, account: Account) -> None:
        self.port = free_port()
        self.account = account
        self.config = folder / "ssh_config"
        self.known_hosts = folder / "known_hosts"
        self.log = folder / "sshd.log"
        self._folder = folder
        self._program = program()
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("host", "client"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True
            )
        shutil.copy(folder / "client.pub", folder / "authorized_keys")
        host = (folder / "host.pub").read_text()
        self.known_hosts.write_text(f"nightshift-test {host}")
        self.config.write_text(
            f"IdentityFile {folder}/client\nIdentitiesOnly yes\nHostKeyAlias nightshift-test\n"
            f"UserKnownHostsFile {self.known_hosts}\nGlobalKnownHostsFile /dev/null\n"
        )
        places = (
            f"Port {self.port}",
            f"ListenAddress {LOOPBACK}",
            f"HostKey {folder}/host",
            f"AuthorizedKeysFile {folder}/authorized_keys",
        )
        (folder / "sshd_config").write_text("\n".join([*_OPTIONS, *places]) + "\n")
        account.give(folder)
        for name in ("client", "ssh_config"):
            os.chown(folder / name, os.getuid(), os.getgid())  # ssh wants its own files.

    def address(self, path: Path, port: int = 0) -> str:
        """Return the address of a folder; through another port if one is given."""
        return f"ssh://{self.account.name}@{LOOPBACK}:{port or self.port}{path}"

    @property
    def access(self) -> Access:
        """What places are opened with."""
        return Access(ssh_config=str(self.config))

    def start(self) -> None:
        """Start it and return once it answers."""
        command = [str(self._program), "-D", "-e", "-f", str(self._folder / "sshd_config")]
        libraries = str(self._program.parent / "lib")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.account.command(*command, death_signal="KILL"),
                env={**os.environ, "LD_LIBRARY_PATH": libraries},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + 300
        while not self._answers():
            if self._process.poll() is not None:
                pytest.skip(f"this sshd does not start as it is: {self.log.read_text()[-300:]}")
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)

    def _answers(self) -> bool:
        ssh = ["ssh", "-F", str(self.config), "-p", str(self.port), "-o", "BatchMode=yes"]
        reported = subprocess.run(
            [*ssh, "-l", self.account.name, "-s", LOOPBACK, "sftp"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        return reported.returncode == 0
