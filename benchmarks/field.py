"""Speed against Apache Otava 0.8.0: full searches, and appending one value to a long series.

Searches: each pair runs one series (normal noise of 2 %, with or without a step of 5 % every 250
values) through ours and through Otava, in random order. Appends: both have the same 10,000 values
and get the next one, pair by pair, in random order; the time is that until the changes are known,
so ours is ``append`` and ``changes``. Prints the median milliseconds of both and the ratio Otava /
ours as the median over the pairs with its quartiles. To be run on an idle machine: under load a
long call is interrupted more often than a short one, which flatters whoever is faster.

    python -m benchmarks.field --pairs 30
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import changepoint
from changepoint import methods
from changepoint.detection import hunter
from changepoint.evaluate.field.engines import (
    ENTRIES,
    ORACLE,
    Engine,
    EngineProcess,
    NotInstalledError,
    Run,
    other,
    ours,
    process,
)
from changepoint.evaluate.field.speed import Pairs, machine, paired, series
from changepoint.series import Floats

LENGTHS = (1000, 10_000)
APPENDED_TO = 10_000
FAST = tuple(name for name in methods() if name != "edivisive")  # which would take minutes
HEAD = (
    "| method | values | changes | ms | Otava ms | times as fast |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


def points(values: Floats) -> Run:
    """Hunter's bare indices and p-values: what Otava's function gives."""
    start = time.perf_counter()
    found = hunter.points(values)
    seconds = time.perf_counter() - start
    return Run(found.indices.tolist(), seconds)


def row(name: str, length: int, changes: str, pairs: Pairs) -> str:
    """One line of the table."""
    ratio = pairs.ratio
    cells = [
        name,
        f"{length}",
        changes,
        f"{1e3 * pairs.seconds.middle:.3f}",
        f"{1e3 * pairs.others.middle:.2f}",
        f"{ratio.middle:.1f} ({ratio.low:.1f}-{ratio.high:.1f})",
    ]
    return f"| {' | '.join(cells)} |"


def searches(running: EngineProcess, count: int) -> None:
    """Print two rows for each method and length, and for Hunter's bare indices."""
    otava = other(ENTRIES["otava"], running)
    engines: dict[str, Engine] = {**{name: ours(name) for name in FAST}, "hunter.points": points}
    for name, engine in engines.items():
        for length in LENGTHS:
            for steps in (False, True):
                drawn = [series(length, seed, steps=steps) for seed in range(count)]
                pairs = paired(engine, otava, drawn, seed=length)
                print(row(name, length, "steps" if steps else "none", pairs), flush=True)


def appends(running: EngineProcess, count: int) -> None:
    """Print a row for each method, of one more value after ``APPENDED_TO``."""
    stream_of = getattr(changepoint, "Stream", None)
    if stream_of is None:
        print("\nno appends: changepoint has no Stream")
        return
    print(f"\none value appended to {APPENDED_TO:,}\n")
    print(HEAD)

    def theirs(values: Floats) -> Run:
        answer = running.run("otava-append", {"appended": 1}, [values.tolist()])
        return Run(answer["indices"][0], answer["seconds"][0])

    for name in FAST:
        for steps in (False, True):
            values = series(APPENDED_TO + count, 1, steps=steps)
            drawn = [values[: APPENDED_TO + i + 1] for i in range(count)]
            pairs = paired(partial(append_last, stream_of, name), theirs, drawn, seed=2)
            print(row(name, APPENDED_TO, "steps" if steps else "none", pairs), flush=True)


def append_last(stream_of: Callable[..., Any], method: str, values: Floats) -> Run:
    """Time the last value's append to a stream that has found the changes of all before."""
    stream = stream_of(method=method)
    for value in values[:-1].tolist():
        stream.append(value)
    known = stream.changes
    last = float(values[-1])
    start = time.perf_counter()
    stream.append(last)
    known = stream.changes
    seconds = time.perf_counter() - start
    return Run([change.index for change in known], seconds)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=30)
    pairs = parser.parse_args().pairs
    try:
        with process(ORACLE) as running:
            print(", ".join(f"{package} {number}" for package, number in running.versions.items()))
            print(f"{machine()}\n\n{HEAD}")
            searches(running, pairs)
            appends(running, pairs)
    except NotInstalledError as error:
        parser.exit(2, f"Otava is {error}\n")


if __name__ == "__main__":
    main()
