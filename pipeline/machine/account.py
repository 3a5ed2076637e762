"""The unprivileged account that servers and load generators run as.

Postgres and others refuse to run as root. Started by root, nightshift runs them as an unprivileged
system user that it creates once. Started by another user, it runs them as that user.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pipeline.model import Frozen
from pipeline.text.errors import UserError, first_line

SYSTEM_USER = "nightshift"
"""Name of the unprivileged user that root creates for the servers."""


class Account(Frozen):
    """An unprivileged user: name, ids, and whether nightshift must switch to it."""

    name: str
    uid: int
    gid: int
    switch: bool

    def command(
        self,
        *argv: str,
        processors: tuple[int, ...] = (),
        death_signal: str = "QUIT",
        limit: Sequence[str] = (),
    ) -> list[str]:
        """Return a command that runs as this account, and ends when nightshift ends.

        The command runs on the given processors. It receives ``death_signal`` when nightshift ends:
        by default SIGQUIT, at which a DBMS shuts down at once and cleans up. ``limit`` is a command
        prefix that limits memory.
        """
        identity = ["--reuid", str(self.uid), "--regid", str(self.gid), "--init-groups"]
        switch = identity if self.switch else []
        return [*limit, *contained(argv, processors, death_signal, identity=switch)]

    def own(self, folder: Path) -> None:
        """Make ``folder`` private to this account; create it with its parents."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.switch:
            os.chown(folder, self.uid, self.gid)
        folder.chmod(0o700)

    def give(self, folder: Path) -> None:
        """Make this account the owner of ``folder`` and everything in it."""
        if self.switch:
            for place, _, names in os.walk(folder):
                for path in (Path(place), *(Path(place) / name for name in names)):
                    os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def check_reach(
        self,
        folder: Path,
        remedy: str = "set paths.cache in nightshift.toml to a folder that everyone can enter",
    ) -> None:
        """Raise UserError, which names the closed folder, if this account cannot enter a folder."""
        if not self.switch:
            return
        for parent in reversed([folder, *folder.parents]):
            if parent.exists() and not parent.stat().st_mode & 0o001:
                raise UserError(
                    f"servers run as the user {self.name}, who cannot enter the folder "
                    f"{parent}; {remedy}"
                )


def contained(
    argv: Sequence[str],
    processors: Sequence[int] = (),
    death_signal: str = "KILL",
    identity: Sequence[str] = (),
) -> list[str]:
    """Return a command that runs on given processors, and ends when nightshift ends.

    The parent-death signal ensures that a killed night leaves no processes behind.
    """
    pinned = ["taskset", "-c", ",".join(map(str, processors))] if processors else []
    return ["setpriv", "--pdeathsig", death_signal, *identity, *pinned, *argv]


def user_name(uid: int) -> str:
    """Return the name of a user, or the id of a user without a name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def find_account() -> Account:
    """Return the account that servers run as; for root, create the account when needed."""
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
            f"servers cannot run as root, and the user {SYSTEM_USER} cannot be created because "
            "useradd is missing; create this user, or run nightshift as another user than root"
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
            f"the user {SYSTEM_USER} could not be created "
            f"({first_line(Exception(error.stderr))}); create it by hand, or run nightshift as "
            "another user than root"
        ) from error
    return pwd.getpwnam(SYSTEM_USER)
