"""The interface of a target that a shell script can install and measure without nightshift."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from pipeline.model import Frozen, ServerConfig, Supply


class SqlProgram(Frozen):
    """What a script executes: settings, the statements that fill a table, and those of one event.

    ``$1`` in a statement of an event is the key of a row, from 1 to ``rows``, another one for each
    event.
    """

    settings: tuple[str, ...]
    load: tuple[str, ...]
    event: tuple[str, ...]
    rows: int


class ScriptLines(Frozen):
    """The lines of a script that depend on the DBMS.

    ``get`` defines the function ``get NAME VERSION``, which installs a version in the folder NAME.
    ``work`` defines ``load NAME``, which creates and fills its database, and ``run NAME EVENTS``,
    which executes events, with the command in ``$v`` in front of the program. ``needs`` are Debian
    packages. ``refuses_root`` says that the DBMS does not run as root.
    """

    get: tuple[str, ...]
    work: tuple[str, ...]
    needs: tuple[str, ...]
    refuses_root: bool = False


class ShellScript(Protocol):
    """How a shell script installs and measures one DBMS.

    ``dialect`` is its variant of SQL: pgsql or sqlite.
    """

    dialect: str

    def settings(self, config: ServerConfig) -> tuple[str, ...]:
        """Return the settings of a configuration, one text each, without comments."""
        ...

    def maintenance(self, table: str) -> tuple[str, ...]:
        """Return the statements that do what the load of a table has deferred."""
        ...

    def lines(
        self, supply: Supply, address: str, program: SqlProgram, *, as_measured: bool
    ) -> ScriptLines:
        """Return the lines of a script for revisions of a supply.

        ``address`` is that of a version, with ``$2`` in place of its name. Source code is compiled
        in the fastest way or, ``as_measured``, as nightshift compiles it. Raises UserError for a
        supply that scripts cannot install from.
        """
        ...


@runtime_checkable
class Scripted(Protocol):
    """A target that a shell script can install and measure."""

    script: ShellScript


def quoted(text: str) -> str:
    """Return a text in double quotes, as one word of a shell, with nothing to expand."""
    for special in ("\\", '"', "$", "`"):
        text = text.replace(special, f"\\{special}")
    return f'"{text}"'
