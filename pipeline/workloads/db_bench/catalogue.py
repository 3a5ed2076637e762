"""The steps of the workload family db_bench, in the order of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from pipeline.workloads.base.steps import StepNames

LOAD: Final = "load"
WRITE: Final = "writes"
RANGE: Final = "range queries"
POINT: Final = "point queries"

WRITER_BYTES: Final = 2 << 20
"""Bytes per second that a step's background writer writes, as published."""

SHUFFLED = 10
"""One in this many rows is overwritten before the read steps, as in the published overwritesome:
otherwise, after a load in key order, the LSM tree has only its last level."""

# The published scripts' options for all steps but the load. Nothing is merged.
_RUN = ("--sync=false", "--merge_operator=put")
_WHILE_WRITING = (*_RUN, f"--benchmark_write_rate_limit={WRITER_BYTES}")
_RANGE = (*_WHILE_WRITING, "--seek_nexts=10")


class DbBenchStep(NamedTuple):
    """One step of db_bench: its benchmark and options.

    ``benchmark`` is db_bench's name for the step, which runs with ``options``. A step that
    ``loads`` writes every row once, from one thread, into a new database. The others run for a
    fixed time on the existing one. For a step with a ``writer``, db_bench starts an additional
    thread (its first one), which writes and whose operations are not counted. The work of the
    writer depends on time, so the mode count runs ``alone`` instead: the same benchmark without the
    writer. The options are those of benchmark.sh in RocksDB's tools/, as benchmark_compare.sh calls
    it.
    """

    name: str
    group: str
    benchmark: str
    options: tuple[str, ...] = ()
    loads: bool = False
    writer: bool = False
    alone: str = ""


STEPS: Final = (
    DbBenchStep(
        "fillseq",
        LOAD,
        "fillseq",
        (
            # A load in key order needs no sorting, and no recovery: it could be loaded again.
            "--memtablerep=vector",
            "--allow_concurrent_memtable_write=false",
            "--disable_wal=true",
            # Files move to lower levels unchanged, so they must be written compressed.
            "--min_level_to_compress=0",
            "--sync=false",
        ),
        loads=True,
    ),
    DbBenchStep(
        "revrangewhilewriting",
        RANGE,
        "seekrandomwhilewriting",
        (*_RANGE, "--reverse_iterator=true"),
        writer=True,
        alone="seekrandom",
    ),
    DbBenchStep(
        "fwdrangewhilewriting",
        RANGE,
        "seekrandomwhilewriting",
        (*_RANGE, "--reverse_iterator=false"),
        writer=True,
        alone="seekrandom",
    ),
    DbBenchStep(
        "readwhilewriting",
        POINT,
        "readwhilewriting",
        _WHILE_WRITING,
        writer=True,
        alone="readrandom",
    ),
    DbBenchStep("overwrite", WRITE, "overwrite", _RUN),
)
"""All steps, in the published order."""

_NAMES: Final = StepNames(STEPS)

step_named: Final = _NAMES.named


def select(names: Iterable[str]) -> tuple[DbBenchStep, ...]:
    """Return the db_bench steps that match some names, in the order of a run.

    The first step is always included: it creates the database. Raises UnknownStepError for an
    unknown name.
    """
    return _NAMES.select([STEPS[0].name, *names])
