"""The base of all tables of the file, and common types."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pipeline.config.config_errors import NAME, VERSION


class Section(BaseModel):
    """A table of the file: immutable; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Name = Annotated[str, Field(pattern=NAME)]
"""Names are parts of file names, so only letters, digits, dots, dashes and underscores fit."""


Version = Annotated[str, Field(pattern=VERSION)]
"""A release or the beginning of one: 17, 17.4."""
