"""How the machine is tuned, and when."""

from __future__ import annotations

from pydantic import Field

from pipeline.machine.tune.settings import Settings


class TuneSection(Settings):
    """What the machine is to be like."""

    nightly: bool = Field(
        default=False, description="tune it when a night begins and restore it at its end"
    )

    @property
    def settings(self) -> Settings:
        """What is asked of the machine."""
        return Settings(**self.model_dump(include=set(Settings.model_fields)))
