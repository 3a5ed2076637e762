"""Print the error rates of detection that docs/internals/statistics.md quotes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType

from changepoint.evaluate import nightly
from changepoint.evaluate.appending import appending_table
from changepoint.evaluate.bisections import bisection_table
from changepoint.evaluate.calibrate import calibration_table
from changepoint.evaluate.creeps import creep_table
from changepoint.evaluate.field.engines import ENTRIES
from changepoint.evaluate.field.table import field_table
from changepoint.evaluate.labelled import MissingRepositoryError, labelled_table
from changepoint.evaluate.ladders import ladder_table, published_table
from changepoint.evaluate.learned import learned_table
from changepoint.evaluate.measure import alarms, recall
from changepoint.evaluate.newest import newest_table
from changepoint.evaluate.places import halving_table, place_table
from changepoint.evaluate.powers import power_table
from changepoint.evaluate.simulate import NOISES, SeriesShape
from changepoint.evaluate.spreads import spread_table

UNCHANGED = (
    SeriesShape(2, 3),
    SeriesShape(5, 3),
    SeriesShape(10, 3),
    SeriesShape(14, 3),
    SeriesShape(30, 1),
    SeriesShape(100, 1),
)
STEPPED = (SeriesShape(5, 3), SeriesShape(10, 3), SeriesShape(30, 1))
KINDS = ("gauss", "t3", "bimodal", "spikes", "quantised", "AR(.5)", "AR(.5) wide", "drift")
BUDGETS = (0.1, 0.5, 5.0)
"""Budgets of alarms per 1000 nights: a strict one, the default, and the most generous one."""
STEPS = (0.03, 0.05, 0.1)
"""Step sizes to search for, as a fraction of the level."""
SIGMAS = (1.0, 2.0)
"""Noise of a value in percent of the level: of a quiet machine, and of a typical one."""

Table = Callable[..., Iterator[str]]
"""Yields the lines of a table from trials, a seed and further arguments."""


def main() -> None:
    """Print one table of error rates as markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m changepoint.evaluate",
        description=(
            "Simulate series and print the false-alarm rate and the recall of the default "
            "method. The command field compares all engines, with their run times."
        ),
        epilog="example: python -m changepoint.evaluate alarms --trials 200 --seed 1",
    )
    parser.add_argument(
        "table", choices=(*TABLES, *BY_NOISE, *BY_ENGINE), help="which table to print"
    )
    parser.add_argument(
        "--trials",
        type=int,
        default=1000,
        help="number of simulated series for each printed figure (default 1000)",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the simulation (default 1)")
    parser.add_argument(
        "--engines",
        default=",".join(ENTRIES),
        help=(
            "engines that the commands field and labelled compare, separated by commas (default: "
            "all, %(default)s)"
        ),
    )
    parser.add_argument(
        "--noise",
        default=",".join(KINDS),
        help=(
            "kinds of noise for the commands appending, budget, creep, halving, ladders, learned, "
            "newest, places, power and steps, separated by commas (default: %(default)s)"
        ),
    )
    parser.add_argument(
        "--tables",
        type=Path,
        metavar="FOLDER",
        help="for the command ladders: a folder of published tables, CSV files with a name and "
        "the values of the releases in each line, to search in place of simulated ones",
    )
    parser.add_argument(
        "--repositories",
        type=Path,
        metavar="FOLDER",
        help="for the command labelled: a folder with a clone OWNER/NAME of each public repository "
        "that changepoint/evaluate/labels.json names",
    )
    options = parser.parse_args()
    kinds = options.noise.split(",")
    if unknown := sorted(set(kinds) - set(NOISES)):
        parser.error(f"noise {unknown[0]!r} does not exist; choose from {', '.join(NOISES)}")
    engines = options.engines.split(",")
    if unknown := sorted(set(engines) - set(ENTRIES)):
        parser.error(f"engine {unknown[0]!r} does not exist; choose from {', '.join(ENTRIES)}")
    if options.trials < 1 or options.seed < 0:
        parser.error("--trials must be at least 1 and --seed at least 0")
    if options.tables is not None and options.table != "ladders":
        parser.error("--tables is for the command ladders")
    if options.tables is not None and not options.tables.is_dir():
        parser.error(f"{options.tables} is no folder; --tables needs one with CSV files")
    if (options.repositories is None) == (options.table == "labelled"):
        parser.error("the command labelled needs --repositories, and no other command takes it")
    if options.tables is not None:
        table: Table = partial(_published, options.tables)
    elif options.table == "labelled":
        table = partial(_labelled, options.repositories, engines)
    elif options.table in BY_NOISE:
        table = partial(BY_NOISE[options.table], kinds=kinds)
    else:
        table = TABLES.get(options.table, partial(field_table, names=engines))
    try:
        for line in table(options.trials, options.seed):
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
    except MissingRepositoryError as error:
        parser.error(str(error))


def _labelled(repositories: Path, engines: Sequence[str], _: int, __: int) -> Iterator[str]:
    return labelled_table(repositories, engines)


def _published(folder: Path, _: int, seed: int) -> Iterator[str]:
    return published_table(folder, seed)


def alarm_table(trials: int, seed: int) -> Iterator[str]:
    """Yield a table: false alarms by noise and shape of unchanged series, with 95 % limits."""
    yield "| noise | " + " | ".join(map(str, UNCHANGED)) + " |"
    yield "| --- |" + " --- |" * len(UNCHANGED)
    for name, noise in NOISES.items():
        rates = [str(alarms(noise, ladder, trials, seed)) for ladder in UNCHANGED]
        yield f"| {name} | " + " | ".join(rates) + " |"


def budget_table(trials: int, seed: int, kinds: Sequence[str]) -> Iterator[str]:
    """Yield a table: new false alarms per 1000 nights, by noise and budget."""
    yield "| noise | nights | " + " | ".join(f"{budget:g}" for budget in BUDGETS) + " |"
    yield "| --- | --- |" + " --- |" * len(BUDGETS)
    for name in kinds:
        got = [
            nightly.alarms(nightly.reported("default", budget), NOISES[name], 200, trials, seed)
            for budget in BUDGETS
        ]
        yield f"| {name} | {got[0].nights} | " + " | ".join(map(str, got)) + " |"


def steps_table(trials: int, seed: int, kinds: Sequence[str]) -> Iterator[str]:
    """Yield a table: how many steps are found, how late, how often intervals hold; by noise."""
    yield "| noise | 3 % | 5 % | delay of 5 %, median/p90 | position | effect |"
    yield "| --- |" + " --- |" * 5
    places = nightly.reported("default", 0.5)
    for name in kinds:
        noise = NOISES[name]
        three, five = (nightly.recall(places, noise, step, trials, seed) for step in (0.03, 0.05))
        median, late = nightly.delays(places, noise, 0.05, 1, trials, seed)
        position, effect = nightly.coverage(noise, 0.05, trials, seed)
        yield f"| {name} | {three} | {five} | {median:g}/{late:g} | {position} | {effect} |"
    median, late = nightly.delays(places, NOISES["gauss"], 0.03, 5, min(trials, 300), seed)
    yield f"5 replicates a night, gauss, 3 %: delay {median:g}/{late:g}"


def recall_table(trials: int, seed: int) -> Iterator[str]:
    """Yield a table: how many steps are found, by shape, place, noise and size."""
    yield "| series | step before | sigma | step | found there | elsewhere | position | effect |"
    yield "| --- |" + " --- |" * 7
    noise = NOISES["gauss"]
    for ladder in STEPPED:
        # Without replicates a change at the very ends cannot be found.
        margin = 1 if ladder.replicates > 1 else ladder.positions // 6
        places = (margin, ladder.positions // 2, ladder.positions - margin)
        for at, sigma, step in product(places, SIGMAS, STEPS):
            got = recall(noise, ladder, sigma=sigma, step=step, at=at, trials=trials, seed=seed)
            yield (
                f"| {ladder} | {at} | {sigma:g} % | {step:.0%} | {got.found.value:.3f} | "
                f"{got.other.value:.3f} | {got.position.value:.3f} | {got.effect.value:.3f} |"
            )


TABLES: Mapping[str, Table] = MappingProxyType(
    {
        "alarms": alarm_table,
        "recall": recall_table,
        "calibrate": calibration_table,
        "spreads": spread_table,
        "bisection": bisection_table,
    }
)

BY_NOISE: Mapping[str, Table] = MappingProxyType(
    {
        "appending": appending_table,
        "budget": budget_table,
        "creep": creep_table,
        "halving": halving_table,
        "ladders": ladder_table,
        "learned": learned_table,
        "newest": newest_table,
        "places": place_table,
        "steps": steps_table,
        "power": power_table,
    }
)

BY_ENGINE = ("field", "labelled")
"""Names of the tables that compare engines."""


if __name__ == "__main__":
    main()
