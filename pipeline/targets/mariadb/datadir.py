"""The empty data directory that every repetition of a build starts from."""

from __future__ import annotations

from pathlib import Path

from pipeline.machine.account import Account
from pipeline.model import Build
from pipeline.targets.base.mysql_log import complaint
from pipeline.targets.base.programs import run_program
from pipeline.targets.base.templates import USER
from pipeline.targets.mariadb.install import environment, server_program, system_tables

_ENOUGH_FOR_STATEMENTS = "8M"  # of memory: nothing but small tables is made


def fill(build: Build, account: Account, folder: Path) -> None:
    """Make ``folder`` a data directory.

    The release's own script for this wants more programs than the archive holds; what it
    does is to give these statements to a server without network that ends after the last.
    """
    account.own(folder)
    command = [*server_command(build, folder), "--bootstrap"]
    # Once they are made the files are copied: how safely they were written is no matter.
    command += ["--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0"]
    run_program(
        account,
        command,
        folder.parent,
        complaint,
        stdin=statements(build.home),
        environment=environment(build.home),
    )


def server_command(build: Build, data: Path, config: Path | None = None) -> list[str]:
    """Return the command of the server; no configuration of the machine has part in it."""
    return [
        str(server_program(build.home)),
        f"--defaults-file={config}" if config else "--no-defaults",
        f"--basedir={build.home}",
        f"--datadir={data}",
        f"--lc-messages-dir={build.home}/share",
    ]


def statements(home: Path) -> str:
    """Return the statements that make system tables and user.

    The script that would add users (some releases' without password, open to loopback) is
    left out. There is one user, and it comes by the socket, which lies in a folder that
    nobody else may enter.
    """
    return "\n".join(
        [
            "CREATE DATABASE mysql;",
            "USE mysql;",
            system_tables(home, "system"),
            system_tables(home, "performance"),
            "FLUSH PRIVILEGES;",
            f"CREATE USER {USER}@localhost;",
            f"GRANT ALL ON *.* TO {USER}@localhost WITH GRANT OPTION;",
            "",
        ]
    )
