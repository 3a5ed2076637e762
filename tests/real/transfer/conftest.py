"""Places of every kind, whose files a test can look at: folders of this machine behind them all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

import pytest

from pipeline.machine.account import Account
from pipeline.transfer.places import open_place
from pipeline.transfer.places.base import Access, Place
from tests.s3 import S3
from tests.sshd import Sshd


@dataclass
class Ground:
    """A kind of place: ``folder`` is where the files of all places of it lie on this machine.

    Another port than its server's can stand in an address, as that of a line that breaks.
    """

    kind: str
    folder: Path
    account: Account
    port: int = 0
    access: Access = field(default_factory=Access)

    def address(self, name: str, port: int = 0) -> str:
        """Return the address of a place of this name."""
        if self.kind == "s3":
            return f"s3://bucket/{name}"
        if self.kind == "ssh":
            host = f"{self.account.name}@127.0.0.1:{port or self.port}"
            return f"ssh://{host}{self.folder / name}"
        return str(self.folder / name)

    def open(self, name: str) -> Place:
        """Open a place."""
        return open_place(self.address(name), self.access)


@pytest.fixture
def home(server_folder: Path) -> Path:
    """A folder for what is at home here; that of ``ground`` is elsewhere."""
    (server_folder / "home").mkdir()
    return server_folder / "home"


@pytest.fixture(scope="session")
def sshd(server_root: Path, account: Account) -> Iterator[Sshd]:
    """A server of ssh for the whole session."""
    folder = Path(mkdtemp(dir=server_root))
    folder.chmod(0o755)
    server = Sshd(folder, account)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def s3_ground(s3: S3, account: Account) -> Ground:
    """A bucket, and what it is asked with."""
    access = Access(
        endpoint=s3.url,
        key_variable="AWS_ACCESS_KEY_ID",
        signing_variable="AWS_SECRET_ACCESS_KEY",
        environment={name: value for name, value in s3.environ.items() if "URL" not in name},
    )
    return Ground("s3", s3.bucket("bucket"), account, s3.port, access)


@pytest.fixture
def ssh_ground(sshd: Sshd, server_folder: Path, account: Account) -> Ground:
    """A folder that is reached over ssh, by its owner."""
    return Ground("ssh", _there(server_folder, account), account, sshd.port, sshd.access)


@pytest.fixture(params=["folder", "ssh", "s3"])
def ground(request: pytest.FixtureRequest, server_folder: Path, account: Account) -> Ground:
    """Each kind of place."""
    if request.param == "folder":
        return Ground("folder", _there(server_folder, account), account)
    found: Ground = request.getfixturevalue(f"{request.param}_ground")
    return found


def _there(folder: Path, account: Account) -> Path:
    there = folder / "there"
    account.own(there)
    there.chmod(0o755)
    return there
