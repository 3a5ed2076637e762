"""Shell scripts that compile SQLite and execute SQL with it, without nightshift."""

from __future__ import annotations

from pathlib import Path

from pipeline.model import ServerConfig, Supply
from pipeline.targets.base.script import ScriptLines, SqlProgram, quoted
from pipeline.targets.sqlite.compilation import OPTIONS
from pipeline.text.errors import UserError

_FASTEST = ("-O0", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION")
"""Flags that compile in a few seconds. The instructions differ, a change of the code stays."""

_AS_MEASURED = ("-O2", *OPTIONS)

_CLIENT = (
    "int main(int c, char **v) { int i, j, n = atoi(v[2]), rows = atoi(v[3]); "
    "sqlite3 *d; sqlite3_stmt *s[99];",
    "if (sqlite3_open(v[1], &d) || sqlite3_exec(d, v[4], 0, 0, 0)) goto bad; "
    "for (j = 5; j < c; j++) if (sqlite3_prepare_v2(d, v[j], -1, s + j, 0)) goto bad;",
    "for (i = 0; i < n; i++) for (j = 5; j < c; j++) { "
    "sqlite3_bind_int(s[j], 1, i * 7919u % rows + 1); while (sqlite3_step(s[j]) == SQLITE_ROW); "
    "if (sqlite3_reset(s[j])) goto bad; }",
    "return 0; bad: fprintf(stderr, sqlite3_errmsg(d)); return 1; }",
)
"""A program DATABASE EVENTS ROWS SETUP STATEMENT...: executes the texts of SETUP once, then the
prepared statements of each event with the key of a row."""

_LOCAL = "--upload-pack 'git -c safe.directory=* upload-pack' "
"""Makes git read a folder of this machine that belongs to another user."""


class SqliteScript:
    """How a shell script compiles SQLite and executes SQL with it."""

    dialect = "sqlite"

    def settings(self, config: ServerConfig) -> tuple[str, ...]:
        """Return the statements of a configuration."""
        lines = (line.strip() for line in config.text.splitlines())
        return tuple(line.rstrip(";") for line in lines if line and not line.startswith("--"))

    def maintenance(self, table: str) -> tuple[str, ...]:
        """Return the statements that analyse a table and empty the write-ahead log."""
        return (f"ANALYZE {table}", "PRAGMA wal_checkpoint(FULL)")

    def lines(
        self, supply: Supply, address: str, program: SqlProgram, *, as_measured: bool
    ) -> ScriptLines:
        """Return the lines of a script for revisions of a crate or a repository."""
        setup = "; ".join(program.settings)
        load = "; ".join((*program.settings, "BEGIN", *_in_transaction(program.load)))
        tail = [statement for statement in program.load if not _transactional(statement)]
        load = "; ".join((load, "COMMIT", *tail))
        event = " ".join(quoted(statement) for statement in program.event)
        client = "\\\n  ".join(f"'{line}'" for line in _CLIENT)
        flags = " ".join(_AS_MEASURED if as_measured else _FASTEST)
        fetch, folder, needs = _fetch(supply, address)
        compiled = f'cc -w {flags} -I"{folder}" run.c -o "$1/run" -lpthread -lm'
        run = f'"./$1/run" "$1.db" "$2" {program.rows}'
        return ScriptLines(
            get=(
                f"printf '%s\\n' '#include \"sqlite3.c\"' {client} >run.c",
                f"get() {{ {fetch}; {compiled}; }}",
            ),
            work=(
                f'load() {{ "./$1/run" "$1.db" 0 1 {quoted(load)}; }}',
                f"run() {{ $v {run} {quoted(setup)} {event}; }}",
            ),
            needs=(*needs, "gcc", "libc6-dev"),
        )


def _transactional(statement: str) -> bool:
    return not statement.startswith("PRAGMA")


def _in_transaction(load: tuple[str, ...]) -> list[str]:
    return [statement for statement in load if _transactional(statement)]


def _fetch(supply: Supply, address: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the commands that bring source code, its folder, and the packages that they need."""
    if supply.kind == "crate":
        unpack = f'mkdir "$1"; curl -fsSL "{address}" | tar -xzC "$1" --strip-components=1'
        return unpack, "$1/sqlite3", ("curl", "ca-certificates")
    if supply.kind in ("git", "tags"):
        local = _LOCAL if Path(address).is_dir() else ""
        fetch = f'git init -q "$1"; git -C "$1" fetch -q --depth 1 {local}{quoted(address)} "$2"'
        checkout = 'git -C "$1" checkout -q FETCH_HEAD'
        made = '[ -e "$1/sqlite3.c" ] || (cd "$1"; ./configure; make sqlite3.c) >"$1.log" 2>&1'
        return f"{fetch}; {checkout}; {made}", "$1", ("git", "ca-certificates", "make", "tcl")
    raise UserError(
        f"a script cannot install SQLite from {supply.name}; it can from a crate or a repository"
    )
