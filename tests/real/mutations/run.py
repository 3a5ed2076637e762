"""Mutate recorded bundles, journals and configurations, and let the product read each.

``python -m tests.real.mutations.run --count 100000 --seed 1 FOLDER`` takes the results in FOLDER,
with ``nightshift.toml`` beside them, and prints what became of the mutations.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from sqlalchemy import Engine, delete

from pipeline.config import load_config
from pipeline.measure.plan import check_workloads
from pipeline.regressions.repository import RegressionRepository
from pipeline.storage import measurements, runs, steps
from pipeline.storage.bundle import BUNDLES, list_bundles
from pipeline.storage.database import open_store
from pipeline.storage.ingest import ingest
from pipeline.storage.journal import FILE as JOURNAL
from pipeline.storage.journal import Journal, mutes, now
from pipeline.storage.quarantine import Quarantine
from pipeline.storage.schema import metadata
from pipeline.text.errors import UserError
from tests.real.mutations.mutator import Mutator


class Recorded(NamedTuple):
    """What nights left: the bundles by name, the journal and the configuration."""

    bundles: dict[str, bytes]
    journal: bytes
    config: bytes


class Failure(NamedTuple):
    """A mutation that ended with something else than a line."""

    kind: str
    seed: int
    trace: str


def recorded(folder: Path) -> Recorded:
    """Return what the nights in a folder left."""
    results = folder / "results"
    bundles = {path.name: path.read_bytes() for path in list_bundles(results / BUNDLES)}
    journal = (results / JOURNAL).read_bytes() if (results / JOURNAL).exists() else b""
    return Recorded(bundles, journal, (folder / "nightshift.toml").read_bytes())


def mutate(of: Recorded, count: int, seed: int) -> tuple[Counter[str], list[Failure]]:
    """Do ``count`` mutations; return what became of them, and those that were not a line.

    Each mutation has a seed of its own, from ``seed`` on. Three of five are of bundles.
    """
    seen: Counter[str] = Counter()
    failures: list[Failure] = []
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        store = open_store(f"sqlite:///{folder / 'store.db'}")
        for each in range(seed, seed + count):
            kind = ("bundle", "bundle", "bundle", "journal", "configuration")[each % 5]
            try:
                seen[f"{kind} {_done(kind, of, each, folder, store)}"] += 1
            except Exception:
                seen[f"{kind} FAILED"] += 1
                failures.append(Failure(kind, each, traceback.format_exc()))
        store.dispose()
    return seen, failures


def _done(kind: str, of: Recorded, seed: int, folder: Path, store: Engine) -> str:
    mutator = Mutator(seed)
    if kind == "bundle":
        return _bundle(mutator, of, folder, store)
    prepare = _journal if kind == "journal" else _config
    tried = prepare(mutator, of, folder)
    try:
        tried()
    except UserError as error:
        _is_a_line(str(error))
        return "refused"
    return "taken"


def _bundle(mutator: Mutator, of: Recorded, folder: Path, store: Engine) -> str:
    names = sorted(of.bundles)
    name = names[mutator.chance(len(names))]
    bundles = folder / BUNDLES
    bundles.mkdir(exist_ok=True)
    (bundles / name).write_bytes(mutator.bundle(of.bundles[name]))
    report = ingest(store, [bundles / name])
    for refused in report.refused:
        line = Quarantine(folder).take(refused)
        _is_a_line(line)
        kept = folder / "quarantine" / name
        if not kept.exists():
            raise AssertionError(f"not in the quarantine: {line}")
        kept.unlink()
        kept.with_name(f"{name}.json").unlink()
        return "quarantined"
    (bundles / name).unlink()
    _read(store)
    with store.begin() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(delete(table))
    return "taken"


def _read(store: Engine) -> None:
    """Read all that verbs read of a run."""
    keys = [key for key, _ in runs.measured(store)]
    list(measurements.rows(store))
    list(steps.outcomes(store))
    steps.remarks(store, cells=keys)
    steps.failures(store, cells=keys)
    list(steps.step_states(store, cells=keys))
    runs.runs(store)
    runs.run_heads(store)
    runs.measured_time(store)
    for fingerprint in runs.machines(store).values():
        runs.last_machine(store, str(fingerprint.get("hostname")))


def _journal(mutator: Mutator, of: Recorded, folder: Path) -> Callable[[], None]:
    results = folder / "journals"
    results.mkdir(exist_ok=True)
    for left in results.iterdir():
        left.unlink()
    (results / JOURNAL).write_bytes(mutator.lines(of.journal))

    def tried() -> None:
        events = Journal(results).read()
        mutes(events, now().date())
        known = RegressionRepository(results).known(now())
        for each in known.values():
            str(each.regression.state)
        Journal(results).append(events[:1])
        if Journal(results).read()[: len(events)] != events:
            raise AssertionError("an event is lost")

    return tried


def _config(mutator: Mutator, of: Recorded, folder: Path) -> Callable[[], None]:
    path = folder / "nightshift.toml"
    change = (mutator.raw, mutator.numbers, mutator.toml)[mutator.chance(3)]
    path.write_bytes(change(of.config))

    def tried() -> None:
        check_workloads(load_config(path))

    return tried


def _is_a_line(text: str) -> None:
    if "\n" in text or not text or len(text) > 20_000:
        raise AssertionError(f"not a line: {text[:500]!r}")


def main() -> None:
    """Print what became of the mutations; exit with 1 if one was not a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.monotonic()
    seen, failures = mutate(recorded(given.folder), given.count, given.seed)
    took = time.monotonic() - began
    reported = f"{given.count} mutations in {took:.0f} s, {len(failures)} failures"
    sys.stdout.write("\n".join([*_lines(seen, failures), reported, ""]))
    raise SystemExit(bool(failures))


def _lines(seen: Counter[str], failures: list[Failure]) -> Iterator[str]:
    for what, number in sorted(seen.items()):
        yield f"{number:8d}  {what}"
    kinds: dict[str, Failure] = {}
    for failure in failures:
        kinds.setdefault(failure.trace.splitlines()[-1][:120], failure)
    for each in kinds.values():
        yield f"--- seed {each.seed} ({each.kind})\n{each.trace}"


if __name__ == "__main__":
    main()
