"""A machine that is a night's alone, and tuned for it where that is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.cli.console import warn
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.tune import this_machine
from pipeline.machine.tune.night import tuned


@contextmanager
def reserved(context: MeasuringContext) -> Iterator[None]:
    """Have the lease of the machine for a whole night, and tune it if ``[tune] nightly`` says so.

    One that only concludes from what others measured, as a hub, is not tuned, and need not be root.
    Between its stages nobody else begins to measure, who would keep the next one from it.
    """
    section = context.config.tune
    settings = section.settings if section.nightly and context.measures else None
    with context.workspace.lease.held(), tuned(this_machine(), settings, warn):
        yield
