"""Judge an experiment again, from the bundles that another machine measured.

The same code judges as on the measuring machine; only the runner differs: it reads bundles instead
of measuring.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from pathlib import Path

from pydantic import Field

from pipeline.experiments.experiment import Figures, Runner
from pipeline.experiments.interleaved import (
    FAILURES,
    Block,
    BlocksResult,
    Pair,
    Question,
    judged,
    measure_block,
)
from pipeline.experiments.runner import figures_of
from pipeline.files.json_file import read_json
from pipeline.measure.build import NotBuiltError
from pipeline.model import Cell, Frozen, Mode
from pipeline.storage.bundle import BUNDLES, bundle_path, read_bundle

SEARCH = "search.json"
"""The file in an experiment's folder with the conditions of a bisection:
:class:`SearchConditions`."""

_MOST_LABELS = 100_000


class SearchConditions(Frozen):
    """Which revisions had a build and which builds failed, to repeat a bisection exactly.

    ``built`` are the labels of revisions that had a build when the bisection began, ``failed``
    those whose build failed during it. With a wrong label the repetition fails; it never gives a
    wrong result.
    """

    built: tuple[str, ...] = Field(default=(), max_length=_MOST_LABELS)
    failed: tuple[str, ...] = Field(default=(), max_length=_MOST_LABELS)


def read_conditions(folder: Path) -> SearchConditions | None:
    """Load the conditions of a bisection; None before its end, and if the file is unreadable."""
    return read_json(folder / SEARCH, SearchConditions.model_validate_json)


class ObservedRunner:
    """Wraps a runner, and notes which builds existed at the beginning and which builds fail."""

    def __init__(self, runner: Runner, cells: Collection[Cell]) -> None:
        self._runner = runner
        self._built = tuple(cell.revision.label for cell in cells if runner.built(cell))
        self._failed: dict[str, None] = {}

    @property
    def conditions(self) -> SearchConditions:
        """The revisions that had a build when the search began, and the builds that failed."""
        return SearchConditions(built=self._built, failed=tuple(self._failed))

    def prepare(self, cell: Cell) -> None:
        """Make the build of a cell with the wrapped runner."""
        self._runner.prepare(cell)

    def built(self, cell: Cell) -> bool:
        """Whether the wrapped runner has the build of a cell."""
        return self._runner.built(cell)

    def measure(self, cell: Cell, attempt: int) -> Figures:
        """Run a cell once, and note whether its build fails."""
        try:
            return self._runner.measure(cell, attempt)
        except NotBuiltError:
            self._failed[cell.revision.label] = None
            raise


class MissingRunError(Exception):
    """An experiment that is judged again needs a run that has no bundle."""


class RecordedRunner:
    """A runner that measures nothing: it reads the bundles in an experiment's folder.

    ``runs`` is the number of bundles read, ``minutes`` their total duration. :meth:`clock` returns
    infinity after ``limit`` runs, so a repeated search ends where it ended on the measuring
    machine.
    """

    def __init__(
        self, folder: Path, conditions: SearchConditions | None = None, limit: float = math.inf
    ) -> None:
        conditions = conditions or SearchConditions()
        self._bundles = folder / BUNDLES
        self._built, self._failed = frozenset(conditions.built), frozenset(conditions.failed)
        self._limit = limit
        self.runs = 0
        self.minutes = 0.0

    def clock(self) -> float:
        """Return zero until ``limit`` runs have been read, and then infinity."""
        return 0.0 if self.runs < self._limit else math.inf

    def prepare(self, cell: Cell) -> None:
        """Do nothing, because the runs exist already."""

    def built(self, cell: Cell) -> bool:
        """Whether the measuring machine had a build of this cell when the search began."""
        return cell.revision.label in self._built

    def measure(self, cell: Cell, attempt: int) -> Figures:
        """Return the values of a recorded run. Raises MissingRunError without a bundle."""
        path = bundle_path(self._bundles, cell.run_id(attempt))
        if not path.exists():
            if cell.revision.label in self._failed:
                raise NotBuiltError("the measuring machine could not build it")
            raise MissingRunError(path.name)
        bundle = read_bundle(path)
        self.runs += 1
        taken = bundle.manifest.ended_at - bundle.manifest.started_at
        self.minutes += taken.total_seconds() / 60.0
        return figures_of(bundle)


def judge_recorded(pair: Pair, question: Question, folder: Path) -> BlocksResult:
    """Return the result of a comparison from the complete blocks in a folder of bundles.

    Raises BundleError for a bundle that was damaged since.
    """
    runner = RecordedRunner(folder)
    result = judged(question, _blocks(runner, pair, question), 0.0, pair.mode)
    return result.model_copy(update={"seconds": 60.0 * runner.minutes})


def _blocks(runner: Runner, pair: Pair, question: Question) -> Iterator[Block]:
    most = FAILURES if pair.mode is Mode.COUNT else question.blocks
    for number in range(1, most + 1):
        try:
            yield measure_block(runner, pair, number)
        except MissingRunError:
            return
