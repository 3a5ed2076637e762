"""What a machine has to be like before it measures."""

from __future__ import annotations

from pydantic import Field

from pipeline.config.base import Section
from pipeline.machine.preflight import Policy
from pipeline.units import Duration


class PreflightSection(Section):
    """What is done about a machine that is not as it should be, before it measures."""

    refuse: tuple[str, ...] = Field(
        default=(),
        description='checks of `nightshift doctor` that end a night where they are bad; "all" is '
        "every check that is named nowhere",
    )
    warn: tuple[str, ...] = Field(
        default=(), description="checks that are told, and kept with what is measured"
    )
    ignore: tuple[str, ...] = Field(default=(), description="checks that are not made")
    wait: Duration = Field(
        default=10.0,
        description="how long a night waits at most for others to end what they compute",
        json_schema_extra={"default": "10s"},
    )

    def policy(self, *, quick: bool = False) -> Policy:
        """Return them as what the machine is looked at by; who is in a hurry does not wait."""
        wait = 0.0 if quick else self.wait
        return Policy(refuse=self.refuse, warn=self.warn, ignore=self.ignore, wait=wait)
