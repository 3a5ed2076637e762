"""The command line: one verb in each file; verbs call the library, never the reverse."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import FrameType

import typer

from pipeline.cli.app import app
from pipeline.cli.context import warn
from pipeline.errors import UserError

VERBS = (
    "nightly",
    "discover",
    "plan",
    "build",
    "run",
    "ingest",
    "detect",
    "confirm",
    "bisect",
    "pursue",
    "explain",
    "report",
    "site",
    "notify",
    "publish",
    "backfill",
    "pack",
    "collect",
    "backup",
    "restore",
    "nights",
    "environment",
    "regressions",
    "ack",
    "wontfix",
    "reopen",
    "mute",
    "unmute",
    "ledger",
    "replay",
    "table",
    "compare",
    "pull-request",
    "rebuild",
    "hub",
    "fleet",
    "tune",
    "lease",
    "import",
    "doctor",
    "targets",
    "schema",
)
"""The verbs in the order of the help. Importing the module of one adds it to the application."""

_MODULES = {"import": "import_", "pull-request": "pull_request"}
"""Those of verbs whose names are no names in Python."""

INTERRUPTED = 130
"""Exit code after ctrl-C or a termination signal, as shells give it."""


def main() -> None:
    """Run the command line. A user's error is one line and exit code 2."""
    signal.signal(signal.SIGTERM, _interrupt)
    # The account of the servers must be able to enter and read what we install.
    os.umask(0o022)
    try:
        load(sys.argv[1:2])
        code = app(prog_name="nightshift", standalone_mode=False)
    except UserError as error:
        warn(str(error))
        sys.exit(2)
    except typer.TyperException as error:
        warn(_usage(error))
        sys.exit(2)
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        warn(
            f"the disk is full{f' at {error.filename}' if error.filename else ''}; free some "
            "space and run the same command again, nothing already measured is lost"
        )
        sys.exit(2)
    if code == INTERRUPTED:  # As typer itself makes it of ctrl-C.
        warn("stopped; what was measured is kept, run the same command again to go on")
    sys.exit(code if isinstance(code, int) else 0)


def load(asked: Sequence[str] = ()) -> typer.Typer:
    """Return the application with the verbs that are asked for; with all, if one is none of them.

    Only those are imported: all take some seconds.
    """
    for verb in asked if asked and set(asked) <= set(VERBS) else VERBS:
        import_module(f"pipeline.cli.{_MODULES.get(verb, verb)}")
    places = {f"pipeline.cli.{_MODULES.get(verb, verb)}": at for at, verb in enumerate(VERBS)}
    app.registered_commands.sort(
        key=lambda verb: places[verb.callback.__module__] if verb.callback is not None else -1
    )
    return app


def _usage(error: typer.TyperException) -> str:
    """Say what is wrong with a command line, in one line."""
    context = getattr(error, "ctx", None)
    path = "nightshift" if context is None else context.command_path
    said = error.format_message()
    stop = "" if said.endswith((".", "?", ")")) else "."
    return f"{said}{stop} `{path} --help` shows what there is."


def _interrupt(number: int, _frame: FrameType | None) -> None:
    """End on a termination signal as on ctrl-C: servers are stopped, folders removed.

    The number tells it from ctrl-C, which the terminal sends to what we have started, too.
    """
    raise KeyboardInterrupt(number)
