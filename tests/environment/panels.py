"""Panels of one machine, with known levels."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from pipeline.environment.panel import ClassMachine, ControlFigure, Panel

BEGAN = datetime(2026, 1, 1, 20, tzinfo=UTC)

Level = Callable[[int, int], float]
"""(number of the figure, night) -> logarithm of its level."""


def figure(step: str = "step 0", *, group: str = "writes", metric: str = "qps") -> ControlFigure:
    return ControlFigure("pinned", "postgres", "binary", "w", step, group, "queries", metric)


FIGURES = tuple(figure(f"step {number}") for number in range(6))


def panel(
    level: Level,
    *,
    machine: str = "bench-1",
    figures: Sequence[ControlFigure] = FIGURES,
    nights: int = 100,
    first: int = 0,
    noise: float = 0.007,
    seed: int = 11,
) -> Panel:
    """Measure a machine's controls twice a night, from its ``first`` night on."""
    drawn = random.Random(seed)
    values = [
        [
            [level(number, night) + drawn.gauss(0, noise) for _ in range(2)]
            for night in range(nights)
        ]
        for number in range(len(figures))
    ]
    began = [BEGAN + timedelta(days=first + night) for night in range(nights)]
    return Panel(
        place=ClassMachine("ax162-s", machine),
        figures=tuple(figures),
        nights=tuple(each.date() for each in began),
        began=tuple(began),
        values=np.array(values),
        prints=({},) * nights,
    )
