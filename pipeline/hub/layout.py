"""The folder of the hub's data: what is in it, who owns it, and its lock."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.files import lock
from pipeline.machine.account import Account, user_name
from pipeline.text.errors import UserError

DASHBOARDS = Path(__file__).parents[2] / "dashboards"
"""The dashboards and rules of a checkout, beside the package."""

_PATIENCE = 1.0
"""Seconds to wait for the lock: checking the lock acquires it for a moment, too."""

_READ = (".json", ".yml", ".yaml")
"""Suffixes of files that Prometheus and Grafana read; the folder's other files generate these."""


@dataclass(frozen=True)
class HubLayout:
    """The paths in the folder of the hub.

    Every start rewrites ``settings`` from the dashboards and ``nightshift.toml``. Only the
    services' data must be kept.
    """

    folder: Path

    @property
    def prometheus(self) -> Path:
        """The folder of Prometheus's data."""
        return self.folder / "prometheus"

    @property
    def grafana(self) -> Path:
        """The folder of Grafana's data: users, and changes by hand."""
        return self.folder / "grafana"

    @property
    def settings(self) -> Path:
        """The folder with the settings of Prometheus and Grafana."""
        return self.folder / "settings"

    @property
    def configuration(self) -> Path:
        """The path of Prometheus's configuration file."""
        return self.settings / "prometheus.yml"

    @property
    def rules(self) -> Path:
        """The folder of Prometheus's rules."""
        return self.settings / "rules"

    @property
    def provisioning(self) -> Path:
        """The folder from which Grafana reads its data source and dashboards."""
        return self.settings / "provisioning"

    @property
    def boards(self) -> Path:
        """The folder of the Grafana dashboards."""
        return self.settings / "dashboards"

    @property
    def password(self) -> Path:
        """The path of the file with the password of Grafana's administrator."""
        return self.grafana / "admin-password"

    @property
    def state(self) -> Path:
        """The path of the file that describes the running hub."""
        return self.folder / "hub.json"

    def log(self, name: str) -> Path:
        """Return the path of the log of Prometheus or Grafana."""
        return self.folder / f"{name.lower()}.log"


def prepare(layout: HubLayout, account: Account, dashboards: Path = DASHBOARDS) -> None:
    """Create the hub's folder with all settings, readable for ``account``.

    Raises UserError for a folder of another owner, one that the account cannot reach, and one that
    is not writable.
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
def held(layout: HubLayout) -> Iterator[None]:
    """Lock the hub's folder. Raises UserError if another hub uses it."""
    with ExitStack() as stack:
        try:
            stack.enter_context(lock.held(layout.folder / ".lock", _PATIENCE))
        except lock.LockHeldError as error:
            raise UserError(
                f"another hub ({error}) uses {layout.folder}; stop it, or set hub.folder in "
                "nightshift.toml to another folder"
            ) from error
        except OSError as error:
            raise _unwritable(error) from error
        yield


def is_held(layout: HubLayout) -> bool:
    """Whether a running hub uses the folder."""
    return lock.is_held(layout.folder / ".lock")


def _unwritable(error: OSError) -> UserError:
    return UserError(
        f"{error.filename} cannot be written ({error.strerror}); run the hub as its owner, or set "
        "hub.folder in nightshift.toml to another folder"
    )


def _check_owner(data: Path, account: Account) -> None:
    if not data.exists() or data.stat().st_uid == account.uid:
        return
    owner = user_name(data.stat().st_uid)
    raise UserError(
        f"{data} belongs to {owner}, but the hub's services run as {account.name}; run the hub "
        f"as {owner}, or run `chown -R {account.name} {data}`"
    )


def _write_password(path: Path, account: Account) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:  # noqa: PTH123
        file.write(secrets.token_urlsafe(18))
    account.give(path.parent)


def _copy(source: Path, to: Path) -> None:
    """Copy files that Prometheus and Grafana read to where their account can read them."""
    to.mkdir(parents=True)
    for path in sorted(source.rglob("*")):
        if path.suffix in _READ and path.is_file():
            copied = to / path.relative_to(source)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copied)
