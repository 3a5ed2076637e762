"""Where verbs print: results on standard output, progress and warnings on standard error."""

from __future__ import annotations

import logging
import sys
from enum import Enum
from typing import NoReturn

from rich.console import Console

from pipeline.use_cases.event_log import LOGGER, Redaction, fields_of

# Without emoji, which rich would make of ":100:", as in FILE:LINE messages.
out = Console(highlight=False, soft_wrap=True, emoji=False)
"""Results, on standard output."""

err = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
"""Progress and warnings, on standard error."""


def screen() -> Console:
    """Return the console that shows progress, on standard error.

    If the terminal also shows the results, one console must draw both; otherwise a table would
    overwrite the progress bar.
    """
    return out if out.is_terminal else err


class Verbosity(Enum):
    """How much is printed on standard error: errors only, also warnings, or every logged event."""

    QUIET = logging.ERROR
    USUAL = logging.WARNING
    VERBOSE = logging.INFO


FRUITLESS = 3
"""Exit code of a verb that had something to measure, but measured no run."""


def fail_without_figure() -> NoReturn:
    """End a verb that measured nothing, with exit code ``FRUITLESS``."""
    fail("no run could be measured; the warnings above and `nightshift nights` say why")
    sys.exit(FRUITLESS)


def fail(text: str) -> None:
    """Print a one-line error on standard error."""
    err.print(f"nightshift: {text}", style="yellow", markup=False)


def warn(text: str) -> None:
    """Print a warning on standard error, as one line."""
    if not _lines.quiet:
        fail(text)


class EventLines(logging.Handler):
    """Prints each logged event of the use cases as one line on standard error."""

    def __init__(self) -> None:
        super().__init__(Verbosity.USUAL.value)
        self.addFilter(Redaction())

    @property
    def quiet(self) -> bool:
        """Whether warnings and progress are suppressed."""
        return self.level > logging.WARNING

    def emit(self, record: logging.LogRecord) -> None:
        """Print one event: a warning as text, any other event with its fields."""
        if record.levelno >= logging.WARNING:
            fail(record.getMessage())
            return
        fields = "".join(f"  {name}={value}" for name, value in fields_of(record).items())
        err.print(f"nightshift: {record.getMessage()}{fields}", markup=False)


_lines = EventLines()


def show_events(verbosity: Verbosity = Verbosity.USUAL) -> None:
    """Print the pipeline's logged events that are at least as important as ``verbosity``."""
    _lines.setLevel(verbosity.value)
    logger = logging.getLogger(LOGGER)
    logger.setLevel(logging.INFO)
    if _lines not in logger.handlers:
        logger.addHandler(_lines)


def is_quiet() -> bool:
    """Return whether only results and errors are printed (--quiet)."""
    return _lines.quiet
