"""What every table of the file is made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pipeline.mistakes import NAME, VERSION


class Section(BaseModel):
    """A table of the file: immutable, and every unknown key is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Name = Annotated[str, Field(pattern=NAME)]
"""Names go into file names, so they are letters, digits, dots, dashes and underscores."""


Version = Annotated[str, Field(pattern=VERSION)]
"""A release or the beginning of one: 17, 17.4."""
