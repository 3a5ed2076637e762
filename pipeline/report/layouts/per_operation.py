"""The layout of hardware activity per operation, such as CPU time per query."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.report.grid import Grid
from pipeline.report.layouts.base import TableOptions
from pipeline.report.layouts.blocks import Block, Head, block_grid, explained_once, head
from pipeline.report.tables import MeasuredSubject

BLOCKS: tuple[Block, ...] = (
    (
        *map(head, ("r/s", "rMB/s", "w/s", "wMB/s", "r/o", "rKB/o", "wKB/o")),
        Head("o/s", ("o/s", "qps")),
    ),
    tuple(map(head, ("cs/s", "cpu/s", "cs/o", "cpu/o"))),
    (head("cpu_us/o", 1), head("client_us/o", 1)),
)
"""The published tables of iostat and of vmstat, then CPU time per operation."""


def per_operation(subjects: Sequence[MeasuredSubject], options: TableOptions) -> list[Grid]:
    """Return the tables of hardware activity per operation, with ratios to the base."""
    what = "iostat, vmstat normalized by operation rate"
    grids = []
    for subject in subjects:
        grids.append(block_grid(subject, BLOCKS, what, options, relative=False))
        if len(subject.columns) > 1:
            grids.append(block_grid(subject, BLOCKS, what, options, relative=True))
    return explained_once(grids)
