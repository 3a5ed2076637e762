"""The command line: one verb in each file; verbs call the library, never the reverse."""

from __future__ import annotations

import errno
import signal
import sys
from types import FrameType

import click

from pipeline.cli import (
    build,
    detect,
    discover,
    import_,
    ingest,
    nightly,
    notify,
    plan,
    rebuild,
    report,
    run,
    schema,
    table,
)
from pipeline.cli.app import app
from pipeline.cli.context import warn
from pipeline.errors import UserError

VERBS = (
    nightly,
    discover,
    plan,
    build,
    run,
    ingest,
    detect,
    report,
    notify,
    table,
    rebuild,
    import_,
    schema,
)
"""The modules of all verbs; importing one adds it to the application."""

INTERRUPTED = 130
"""Exit code after ctrl-C or a termination signal, as shells give it."""


def main() -> None:
    """Run the command line. A user's error is one line and exit code 2."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = app(standalone_mode=False)
    except UserError as error:
        warn(str(error))
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        warn("stopped; what was measured is kept, run the same command again to go on")
        sys.exit(INTERRUPTED)
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
    sys.exit(code if isinstance(code, int) else 0)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    """End on a termination signal as on ctrl-C: servers are stopped, folders removed."""
    raise KeyboardInterrupt
