"""Reserve this machine for a night, and tune it if that is configured."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.machine.tune.night import this_machine, tuned
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


@contextmanager
def reserved(context: MeasuringContext) -> Iterator[None]:
    """Hold the lease of this machine for a night, and tune the machine if ``[tune]`` says so.

    A machine that only evaluates results, such as a hub, is not tuned, and root is not needed. The
    lease spans all stages, so no other process can begin to measure between two of them.
    """
    section = context.config.tune
    settings = section.settings if section.nightly and context.measures else None
    with context.workspace.lease.held(), tuned(this_machine(), settings, _LOG.warning):
        yield
