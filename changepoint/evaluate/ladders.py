"""Simulate ladders (short series of single values): found changes and false ones.

A table has a row for each step and a column for each release. Published tables are CSV files that
the user has: each line is a name followed by the values, without a heading line.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from changepoint.api import detect
from changepoint.detection.ladder import LONGEST, shared_noise
from changepoint.evaluate.measure import Rate
from changepoint.evaluate.simulate import NOISES, Noise, SeriesShape, draw
from changepoint.series import Floats

ROWS = 40
"""Rows of a simulated table, the steps of a usual workload."""
SIGMA = 1.0
"""Noise of the median row in percent; that of other rows is up to three times larger or smaller."""
LENGTHS = (6, 10, 14, 20, LONGEST)
"""Numbers of releases of the simulated tables without a change."""
RELEASES = 14
"""Releases of a table in which each row has three losses."""
LOSSES = (-0.03, -0.05, -0.1)
"""Size of each of a row's three losses, as a fraction."""
FEWEST = 10
"""Fewest releases of a published table that is searched."""
SHUFFLES = 20
"""Times that each row of a published table is shuffled."""


def flagged(rows: Sequence[Floats]) -> list[int]:
    """Return how many changes are found in each row of a table."""
    noises = shared_noise(rows)
    found = (detect(row, noise=noise).changes for row, noise in zip(rows, noises, strict=True))
    return [sum(change.kind == "level" for change in changes) for changes in found]


def false_rows(noise: Noise, length: int, tables: int, seed: int) -> Rate:
    """Return how many rows without a change are reported to have one."""
    random = np.random.default_rng(seed)
    hits = sum(
        bool(count) for _ in range(tables) for count in flagged(_table(noise, length, random))
    )
    return Rate(hits, tables * ROWS)


def stepped_rows(noise: Noise, loss: float, tables: int, seed: int) -> Rate:
    """Return how many rows with three losses are reported to have a change."""
    random = np.random.default_rng(seed)
    steps = (1.0 + loss) ** (np.arange(RELEASES)[:, None] >= (4, 8, 11)).sum(axis=1)
    hits = 0
    for _ in range(tables):
        rows = [row * steps for row in _table(noise, RELEASES, random)]
        hits += sum(bool(count) for count in flagged(rows))
    return Rate(hits, tables * ROWS)


def ladder_table(trials: int, seed: int, kinds: Sequence[str]) -> Iterator[str]:
    """Yield a table: false and found changes in ladders, by noise and length."""
    tables = max(trials // ROWS, 1)
    columns = [f"false at {n}" for n in LENGTHS] + [f"three of {loss:.0%} at 14" for loss in LOSSES]
    yield f"| noise | {' | '.join(columns)} |"
    yield "| --- |" + " --- |" * len(columns)
    for name in kinds:
        rates = [false_rows(NOISES[name], length, tables, seed) for length in LENGTHS]
        rates += [stepped_rows(NOISES[name], loss, tables, seed) for loss in LOSSES]
        yield f"| {name} | {' | '.join(f'{rate.value:.4f}' for rate in rates)} |"


class PublishedLadder(NamedTuple):
    """A published table: the number of changes in each row, and how many shuffled rows have any.

    releases: number of columns.
    """

    counts: list[int]
    releases: int
    false: int


def published(path: Path, random: np.random.Generator) -> PublishedLadder | None:
    """Search a published table and its shuffled rows; None if it has too few releases."""
    rows = list(_read(path))
    if not rows or len(rows[0]) < FEWEST:
        return None
    counts = flagged(rows)
    drawn = ([random.permutation(row) for row in rows] for _ in range(SHUFFLES))
    false = sum(bool(count) for shuffled in drawn for count in flagged(shuffled))
    return PublishedLadder(counts, len(rows[0]), false)


def published_table(folder: Path, seed: int) -> Iterator[str]:
    """Yield a table: how many changes are found in published tables, and in shuffled ones."""
    random = np.random.default_rng(seed)
    yield "| table | rows | releases | rows with a change | changes | rows if shuffled |"
    yield "| --- |" + " ---: |" * 5
    for path in sorted(folder.glob("*.csv")):
        found = published(path, random)
        if found is not None:
            rows, changed = len(found.counts), sum(bool(count) for count in found.counts)
            yield (
                f"| {path.stem} | {rows} | {found.releases} | {changed} | {sum(found.counts)} "
                f"| {Rate(found.false, SHUFFLES * rows)} |"
            )


def _table(noise: Noise, length: int, random: np.random.Generator) -> list[Floats]:
    sigmas = SIGMA * 3.0 ** random.uniform(-1.0, 1.0, ROWS)
    shape = SeriesShape(length, 1)
    return [draw(noise, shape, random, sigma=float(sigma)) for sigma in sigmas]


def _read(path: Path) -> Iterable[Floats]:
    """Read the complete rows of a table of positive values."""
    with path.open(newline="") as file:
        lines = [line[1:] for line in csv.reader(file)]
    width = max((len(line) for line in lines), default=0)
    for line in lines:
        if len(line) == width and all(line):
            values = np.array(line, dtype=np.float64)
            if np.all(values > 0.0):
                yield values
