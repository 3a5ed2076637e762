"""The command line: one verb in each file; verbs call the library, never the reverse."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import signal
import sys
from types import FrameType

import typer

from pipeline.cli.app import app
from pipeline.cli.console import fail, show_events
from pipeline.text.errors import UserError

_OF_THE_FILE_SYSTEM = {
    errno.EACCES,
    errno.EEXIST,
    errno.EIO,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
    errno.ESTALE,
}
"""Error numbers of failures that concern a path: no permission, a file of the wrong kind, a name
that is too long."""

COLLECTED_AFTER = 100_000
"""Number of new objects after which the garbage collector searches for reference cycles. A long
line creates millions of objects without cycles. With a search every 700 objects, the searches take
a sixth of a verb's time."""

INTERRUPTED = 130
"""Exit code after ctrl-C or a termination signal, as shells define it."""


def main() -> None:
    """Run the command line. Print an error that the user can fix as one line, and exit with 2."""
    signal.signal(signal.SIGTERM, _interrupt)
    # The account of the servers must be able to enter and read the files that builds install.
    os.umask(0o022)
    gc.set_threshold(COLLECTED_AFTER, 50, 100)
    # Python would look for cycles among all modules at its end, for a fifth of a short verb's time.
    atexit.register(gc.freeze)
    show_events()
    try:
        code = app(prog_name="nightshift", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except Exception as error:
        mistake = _mistake(error)
        if mistake is None:
            raise
        fail("; ".join([mistake, *getattr(error, "__notes__", ())]))
        sys.exit(2)
    if code == INTERRUPTED:  # typer exits with the same code after ctrl-C.
        fail("interrupted; all results are kept: run the same command again to continue")
    sys.exit(code if isinstance(code, int) else 0)


def _mistake(error: Exception) -> str | None:
    """Return the one-line message of an error that the user can fix; None for a bug."""
    if isinstance(error, typer.TyperException):
        return _usage(error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"the disk is full{(f' at {error.filename}' if error.filename else '')}; free some "
            "space and run the same command again: all results are kept"
        )
    if isinstance(error, OSError) and error.filename and _is_of_the_file_system(error):
        return (
            f"{error.filename} cannot be used ({error.strerror}); check what it is and who owns "
            "it, then run the same command again"
        )
    return str(error) if isinstance(error, UserError) else None


def _is_of_the_file_system(error: OSError) -> bool:
    """Return whether an error is about a path that is missing or of the wrong kind."""
    dangles = error.errno == errno.ENOENT and os.path.islink(error.filename)  # noqa: PTH114 - bytes
    return dangles or error.errno in _OF_THE_FILE_SYSTEM


def _usage(error: typer.TyperException) -> str:
    """Describe in one line what is wrong with a command line."""
    context = getattr(error, "ctx", None)
    path = "nightshift" if context is None else context.command_path
    message = error.format_message()
    stop = "" if message.endswith((".", "?", ")")) else "."
    return f"{message}{stop} `{path} --help` shows the options."


def _interrupt(number: int, _frame: FrameType | None) -> None:
    """On a termination signal, stop as on ctrl-C: end servers and remove their folders.

    The exception carries the signal's number. That of ctrl-C does not, because the terminal sends
    ctrl-C to child processes as well.
    """
    raise KeyboardInterrupt(number)
