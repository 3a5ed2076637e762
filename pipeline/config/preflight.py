"""The settings for checks of the machine before a night (preflight)."""

from __future__ import annotations

from pydantic import Field

from pipeline.config.base import Section
from pipeline.machine.preflight import Policy
from pipeline.text.units import Duration


class PreflightSection(Section):
    """The table ``[preflight]``: what happens if the machine fails a check before a night."""

    refuse: tuple[str, ...] = Field(
        default=(),
        description=(
            'checks of `nightshift doctor` whose bad finding ends a night; "all" stands for '
            "every check in no list"
        ),
    )
    warn: tuple[str, ...] = Field(
        default=(),
        description="checks whose bad finding is a warning, which is stored with the runs",
    )
    ignore: tuple[str, ...] = Field(default=(), description="checks that are skipped")
    wait: Duration = Field(
        default="10s",
        validate_default=True,
        description="maximum time that a night waits for other processes to end",
    )

    def policy(self, *, waits: bool = False) -> Policy:
        """Return the policy for failed checks; without ``waits``, its waiting time is zero."""
        wait = self.wait if waits else 0.0
        return Policy(refuse=self.refuse, warn=self.warn, ignore=self.ignore, wait=wait)
