"""The base class of all tables of ``nightshift.toml``, and types they share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pipeline.config.config_errors import NAME, VERSION


class Section(BaseModel):
    """A table of ``nightshift.toml``: immutable; an unknown setting is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Name = Annotated[str, Field(pattern=NAME)]
"""A name in ``nightshift.toml``. Names become parts of file names, so only letters, digits, dots,
dashes and underscores are allowed."""


Version = Annotated[str, Field(pattern=VERSION)]
"""A release, a prefix of one (17, 17.4), or a commit's hash; may be empty."""
