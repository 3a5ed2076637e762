"""The table that compares all programs on every kind of noise."""

from __future__ import annotations

import platform
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from changepoint.evaluate import nightly
from changepoint.evaluate.field import score
from changepoint.evaluate.field.engines import (
    ENTRIES,
    Engine,
    EngineEntry,
    EngineEnvironment,
    EngineError,
    EngineProcess,
    NotInstalledError,
    other,
    ours,
    process,
)
from changepoint.evaluate.field.progress import Progress
from changepoint.evaluate.field.speed import STEP_EVERY, Spread, machine, paired, seconds, series
from changepoint.evaluate.measure import Rate
from changepoint.evaluate.simulate import NOISES
from changepoint.series import Floats, Ints

KINDS = ("gauss", "t3", "bimodal", "spikes", "quantised", "AR(.5)", "drift")
LENGTH = 200
"""Positions of the series without a change: two thirds of a year of nights."""
STEP = 0.05
"""Size of the planted change of recall, delay and place, as a fraction of the level."""
LENGTHS = (100, 1000, 10_000)
"""Positions of the timed series."""
PAIRS = 15
"""Pairs of calls for a median time: enough for quartiles."""
WIDTH = 100
"""Columns that the legend is wrapped to."""
REFERENCE = "otava"
"""The engine whose time is the reference for the others."""

CALLS_PER_TRIAL = (LENGTH - nightly.FIRST_NIGHT + 1) + 2 + 20 + 1
"""Searches of one series in a cell of the table: one each night, two for recall, about twenty for a
delay, one for F1."""

HEAD = (
    "engine",
    "noise",
    "series",
    "alarms per 1000 nights",
    "3 % found",
    "5 % found",
    "delay of 5 %",
    "place held",
    "F1 (precision/recall)",
    "ms at " + " / ".join(f"{length:,}" for length in LENGTHS),
    "times as fast as Otava",
)

LEGEND = (
    f"alarms: new ones in series of {LENGTH} without a change, all prefixes from the "
    f"{nightly.FIRST_NIGHT}th night searched, 95 % limits. found: a step within {nightly.MARGIN} "
    "positions, 95 % limits. delay: nights until a step after 100 nights is found, median/p90. "
    "place held: how often the interval of a 5 % step's position holds it, where the engine tells "
    f"one. F1: {score.LENGTH} positions, 0 to {score.MOST_STEPS} steps of 2 to 10 %, margin "
    f"{nightly.MARGIN}. ms and times: noise with a step every {STEP_EVERY} values, medians and "
    f"quartiles of {PAIRS} pairs with Otava in random order; - where an engine is too slow."
)


@dataclass(frozen=True, slots=True)
class Ready:
    """A program that can be compared, or why it cannot."""

    name: str
    entry: EngineEntry
    engine: Engine | None
    reason: str = ""


def field_table(trials: int, seed: int, names: Sequence[str] = tuple(ENTRIES)) -> Iterator[str]:
    """Return the table of the comparison, with versions and legend.

    trials: series per figure; slow engines get a share of them, at least 2, as the table notes.
    """
    with ExitStack() as stack:
        processes: dict[EngineEnvironment, EngineProcess | str] = {}
        wanted = [_ready(name, processes, stack) for name in names]
        reference = _ready(REFERENCE, processes, stack)
        yield from _versions(processes)
        for name in names:
            yield _described(name, ENTRIES[name])
        yield ""
        yield from textwrap.wrap(LEGEND, WIDTH)
        yield (
            f"{trials} series a figure, fewer where the column says so; noise {nightly.SIGMA:g} %; "
            f"seed {seed}."
        )
        yield ""
        yield f"| {' | '.join(HEAD)} |"
        yield "| --- |" + " --- |" * (len(HEAD) - 1)
        yield from _rows(wanted, reference.engine, trials, seed)


def _described(name: str, entry: EngineEntry) -> str:
    limit = f"; timed up to {entry.longest:,} values" if entry.longest < max(LENGTHS) else ""
    return f"- {name}: {entry.about}{limit}"


def _ready(
    name: str, processes: dict[EngineEnvironment, EngineProcess | str], stack: ExitStack
) -> Ready:
    """Start a program that is to be compared."""
    entry = ENTRIES[name]
    if entry.method:
        return Ready(name, entry, ours(entry.method))
    if entry.environment not in processes:
        try:
            processes[entry.environment] = stack.enter_context(process(entry.environment))
        except (NotInstalledError, EngineError) as error:
            processes[entry.environment] = str(error)
    running = processes[entry.environment]
    if isinstance(running, str):
        return Ready(name, entry, None, running)
    return Ready(name, entry, other(entry, running))


