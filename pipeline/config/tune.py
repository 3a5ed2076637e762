"""The settings for tuning: which kernel settings a night changes on the machine."""

from __future__ import annotations

from pydantic import Field

from pipeline.machine.tune.settings import TuneSettings


class TuneSection(TuneSettings):
    """The table ``[tune]``: wanted kernel settings, and whether each night applies them."""

    nightly: bool = Field(
        default=False, description="tune this machine when a night begins and restore it at the end"
    )

    @property
    def settings(self) -> TuneSettings:
        """The wanted kernel settings, without the setting ``nightly``."""
        return TuneSettings(**self.model_dump(include=set(TuneSettings.model_fields)))
