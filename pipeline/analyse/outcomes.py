"""What experiments decided: the outcome files beside their bundles."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.errors import UserError
from pipeline.journal import EventKind

FOLDER = "experiments"
"""Where experiments are, in the results folder."""

FILE = "outcome.json"


class Outcome(BaseModel):
    """How an experiment about a regression ended. What else the file holds is passed over.

    ``environment`` is a rejection, too: the machine changed, not the DBMS. ``minutes`` were spent
    on ``blocks`` of runs.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    fingerprint: str
    verdict: Literal["confirmed", "rejected", "undecided", "environment"]
    blocks: int = Field(ge=0)
    minutes: float = Field(ge=0)

    @property
    def event(self) -> EventKind:
        """What it means for the regression."""
        if self.verdict == "environment":
            return EventKind.REJECTED
        return EventKind(self.verdict)

    @property
    def reason(self) -> str:
        """Why a rejected regression was none."""
        return {"environment": "environment", "rejected": "noise"}.get(self.verdict, "")


def read_outcomes(results: Path) -> dict[str, Outcome]:
    """Return the outcomes of all experiments that have ended, by the experiments' names.

    Raises UserError for a file that cannot be understood.
    """
    found = {}
    for path in sorted((results / FOLDER).glob(f"*/{FILE}")):
        try:
            found[path.parent.name] = Outcome.model_validate_json(path.read_bytes())
        except ValidationError as error:
            raise UserError(
                f"{path} is damaged; remove it and run `nightshift confirm` again"
            ) from error
    return found
