"""What experiments decided: the outcome files beside their bundles."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from pipeline.errors import UserError
from pipeline.journal import EventKind

FOLDER = "experiments"
"""Where experiments are, in the results folder."""

FILE = "outcome.json"

_SET_ASIDE = re.compile(r"\.\d+$")
"""What the name of an experiment ends with that was set aside: see record.aside."""


class Outcome(BaseModel):
    """How an experiment about a regression ended. What else the file holds is passed over.

    ``at`` is when it ended: one that goes on, or is measured anew, has another outcome.
    ``environment`` is a rejection, too: the machine changed, not the DBMS. ``minutes`` were spent
    on ``blocks`` of runs.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    fingerprint: str
    at: AwareDatetime
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
    """Return the outcomes of all experiments about regressions, by the experiments' names.

    Those about something else, as bisections, are passed over, and so are experiments that were set
    aside to be measured anew. Raises UserError for a file that cannot be understood.
    """
    found = {}
    for path in sorted((results / FOLDER).glob(f"*/{FILE}")):
        name = path.parent.name
        if _SET_ASIDE.search(name):
            continue
        try:
            tree = json.loads(path.read_bytes())
            if not isinstance(tree, dict) or "fingerprint" in tree:
                found[name] = Outcome.model_validate(tree)
        except (ValidationError, ValueError, TypeError) as error:
            raise UserError(
                f"{path} is damaged; remove it and run `nightshift confirm` again"
            ) from error
    return found
