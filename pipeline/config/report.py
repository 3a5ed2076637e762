"""The settings for the colours of tables."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from pipeline.config.base import Section


class ColourLook(NamedTuple):
    """The two forms of a colour: its name on a terminal, its background in HTML."""

    terminal: str
    paper: str


Colour = Literal["red", "yellow", "green", "blue", "cyan", "magenta", "grey"]
"""The colours of tables."""


COLOURS: dict[Colour, ColourLook] = {
    "red": ColourLook("red", "#f8b4ad"),
    "yellow": ColourLook("yellow", "#fbe58d"),
    "green": ColourLook("green", "#b5e3b0"),
    "blue": ColourLook("blue", "#b3d4f5"),
    "cyan": ColourLook("cyan", "#a9e4e8"),
    "magenta": ColourLook("magenta", "#ecbfe8"),
    "grey": ColourLook("bright_black", "#dfe3e7"),
}


class ReportSection(Section):
    """The table ``[report]``: the colours of table cells, by relative throughput."""

    worse: float = Field(
        default=0.95, gt=0, le=1, description="relative throughput at or below this limit is worse"
    )
    better: float = Field(
        default=1.05, ge=1, description="relative throughput at or above this limit is better"
    )
    worse_colour: Colour = Field(default="yellow", description="colour of worse values")
    better_colour: Colour = Field(default="blue", description="colour of better values")
    between_colour: Colour | Literal[""] = Field(
        default="", description="colour of other values; empty for none"
    )
    missed_colour: Colour = Field(
        default="red", description="colour of an achieved rate below 95 % of its target"
    )
    further: tuple[tuple[Annotated[float, Field(gt=0)], Colour], ...] = Field(
        default=(),
        description=(
            'colours of much worse and much better values, for example [[0.75, "red"], [1.5, '
            '"green"]]: a limit below 1 applies to relative throughput at or below it, one '
            "from 1 on to values at or above it"
        ),
    )
