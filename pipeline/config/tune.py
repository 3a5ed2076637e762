"""How the machine is tuned, and when."""

from __future__ import annotations

from pydantic import Field

from pipeline.machine.tune.settings import TuneSettings


class TuneSection(TuneSettings):
    """The wanted settings of the machine, and whether each night applies them."""

    nightly: bool = Field(
        default=False, description="tune this machine when a night begins and restore it at the end"
    )

    @property
    def settings(self) -> TuneSettings:
        """The settings alone."""
        return TuneSettings(**self.model_dump(include=set(TuneSettings.model_fields)))
