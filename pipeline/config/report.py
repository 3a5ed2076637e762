"""How tables look."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from pipeline.config.base import Section


class ColourLook(NamedTuple):
    """What a colour is called on a terminal, and as the paper of a cell in HTML."""

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
    """How tables are coloured: relative throughput at or beyond these is marked."""

    worse: float = Field(
        default=0.95, gt=0, le=1, description="relative throughput at or below is worse"
    )
    better: float = Field(
        default=1.05, ge=1, description="relative throughput at or above is better"
    )
    worse_colour: Colour = Field(default="yellow", description="colour of what is worse")
    better_colour: Colour = Field(default="blue", description="colour of what is better")
    between_colour: Colour | Literal[""] = Field(
        default="", description="colour of what is neither; empty for none"
    )
    missed_colour: Colour = Field(
        default="red", description="colour of an achieved rate below 95 % of its target"
    )
    further: tuple[tuple[Annotated[float, Field(gt=0)], Colour], ...] = Field(
        default=(),
        description="colours of what is much worse or much better, as "
        '[[0.75, "red"], [1.5, "green"]]: below 1 for relative throughput at or below, from 1 on '
        "for at or above",
    )
