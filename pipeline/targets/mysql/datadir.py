"""The empty MySQL data directory that every run of a build starts from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pipeline.machine.account import Account
from pipeline.model import Build
from pipeline.targets.base.mysql_log import first_error
from pipeline.targets.base.programs import run_program
from pipeline.targets.base.templates import USER
from pipeline.targets.mysql import install
from pipeline.text.errors import UserError

INITIALIZES_SINCE = (5, 7)
"""The first major whose server creates its own system tables."""

# The finished files are copied, so the durability of these writes does not matter.
_HASTY = ("--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0")

_VERSION = re.compile(r"\bVer (\d+)\.(\d+)\.")


def fill(build: Build, account: Account, folder: Path, options: Sequence[str] = ()) -> None:
    """Initialise ``folder`` as an empty data directory of MySQL.

    Only one user can log in. It has no password and connects over the socket, which lies in a
    folder that nobody else may enter. ``options`` are InnoDB's options for a new database.
    """
    if _numbers(build) >= INITIALIZES_SINCE:
        script = folder.with_name("init.sql")
        script.write_text("\n".join([*_users(), "DROP USER root@localhost;", ""]))
        script.chmod(0o644)  # The server's account must read the file, whatever our umask is.
        _run(build, account, folder, [*options, "--initialize-insecure", f"--init-file={script}"])
        return
    account.own(folder)
    # The statements of the script mysql_install_db, without the users that it adds: some have no
    # password and loopback access.
    statements = ["CREATE DATABASE mysql;", "USE mysql;", _system_tables(build.home)]
    statements += ["FLUSH PRIVILEGES;", *_users(), ""]
    _run(build, account, folder, [*options, "--bootstrap"], "\n".join(statements))


def server_command(build: Build, data: Path, config: Path | None = None) -> list[str]:
    """Return the command of a MySQL server that ignores the machine's configuration."""
    share = install.shared(build.home)
    return [
        *install.command(build.home),
        f"--defaults-file={config}" if config else "--no-defaults",
        f"--basedir={install.prefix(build.home)}",
        f"--datadir={data}",
        f"--lc-messages-dir={share}",
        f"--character-sets-dir={share}/charsets",
        # The only folder where clients may read and write files; packagers set one of their own.
        f"--secure-file-priv={data.parent}",
        # It would listen on a second port, on every address.
        "--loose-mysqlx=OFF",
    ]


def _run(
    build: Build, account: Account, folder: Path, how: Sequence[str], statements: str = ""
) -> None:
    run_program(
        account,
        [*server_command(build, folder), *how, *_HASTY],
        folder.parent,
        first_error,
        stdin=statements,
        environment=install.environment(build.home),
        program=install.server_program(build.home),
    )


def _users() -> list[str]:
    """Return the statements that create the database user, one on each line.

    The user authenticates with the release's default plugin. With an empty password even
    caching_sha2_password needs no encryption, and every client library supports it.
    """
    return [
        f"CREATE USER {USER}@localhost;",
        f"GRANT ALL ON *.* TO {USER}@localhost WITH GRANT OPTION;",
    ]


def _system_tables(home: Path) -> str:
    script = install.shared(home) / "mysql_system_tables.sql"
    try:
        return script.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError(
            f"the installation {home} is incomplete: it has no script for the system tables; "
            "delete this folder and run again to reinstall it"
        ) from error


def _numbers(build: Build) -> tuple[int, ...]:
    """Return the first two numbers of a MySQL server's version, also for commits."""
    found = _VERSION.search(build.provenance.reported_version)
    if found is None:
        raise UserError(
            f"the version of the build in {build.home} is unknown; delete the folder and run again"
        )
    return tuple(map(int, found.groups()))
