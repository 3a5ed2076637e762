"""What the load generator costs by itself, for each family on each target that it runs on.

Runs a short night of every family and prints, for each step, the processor time per operation
of the load generator (all of it, and the part outside of the kernel) beside the server's. Where
the DBMS runs inside the load generator, one process has both: a CPU profile is taken, and the
samples that have no function of the DBMS on their stack are the load generator's.

    python benchmarks/client_cost.py --seconds 5
    python benchmarks/client_cost.py --only postgres sqlite
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import create_engine

from pipeline.storage.bundle import read_bundle
from pipeline.storage.measurements import rows

LINE = """
[[line]]
name = "{target}"
target = "{target}"
newest = 1
"""

WORKLOAD = """
[[workload]]
name = "{family}-{target}"
family = "{family}"
lines = ["{target}"]
config = "{config}"
measure = "{seconds}s"
warmup = "500ms"
{more}
"""

CONFIGS = {
    "postgres": "x10a",
    "mysql": "small_nogtid",
    "mariadb": "small",
    "sqlite": "wal",
    "rocksdb": "byrx",
}

SYSBENCH = 'steps = ["point-query", "range-notcovered-pk", "read-only_range=100", "update-index"]'
INSERT = 'rows = 5000\nsteps = ["qr100", "qp100"]'
TPROC_C = "options = { items = 1000, customers = 300 }"
RUNS = (
    *(("sysbench", target, SYSBENCH) for target in ("postgres", "mysql", "mariadb")),
    ("sysbench", "sqlite", f"{SYSBENCH}\nprofile = true"),
    *(("insert_benchmark", target, INSERT) for target in ("postgres", "mysql", "mariadb")),
    ("insert_benchmark", "sqlite", f"{INSERT}\nprofile = true"),
    *(("tproc-c", target, TPROC_C) for target in ("postgres", "mysql", "mariadb")),
    ("db_bench", "rocksdb", 'rows = 100000\nsteps = ["all"]\nprofile = true'),
)

INSIDE = {
    # From the library's interface on, whatever it calls.
    "sqlite": re.compile(r"(^|;)sqlite3_"),
    # Its benchmark is compiled into the same namespace: all but that, by the function itself.
    "rocksdb": re.compile(
        r";(?!\[db_bench\]|rocksdb::(Benchmark|Stats|HistogramImpl|RandomGenerator|Random\b))[^;]*$"
    ),
}
"""What a stack of samples has when the DBMS works, in a process that is also the generator."""

COLUMNS = ("client_us/o", "client_user_us/o", "cpu_us/o")


class Cost(NamedTuple):
    """Microseconds per operation of one step: the generator's, its own part, the server's."""

    family: str
    target: str
    step: str
    client: float
    own: float | None
    server: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=5, help="of each step")
    parser.add_argument("--only", nargs="*", default=(), help="targets; all if not given")
    options = parser.parse_args()
    wanted = [run for run in RUNS if not options.only or run[1] in options.only]
    print(f"{'family':17} {'target':9} {'step':28} client  own  server us/o  client/server  own")
    for family, target, more in wanted:
        with tempfile.TemporaryDirectory() as folder:
            for cost in measure(Path(folder), family, target, more, options.seconds):
                own = f"{cost.own:5.1f}" if cost.own is not None else "    -"
                part = f"{cost.own / cost.server:5.0%}" if cost.own is not None else "    -"
                print(
                    f"{cost.family:17} {cost.target:9} {cost.step:28} {cost.client:6.1f} {own} "
                    f"{cost.server:9.1f} {cost.client / cost.server:14.0%} {part}",
                    flush=True,
                )


def measure(folder: Path, family: str, target: str, more: str, seconds: int) -> Iterator[Cost]:
    """Run one workload and give the cost of each of its steps."""
    (folder / "nightshift.toml").write_text(
        "[night]\nrepetitions = 1\n"
        + LINE.format(target=target)
        + WORKLOAD.format(
            family=family, target=target, config=CONFIGS[target], seconds=seconds, more=more
        )
    )
    for verb in ("discover", "run", "ingest"):
        nightshift(folder, verb)
    engine = create_engine(f"sqlite:///{folder}/results/store.db")
    found: dict[str, dict[str, float]] = {}
    for row in rows(engine, metrics=COLUMNS):
        found.setdefault(row.step, {})[row.metric] = row.value
    shares = inside_shares(folder, target)
    for step, values in found.items():
        if "client_us/o" in values:
            client, own = values["client_us/o"], values.get("client_user_us/o")
            yield Cost(family, target, step, client, own, values["cpu_us/o"])
        elif step in shares and "cpu_us/o" in values:
            both, share = values["cpu_us/o"], shares[step]
            yield Cost(family, target, step, both * (1 - share), None, both * share)


def inside_shares(folder: Path, target: str) -> dict[str, float]:
    """Return the part of the samples of each profiled step in which the DBMS worked."""
    shares: dict[str, float] = {}
    for path in (folder / "results" / "bundles").glob("*.tar.zst"):
        bundle = read_bundle(path)
        for record in bundle.manifest.steps:
            folded = bundle.files.get(f"{record.folder}/profile.folded")
            if folded and target in INSIDE:
                shares[record.step.name] = inside(folded.decode().splitlines(), INSIDE[target])
    return shares


def inside(lines: Sequence[str], mark: re.Pattern[str]) -> float:
    """Return the part of folded stacks' samples that have the mark."""
    total = marked = 0
    for line in lines:
        stack, _, samples = line.rpartition(" ")
        total += int(samples)
        marked += int(samples) if mark.search(stack) else 0
    return marked / total if total else 0.0


def nightshift(folder: Path, verb: str) -> None:
    """Run a verb in a folder; its output is shown only when it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", verb],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{verb} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
