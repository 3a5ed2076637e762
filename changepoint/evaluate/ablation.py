"""Measure what each constant of the default method contributes on real series.

In a copy of the package, one constant is removed, or set to a value without effect. The copy
searches the labelled series (labelled.py), and their stretches without a change in random order. If
no score becomes worse, the constant is superfluous on real series, and stays only if a simulated
error rate needs it. The copies run without the compiler: compiling would take longer than the
search of all series.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from changepoint.api import budget_of_levels
from changepoint.detection import default
from changepoint.detection.method import Request
from changepoint.evaluate.labelled import (
    LabelledSeries,
    MissingRepositoryError,
    Score,
    collection,
    score,
)
from changepoint.evaluate.ladders import published
from changepoint.options import DEFAULTS
from changepoint.series import Floats, read

PACKAGE = Path(__file__).parents[1]

SHORTEST = 8
"""Fewest positions of a stretch without a change."""

REQUEST = Request(budget_of_levels("default", DEFAULTS["alarms_per_1000"]), 0.0, DEFAULTS["seed"])
"""The defaults of ``detect``."""


class Removal(NamedTuple):
    """A constant of a module, and the value that removes its effect."""

    module: str
    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name} = {self.value}"


REMOVALS = tuple(
    Removal(*line.split(maxsplit=2))
    for line in """
        calibration CAUTION 1.0
        default REPEATS 2.0
        edivisive PERMUTATION_LIMIT 1.0
        inner_intervals SHORTEST 1_000_000
        lone_ladder FEWEST 1_000
        lone_ladder PER_CHANGE 2
        modes FEWEST 1_000_000
        modes SEPARATION 0.0
        modes HOPELESS 0.0
        modes SETTLED 0.0
        modes SMALLEST_SHARE 0.0
        scan CLIP 1e9
        scan FAR CLIP
        scan SLOPE 1e9
        scan LEAST 2
        scan FAR_WEIGHT 1.0
        scan TAIL 0.0
        scan TAIL_MARGIN 0.0
        scan SMALL_SIDE 0
        scan SPARE_SHARE 1e-9
        scan SPARE_SLOPE 0.0
        scan RAMP_MARGIN 0.0
        scan PHI_MARGIN 0.0
        scan PHI_SHORT 0.0
        scan PHI_LONG 1e9
        scan PHI_NEAR 0.0
        scan NEAR_SIDE 1_000_000
        scan MAX_PHI 0.999
        scan GRID 1e-9
        segment BUMP 1.0
        segment BUMP_MARGIN 0.0
        segment LOCAL 1e300
        segment_modes CAUTION 1.0
    """.strip().splitlines()
)
"""The constants of the search for changes of level, without those that only affect speed or
arithmetic."""


def removed(removal: Removal, package: Path) -> None:
    """Remove a constant from a copy of the package, or set it to a value without effect.

    Raises ValueError if the module has no such constant.
    """
    path = package / "detection" / f"{removal.module}.py"
    source = path.read_text()
    line = re.compile(rf"(?m)^{removal.name} = (.+)$")
    if not line.search(source):
        raise ValueError(f"{path.name} has no constant {removal.name} on a line of its own")
    path.write_text(line.sub(f"{removal.name} = {removal.value}", source, count=1))


def stretches(series: LabelledSeries) -> Iterator[Floats]:
    """Yield the values of each stretch between places that are or may be a change."""
    bounds = {0, len(series.values), *series.changes}
    bounds |= {bound for first, last in series.perhaps for bound in (first, last + 1)}
    for start, stop in pairwise(sorted(bounds)):
        if stop - start >= SHORTEST:
            yield series.values[start:stop]


def worth(repositories: Path, tables: Path | None, seed: int) -> dict[str, str]:
    """Return the scores of the default method on real series, by name."""
    series = list(collection(repositories))
    random = np.random.default_rng(seed)
    totals: dict[str, Score] = {}
    for one in series:
        totals[one.group] = totals.get(one.group, Score()) + score(_levels(one.values), one)
    figures = {group: str(total) for group, total in totals.items()}
    shuffled = (random.permutation(part) for one in series for part in stretches(one))
    figures["shuffled"] = str(sum(bool(_levels(values)) for values in shuffled))
    if tables is not None:
        counted = [published(path, random) for path in sorted(tables.glob("*.csv"))]
        known = [table for table in counted if table is not None]
        figures["rows"] = str(sum(bool(count) for table in known for count in table.counts))
        figures["shuffled rows"] = str(sum(table.false for table in known))
    return figures


def _levels(values: Floats) -> list[int]:
    return [found.at for found in default.find(read(values, None), REQUEST).found]


def ablation_table(
    removals: Sequence[Removal | None], figures_of: Callable[[Removal | None], dict[str, str]]
) -> Iterator[str]:
    """Yield a table of the scores without each constant; the first row is with all constants."""
    for number, removal in enumerate(removals):
        figures = figures_of(removal)
        if number == 0:
            yield f"| constant | {' | '.join(figures)} |"
            yield "| --- |" + " --- |" * len(figures)
        yield f"| {removal or 'all'} | {' | '.join(figures.values())} |"


def in_copy(arguments: Sequence[str], removal: Removal | None) -> dict[str, str]:
    """Return the scores of a copy of the package from which a constant is removed."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / PACKAGE.name
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        if removal is not None:
            removed(removal, copy)
        done = subprocess.run(
            [sys.executable, "-m", "changepoint.evaluate.ablation", "--one", *arguments],
            cwd=folder,
            env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    figures: dict[str, str] = json.loads(done.stdout)
    return figures


def main() -> None:
    """Print what each constant contributes, as a markdown table."""
    parser = argparse.ArgumentParser(
        prog="python -m changepoint.evaluate.ablation",
        description="Search real series without each constant of the default method.",
    )
    parser.add_argument("--repositories", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--tables", type=Path, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", default="", help="names of constants, separated by commas (default: all)"
    )
    parser.add_argument("--one", action="store_true", help="print one row of figures as JSON")
    options = parser.parse_args()
    try:
        if options.one:
            figures = worth(options.repositories, options.tables, options.seed)
            sys.stdout.write(json.dumps(figures))
            return
    except MissingRepositoryError as error:
        parser.error(str(error))
    arguments = ["--seed", str(options.seed), "--repositories", str(options.repositories.resolve())]
    if options.tables is not None:
        arguments += ["--tables", str(options.tables.resolve())]
    wanted = set(filter(None, options.only.split(",")))
    chosen = [each for each in REMOVALS if not wanted or each.name in wanted]
    for line in ablation_table([None, *chosen], lambda removal: in_copy(arguments, removal)):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