def _versions(processes: Mapping[EngineEnvironment, EngineProcess | str]) -> Iterator[str]:
    own = {"Python": platform.python_version()}
    for package in ("nightshift", "numpy", "scipy", "numba"):
        try:
            own[package] = version(package)
        except PackageNotFoundError:
            own[package] = "not installed as a package"
    yield f"here: {_listed(own)}; {machine()}"
    for environment, running in processes.items():
        reported = running if isinstance(running, str) else _listed(running.versions)
        yield f"{environment.name}: {reported}"


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{package} {number}" for package, number in versions.items())


def _rows(
    wanted: Sequence[Ready], reference: Engine | None, trials: int, seed: int
) -> Iterator[str]:
    running = {ready.name: ready.engine for ready in wanted if ready.engine is not None}
    counts = {ready.name: max(round(trials * ready.entry.share), 2) for ready in wanted}
    planned = {name: counts[name] * CALLS_PER_TRIAL * len(KINDS) for name in running}
    guess = {name: min(seconds(engine, 110, 3, seed)) for name, engine in running.items()}
    progress = Progress(planned, guess)
    for ready in wanted:
        reason = ready.reason
        if ready.engine is not None:
            try:
                yield from _engine_rows(
                    ready, ready.engine, reference, counts[ready.name], seed, progress
                )
                continue
            except EngineError as error:
                reason = str(error)
        yield f"| {ready.name} | {reason} |" + " |" * (len(HEAD) - 2)


def _engine_rows(
    ready: Ready,
    engine: Engine,
    reference: Engine | None,
    trials: int,
    seed: int,
    progress: Progress,
) -> Iterator[str]:
    for i, kind in enumerate(KINDS):
        cells = _cell(ready, engine, kind, trials, seed, progress)
        # Time hardly depends on the noise: measured once for each engine.
        times = _times(ready, engine, reference, seed) if i == 0 else ("", "")
        progress.settle(ready.name, trials * CALLS_PER_TRIAL * (len(KINDS) - i - 1))
        yield f"| {' | '.join((ready.name, kind, *cells, *times))} |"


def _cell(
    ready: Ready, engine: Engine, kind: str, trials: int, seed: int, progress: Progress
) -> tuple[str, ...]:
    def found(values: Floats) -> list[int]:
        progress.called(ready.name, f"{ready.name}, {kind}")
        return engine(values).indices

    def places(values: Floats, labels: Ints) -> list[int]:
        return found(values)

    noise = NOISES[kind]
    alarms = nightly.alarms(places, noise, LENGTH, trials, seed)
    three, five = (nightly.recall(places, noise, step, trials, seed) for step in (0.03, STEP))
    median, late = nightly.delays(places, noise, STEP, 1, trials, seed)
    method = ready.entry.method
    place = _rate(score.located(method, noise, STEP, trials, seed)) if method else "-"
    matched = score.several(found, noise, trials, seed)
    return (
        str(trials),
        str(alarms),
        _rate(three),
        _rate(five),
        f"{_nights(median)}/{_nights(late)}",
        place,
        f"{matched.f1:.3f} ({matched.precision:.3f}/{matched.recall:.3f})",
    )


def _rate(rate: Rate) -> str:
    low, high = rate.limits()
    return f"{rate.value:.3f} ({low:.3f}-{high:.3f})"


def _nights(nights: float) -> str:
    return "never" if nights == nightly.NEVER else f"{nights:g}"


def _times(ready: Ready, engine: Engine, reference: Engine | None, seed: int) -> tuple[str, str]:
    milliseconds, ratios = [], []
    for length in LENGTHS:
        if length > ready.entry.longest:
            milliseconds.append("-")
            ratios.append("-")
            continue
        drawn = [series(length, seed + i) for i in range(PAIRS)]
        if reference is None or ready.name == REFERENCE:
            alone = Spread.of(seconds(engine, length, PAIRS, seed))
            milliseconds.append(_figure(1e3 * alone.middle))
            ratios.append("-" if reference is None else "1")
            continue
        got = paired(engine, reference, drawn, seed)
        milliseconds.append(_figure(1e3 * got.seconds.middle))
        ratios.append(_spread(got.ratio))
    return " / ".join(milliseconds), " / ".join(ratios)


def _spread(spread: Spread) -> str:
    return f"{_figure(spread.middle)} ({_figure(spread.low)}-{_figure(spread.high)})"


def _figure(number: float) -> str:
    """Format a number with three digits."""
    return f"{number:,.0f}" if number >= 100.0 else f"{number:.3g}"
