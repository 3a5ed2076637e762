"""The empty MariaDB data directory that every run of a build starts from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.machine.account import Account
from pipeline.model import Build
from pipeline.targets.base.mysql_log import first_error
from pipeline.targets.base.programs import run_program
from pipeline.targets.base.templates import USER
from pipeline.targets.mariadb.install import environment, server_program, system_tables


def fill(build: Build, account: Account, folder: Path, options: Sequence[str] = ()) -> None:
    """Initialise ``folder`` as an empty data directory of MariaDB.

    As the release's installation script does, this function passes :func:`statements` to a server
    without network, which exits after the last one. The script itself needs programs that the
    archive does not have. ``options`` are InnoDB's options for a new database.
    """
    account.own(folder)
    command = [*server_command(build, folder), *options, "--bootstrap"]
    # The finished files are copied, so the durability of these writes does not matter.
    command += ["--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0"]
    run_program(
        account,
        command,
        folder.parent,
        first_error,
        stdin=statements(build.home),
        environment=environment(build.home),
    )


def server_command(build: Build, data: Path, config: Path | None = None) -> list[str]:
    """Return the command of a MariaDB server that ignores the machine's configuration."""
    return [
        str(server_program(build.home)),
        f"--defaults-file={config}" if config else "--no-defaults",
        f"--basedir={build.home}",
        f"--datadir={data}",
        f"--lc-messages-dir={build.home}/share",
    ]


def statements(home: Path) -> str:
    """Return the statements that create MariaDB's system tables and the database user.

    MariaDB's script that adds users is left out: in some releases these users have no password and
    may connect over loopback. The only user connects over the socket, which lies in a folder that
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
