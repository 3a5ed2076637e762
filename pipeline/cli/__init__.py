"""The command line: one verb in each file; verbs call the library, never the reverse."""

from __future__ import annotations

import errno
import os
import signal
import sys
from types import FrameType

import typer

from pipeline.cli.app import app
from pipeline.cli.console import warn
from pipeline.errors import UserError

INTERRUPTED = 130
"""Exit code after ctrl-C or a termination signal, as shells give it."""


def main() -> None:
    """Run the command line. A user's error is one line and exit code 2."""
    signal.signal(signal.SIGTERM, _interrupt)
    # The account of the servers must be able to enter and read what we install.
    os.umask(0o022)
    try:
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
