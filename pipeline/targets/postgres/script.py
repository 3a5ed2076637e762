"""Shell scripts that install Postgres and execute SQL with it, without nightshift.

The server runs in single-user mode: one process that reads its statements from standard input, so
neither a client nor a port is needed.
"""

from __future__ import annotations

import re

from pipeline.model import ServerConfig, Supply
from pipeline.targets.base.script import ScriptLines, SqlProgram, quoted
from pipeline.text.errors import UserError

_PREPARED = ("SELECT", "INSERT", "UPDATE", "DELETE")
"""The first words of statements that PREPARE takes."""

_SERVER = '"$1/bin/postgres" --single -D "$1.data" postgres'


class PostgresScript:
    """How a shell script installs a prebuilt Postgres and executes SQL with it."""

    dialect = "pgsql"

    def settings(self, config: ServerConfig) -> tuple[str, ...]:
        """Return the lines of a configuration."""
        lines = (line.partition("#")[0].strip() for line in config.text.splitlines())
        return tuple(line for line in lines if line)

    def maintenance(self, table: str) -> tuple[str, ...]:
        """Return the statement that vacuums and analyses a table."""
        return (f"VACUUM ANALYZE {table}",)

    def lines(
        self, supply: Supply, address: str, program: SqlProgram, *, as_measured: bool
    ) -> ScriptLines:
        """Return the lines of a script for prebuilt releases in jar files."""
        del as_measured  # Prebuilt releases are not compiled.
        if supply.kind != "maven":
            raise UserError(
                f"a script cannot install Postgres from {supply.name} within a minute; it can from "
                "maven"
            )
        # The same cluster as nightshift's: with another encoding, functions on text cost less.
        create = (
            '"$1/bin/initdb" -N -A trust -E UTF8 --locale=C -U postgres -D "$1.data" >/dev/null'
        )
        settings = " ".join(
            quoted(each) for each in ("fsync = off", "log_checkpoints = off", *program.settings)
        )
        configure = f"printf '%s\\n' {settings} >>\"$1.data/postgresql.conf\""
        load = " ".join(quoted(statement) for statement in program.load)
        return ScriptLines(
            get=(
                f'get() {{ mkdir "$1"; curl -fsSLo "$1.jar" "{address}"; '
                'unzip -qp "$1.jar" \'*.txz\' | tar -xJC "$1"; }',
            ),
            work=(
                f"load() {{ {create}; {configure}",
                f"  printf '%s\\n' {load} | {_SERVER} >/dev/null; }}",
                f"run() {{ {{ {_events(program)}; }} | $v {_SERVER}; }}",
            ),
            needs=("curl", "ca-certificates", "unzip", "xz-utils"),
            refuses_root=True,
        )


def _events(program: SqlProgram) -> str:
    """Return the commands that print the statements of the events, as prepared ones."""
    prepare, execute = [], []
    for number, statement in enumerate(program.event, start=1):
        if not statement.startswith(_PREPARED):
            execute.append(f'print "{statement}"')
            continue
        keyed = re.search(r"\$1\b", statement) is not None
        prepare.append(quoted(f"PREPARE s{number}{'(int)' if keyed else ''} AS {statement}"))
        execute.append(f'print "EXECUTE s{number}' + ('(" k ")"' if keyed else '"'))
    loop = f"k = ++i * 7919 % {program.rows} + 1; {'; '.join(execute)}"
    printed = f"printf '%s\\n' {' '.join(prepare)}; " if prepare else ""
    return f"{printed}awk -v n=\"$2\" 'BEGIN {{ while (i < n) {{ {loop} }} }}'"
