"""The account that servers and clients run as.

Postgres and its like refuse root. Started by root, nightshift runs them as an unprivileged
system user that it makes once; started by anyone else, it runs them as that user.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pipeline.errors import UserError, first_line
from pipeline.model import Frozen

SYSTEM_USER = "nightshift"
"""Name of the unprivileged user that root makes for the servers."""


class Account(Frozen):
    """An unprivileged user: name, ids, and whether we must switch to it."""

    name: str
    uid: int
    gid: int
    switch: bool

    def command(
        self, *argv: str, processors: tuple[int, ...] = (), death_signal: str = "QUIT"
    ) -> list[str]:
        """Return ``argv`` so that it runs as this account, pinned, and stops when we die.

        A dead parent's signal is SIGQUIT, at which a DBMS shuts down at once and tidies up.
        """
        identity = ["--reuid", str(self.uid), "--regid", str(self.gid), "--init-groups"]
        return contained(argv, processors, death_signal, identity=identity if self.switch else [])

    def own(self, folder: Path) -> None:
        """Make ``folder`` private to this account, creating it with its parents."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.switch:
            os.chown(folder, self.uid, self.gid)
        folder.chmod(0o700)

    def give(self, folder: Path) -> None:
        """Make everything in ``folder``, and itself, this account's."""
        if self.switch:
            for place, _, names in os.walk(folder):
                for path in (Path(place), *(Path(place) / name for name in names)):
                    os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def check_reach(
        self,
        folder: Path,
        remedy: str = "set paths.cache in nightshift.toml to a folder that everyone can enter",
    ) -> None:
        """Refuse a folder that this account cannot enter, naming the parent that bars it."""
        if not self.switch:
            return
        for parent in reversed([folder, *folder.parents]):
            if parent.exists() and not parent.stat().st_mode & 0o001:
                raise UserError(
                    f"{parent} cannot be entered by the user {self.name} that servers run as; "
                    f"{remedy}"
                )


def contained(
    argv: Sequence[str],
    processors: Sequence[int] = (),
    death_signal: str = "KILL",
    identity: Sequence[str] = (),
) -> list[str]:
    """Return ``argv`` pinned to processors and told to end when we do.

    The parent-death signal is what keeps a killed night from leaving processes behind.
    """
    pinned = ["taskset", "-c", ",".join(map(str, processors))] if processors else []
    return ["setpriv", "--pdeathsig", death_signal, *identity, *pinned, *argv]


def find_account() -> Account:
    """Return the account to run servers as, making the system user when we are root."""
    if os.geteuid() != 0:
        me = pwd.getpwuid(os.geteuid())
        return Account(name=me.pw_name, uid=me.pw_uid, gid=me.pw_gid, switch=False)
    try:
        user = pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        user = _make_user()
    return Account(name=user.pw_name, uid=user.pw_uid, gid=user.pw_gid, switch=True)


def _make_user() -> pwd.struct_passwd:
    useradd = shutil.which("useradd", path="/usr/sbin:/usr/bin:/sbin:/bin")
    if useradd is None:
        raise UserError(
            "running as root needs an unprivileged user for the servers and useradd is missing; "
            f"make a user named {SYSTEM_USER}, or run as a user that is not root"
        )
    try:
        subprocess.run(
            [useradd, "--system", "--user-group", "--no-create-home", SYSTEM_USER],
            check=True,
            capture_output=True,
            text=True,
        )
    except subprocess.CalledProcessError as error:
        raise UserError(
            f"could not make the user {SYSTEM_USER} ({first_line(Exception(error.stderr))}); "
            "make it by hand, or run as a user that is not root"
        ) from error
    return pwd.getpwnam(SYSTEM_USER)
