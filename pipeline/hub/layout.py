"""The hub's folder: what is where, whose it is, and who holds it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pipeline.errors import UserError
from pipeline.machine.account import Account

DASHBOARDS = Path(__file__).parents[2] / "dashboards"
"""The dashboards and rules of a checkout, beside the package."""

_LOOKS, _LOOK = 20, 0.05
"""How often a folder that seems to be held is looked at again, and seconds between two looks."""

_READ = (".json", ".yml", ".yaml")
"""What Prometheus and Grafana read; the rest of the folder makes it."""


@dataclass(frozen=True)
class Layout:
    """Where things are in the hub's folder.

    ``settings`` is written anew by every start, from the dashboards and ``nightshift.toml``. The
    data of a service is all that has to be kept.
    """

    folder: Path

    @property
    def prometheus(self) -> Path:
        """The data of Prometheus."""
        return self.folder / "prometheus"

    @property
    def grafana(self) -> Path:
        """The data of Grafana: users, and what they made by hand."""
        return self.folder / "grafana"

    @property
    def settings(self) -> Path:
        """What both are told."""
        return self.folder / "settings"

    @property
    def configuration(self) -> Path:
        """The configuration of Prometheus."""
        return self.settings / "prometheus.yml"

    @property
    def rules(self) -> Path:
        """The rules of Prometheus."""
        return self.settings / "rules"

    @property
    def provisioning(self) -> Path:
        """What tells Grafana of its data source and dashboards."""
        return self.settings / "provisioning"

    @property
    def boards(self) -> Path:
        """The dashboards."""
        return self.settings / "dashboards"

    @property
    def password(self) -> Path:
        """The password of Grafana's administrator."""
        return self.grafana / "admin-password"

    @property
    def state(self) -> Path:
        """What runs, while it does."""
        return self.folder / "hub.json"

    def log(self, name: str) -> Path:
        """Return where a service says what it says."""
        return self.folder / f"{name.lower()}.log"


def prepare(layout: Layout, account: Account, dashboards: Path = DASHBOARDS) -> None:
    """Make the folder ready for services that run as ``account``.

    Raises UserError for a folder of another owner, one out of the account's reach, and one that
    cannot be written.
    """
    try:
        layout.folder.mkdir(parents=True, exist_ok=True)
        account.check_reach(
            layout.folder, "set hub.folder in nightshift.toml to a folder that everyone can enter"
        )
        for data in (layout.prometheus, layout.grafana):
            _check_owner(data, account)
            account.own(data)
        if not layout.password.exists():
            _write_password(layout.password, account)
        shutil.rmtree(layout.settings, ignore_errors=True)
        for source, to in (
            ("prometheus", layout.rules),
            ("grafana/provisioning", layout.provisioning),
            ("json", layout.boards),
        ):
            _copy(dashboards / source, to)
    except OSError as error:
        raise _unwritable(error) from error


@contextmanager
def held(layout: Layout) -> Iterator[None]:
    """Hold the folder for one hub. Raises UserError where another has it, or none can."""
    try:
        layout.folder.mkdir(parents=True, exist_ok=True)
        lock = (layout.folder / ".lock").open("a+")
    except OSError as error:
        raise _unwritable(error) from error
    with lock as file:
        try:
            _lock(file)
        except BlockingIOError as error:
            file.seek(0)
            raise UserError(
                f"another hub (process {file.read().strip()}) has {layout.folder}; stop that one, "
                "or set hub.folder in nightshift.toml to another folder"
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _lock(file: IO[str]) -> None:
    """Take the lock. Raises BlockingIOError where another keeps it: who only looks does not."""
    for _ in range(_LOOKS):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(_LOOK)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_held(layout: Layout) -> bool:
    """Say whether a hub has the folder."""
    try:
        with (layout.folder / ".lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _unwritable(error: OSError) -> UserError:
    return UserError(
        f"{error.filename} cannot be written ({error.strerror}); run the hub as its owner, or set "
        "hub.folder in nightshift.toml to another folder"
    )


def _check_owner(data: Path, account: Account) -> None:
    if not data.exists() or data.stat().st_uid == account.uid:
        return
    try:
        owner = pwd.getpwuid(data.stat().st_uid).pw_name
    except KeyError:
        owner = str(data.stat().st_uid)
    raise UserError(
        f"{data} belongs to {owner} and the hub's services run as {account.name}; run it as "
        f"{owner}, or `chown -R {account.name} {data}`"
    )


def _write_password(path: Path, account: Account) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:  # noqa: PTH123
        file.write(secrets.token_urlsafe(18))
    account.give(path.parent)


def _copy(source: Path, to: Path) -> None:
    """Copy what the services read: they may not be able to enter the checkout."""
    to.mkdir(parents=True)
    for path in sorted(source.rglob("*")):
        if path.suffix in _READ and path.is_file():
            copied = to / path.relative_to(source)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copied)
