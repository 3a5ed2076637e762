"""The empty data directory that every repetition of a build starts from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pipeline.errors import UserError
from pipeline.machine.account import Account
from pipeline.model import Build
from pipeline.targets.base.mysql_log import complaint
from pipeline.targets.base.programs import run_program
from pipeline.targets.base.templates import USER
from pipeline.targets.mysql import install

INITIALIZES_SINCE = (5, 7)
"""The first major whose server makes its own system tables."""

# Once they are made the files are copied: how safely they were written is no matter.
_HASTY = ("--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0")

_VERSION = re.compile(r"\bVer (\d+)\.(\d+)\.")


def fill(build: Build, account: Account, folder: Path) -> None:
    """Make ``folder`` a data directory.

    There is one user that can log in. It has no password and comes by the socket, which lies
    in a folder that nobody else may enter.
    """
    if _numbers(build) >= INITIALIZES_SINCE:
        script = folder.with_name("init.sql")
        script.write_text("\n".join([*_users(), "DROP USER root@localhost;", ""]))
        script.chmod(0o644)  # The server's account must read it, whatever our umask is.
        _run(build, account, folder, ["--initialize-insecure", f"--init-file={script}"])
        return
    account.own(folder)
    # What the script mysql_install_db does, but for the users that it adds: some without
    # password, open to loopback.
    statements = ["CREATE DATABASE mysql;", "USE mysql;", _system_tables(build.home)]
    statements += ["FLUSH PRIVILEGES;", *_users(), ""]
    _run(build, account, folder, ["--bootstrap"], "\n".join(statements))


def server_command(build: Build, data: Path, config: Path | None = None) -> list[str]:
    """Return the command of the server; no configuration of the machine has part in it."""
    share = install.shared(build.home)
    return [
        *install.command(build.home),
        f"--defaults-file={config}" if config else "--no-defaults",
        f"--basedir={install.prefix(build.home)}",
        f"--datadir={data}",
        f"--lc-messages-dir={share}",
        f"--character-sets-dir={share}/charsets",
        # Files are read and written for clients nowhere else; packagers set a folder of theirs.
        f"--secure-file-priv={data.parent}",
        # It would listen on another port, for every address.
        "--loose-mysqlx=OFF",
    ]


def _run(
    build: Build, account: Account, folder: Path, how: Sequence[str], statements: str = ""
) -> None:
    run_program(
        account,
        [*server_command(build, folder), *how, *_HASTY],
        folder.parent,
        complaint,
        stdin=statements,
        environment=install.environment(build.home),
        program=install.server_program(build.home),
    )


def _users() -> list[str]:
    """Return the statements, each in a line, that make the user.

    It logs in by whatever the release has for that. With an empty password even
    caching_sha2_password asks for no encryption, and every client library knows it.
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
            f"{home} has no script for the system tables; delete it and run again"
        ) from error


def _numbers(build: Build) -> tuple[int, ...]:
    """Return the first two numbers of what the server calls itself; a commit has no other."""
    found = _VERSION.search(build.provenance.reported_version)
    if found is None:
        raise UserError(f"{build.home} does not tell its version; delete it and run again")
    return tuple(map(int, found.groups()))
