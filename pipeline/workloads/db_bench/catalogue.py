"""The steps of db_bench as data, in the order of one run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from pipeline.errors import meant

WRITE: Final = "writes"
RANGE: Final = "range queries"
POINT: Final = "point queries"

ALL: Final = "all"
"""The alias of every step."""

WRITER_BYTES: Final = 2 << 20
"""Bytes per second that the writer beside the queries of a step writes, as published."""

SHUFFLED = 10
"""One row of so many is overwritten before the queries, as published (overwritesome): a tree that
was loaded in key order has nothing but its last level."""

# What the published scripts give to all steps but the one that loads. Nothing is merged.
_RUN = ("--sync=false", "--merge_operator=put")
_WHILE_WRITING = (*_RUN, f"--benchmark_write_rate_limit={WRITER_BYTES}")
_RANGE = (*_WHILE_WRITING, "--seek_nexts=10")


class StepSpec(NamedTuple):
    """One step.

    ``benchmark`` is db_bench's name for what it does and ``options`` how. A step that ``loads``
    writes every row once, from one thread, into a new database; the others run for a time on what
    there is. In one with a ``writer`` db_bench starts a thread more, its first, that writes
    and is not counted. Options are those of benchmark.sh in RocksDB's tools/, as called by
    benchmark_compare.sh beside it.
    """

    name: str
    group: str
    benchmark: str
    options: tuple[str, ...] = ()
    loads: bool = False
    writer: bool = False


STEPS: Final = (
    StepSpec(
        "fillseq",
        WRITE,
        "fillseq",
        (
            # In key order there is nothing to sort, nor to recover that could not be loaded again.
            "--memtablerep=vector",
            "--allow_concurrent_memtable_write=false",
            "--disable_wal=true",
            # Files are moved to lower levels as they are, and so they must be made compressed.
            "--min_level_to_compress=0",
            "--sync=false",
        ),
        loads=True,
    ),
    StepSpec(
        "revrangewhilewriting",
        RANGE,
        "seekrandomwhilewriting",
        (*_RANGE, "--reverse_iterator=true"),
        writer=True,
    ),
    StepSpec(
        "fwdrangewhilewriting",
        RANGE,
        "seekrandomwhilewriting",
        (*_RANGE, "--reverse_iterator=false"),
        writer=True,
    ),
    StepSpec("readwhilewriting", POINT, "readwhilewriting", _WHILE_WRITING, writer=True),
    StepSpec("overwrite", WRITE, "overwrite", _RUN),
)
"""All steps, in the published order."""


def step_named(name: str) -> StepSpec:
    """Return a step. Raises ValueError for one that is not there."""
    for spec in STEPS:
        if spec.name == name:
            return spec
    names = [*(spec.name for spec in STEPS), WRITE, RANGE, POINT, ALL]
    raise ValueError(f"db_bench has no step or group {name!r}; {meant(name, names)}")


def select(names: Iterable[str]) -> tuple[StepSpec, ...]:
    """Return the steps that are named, by themselves or by their group, in the order of a run.

    The first step is always there: it makes the database of the others. Raises ValueError for an
    unknown name.
    """
    chosen = {STEPS[0].name}
    for name in names:
        group = {spec.name for spec in STEPS if name in (spec.group, ALL)}
        chosen |= group or {step_named(name).name}
    return tuple(spec for spec in STEPS if spec.name in chosen)
