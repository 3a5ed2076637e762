"""Accept from a bench only what the hub asked it to measure.

The hub does not trust benches. It checks the name of each file before the transfer, and the content
of each bundle before it accepts it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath

from pipeline.experiments.recorded import SEARCH
from pipeline.measure.run import BUILDS_FILE, BuildKey, build_key
from pipeline.model import MOST, Cell, Control, Manifest, Origin, Revision
from pipeline.storage.bundle import BUNDLES, EXPERIMENTS, SUFFIX, read_bundle
from pipeline.storage.ingest import parse_bundle
from pipeline.text.errors import UserError
from pipeline.transfer.batches import CLAIM

SKEW = timedelta(minutes=10)
"""Maximum difference between the clocks of a bench and of the hub."""

MOST_ATTEMPTS = 9
"""Maximum number of disturbed attempts at one run that the hub accepts."""

_NAME = re.compile(
    rf"(?P<run>.+)-r(?P<repetition>[1-9]\d{{0,9}})(\.disturbed-(?P<attempt>[1-9]\d*))?"
    rf"{re.escape(SUFFIX)}"
)

ORIGIN = Origin.MEASURED
"""The only origin of runs that the hub accepts: a bench may not send imported values."""

NOT_ASKED = "was not requested from this bench, so it is not collected"


@dataclass(frozen=True)
class CellRuns:
    """A cell that a bench should measure, and the maximum number of its runs."""

    cell: Cell
    most: int = MOST


Cells = Mapping[str, CellRuns]
"""Cells by the prefix of their runs' names, which consists of target, label and key."""


def cells_by_run(cells: Iterable[tuple[Cell, int]]) -> dict[str, CellRuns]:
    """Return cells, with the maximum numbers of their runs, by the prefix of their runs' names."""
    return {cell.run_id(1).removesuffix("-r1"): CellRuns(cell, most) for cell, most in cells}


@dataclass(frozen=True)
class Assignment:
    """What the hub asked a bench to measure: cells, and runs of each.

    ``since`` is when a batch was handed out; None for a class that measures the plan by its own
    timer. ``until`` is the present time. ``experiments`` has the cells of each experiment, by its
    name. ``controls`` returns the controls of a machine (given by hostname) in a night.
    """

    machine_class: str
    since: datetime | None
    until: datetime
    cells: Cells = field(default_factory=dict)
    experiments: Mapping[str, Cells] = field(default_factory=dict)
    controls: Callable[[Control], Mapping[str, CellRuns]] = lambda _: {}
    control_labels: frozenset[str] = frozenset()

    def asks(self, name: str) -> bool:
        """Whether the hub asked for a file, judged only by its name."""
        match PurePosixPath(name).parts:
            case (file,) if file in (BUILDS_FILE, CLAIM):
                return True
            case (folder, file) if folder == BUNDLES:
                return self._asked(file, self.cells) or self._may_be_control(file)
            case (folder, experiment, file) if folder == EXPERIMENTS:
                return experiment in self.experiments and file == SEARCH
            case (folder, experiment, inner, file) if (folder, inner) == (EXPERIMENTS, BUNDLES):
                return self._asked(file, self.experiments.get(experiment, {}))
        return False

    def chosen(self, names: Iterable[str], where: str) -> tuple[list[str], dict[str, str]]:
        """Return the names of files to accept from a bench, and messages about the others, by name.

        ``where`` is the folder of the files. All files of an experiment share one message. Without
        a batch, there are no messages about experiments: they stay on the bench until the hub asks
        for them.
        """
        chosen: list[str] = []
        others: dict[str, int] = {}
        for name in names:
            top = "/".join(name.split("/")[:2])
            if self.asks(name):
                chosen.append(name)
            elif self.since is not None or not top.startswith(f"{EXPERIMENTS}/"):
                others[top] = others.get(top, 0) + 1
        lines = {
            top: f"{where}/{top}{f' ({count} files)' if count > 1 else ''} {NOT_ASKED}"
            for top, count in others.items()
        }
        return chosen, lines

    def check(self, path: Path, name: str) -> None:
        """Check that the content of a bundle is what the hub asked for.

        Raises UserError for a bundle that cannot be used, that has another cell than its name says,
        or that was measured before the batch was handed out or in the future.
        """
        bundle = read_bundle(path)
        manifest = bundle.manifest
        cell = self._cell(manifest, name)
        if cell is None:
            raise UserError(f"{path} is not a control of this night, so it is refused")
        steps = {step.name for step in cell.workload.steps}
        for what, found, wanted in (
            ("machine class", manifest.machine.machine_class, self.machine_class),
            ("machine class", cell.machine_class, self.machine_class),
            ("cell", manifest.cell_key, cell.key),
            ("run", manifest.run_id, cell.run_id(manifest.repetition)),
            ("revision", _anywhere(manifest.revision), _anywhere(cell.revision)),
            ("configuration", manifest.config, cell.config),
            ("workload", manifest.workload, cell.workload),
            ("control", manifest.control, cell.control),
            ("build", _built(manifest), _build_of(cell)),
            ("origin", manifest.origin, ORIGIN),
            ("line", manifest.line, None),
            ("set of steps", {each.step.name for each in manifest.steps} - steps, set()),
        ):
            if found != wanted:
                raise UserError(
                    f"{path} is refused: its {what} differs from what the hub asked for"
                )
        self._check_times(path, manifest)
        parse_bundle(path, bundle)

    def builds(self) -> set[BuildKey]:
        """Return the builds of the requested cells."""
        groups = (self.cells, *self.experiments.values())
        return {build_key(each.cell) for cells in groups for each in cells.values()}

    def _asked(self, name: str, cells: Cells) -> bool:
        found = _NAME.fullmatch(name)
        if found is None or found["run"] not in cells:
            return False
        attempt = int(found["attempt"] or 0)
        return int(found["repetition"]) <= cells[found["run"]].most and attempt <= MOST_ATTEMPTS

    def _may_be_control(self, name: str) -> bool:
        found = _NAME.fullmatch(name)
        label = found["run"].rpartition("-")[0] if found is not None else ""
        return label in self.control_labels and int(found["repetition"] if found else 0) <= 2

    def _cell(self, manifest: Manifest, name: str) -> Cell | None:
        parts = PurePosixPath(name).parts
        cells = self.cells if parts[0] == BUNDLES else self.experiments[parts[1]]
        found = _NAME.fullmatch(parts[-1])
        run = found["run"] if found is not None else ""
        if run in cells:
            return cells[run].cell
        control = manifest.control
        if control is None or control.machine != manifest.machine.hostname:
            return None
        if abs(control.night - manifest.started_at.date()) > timedelta(days=1):
            return None
        of_night = self.controls(control)
        return of_night[run].cell if run in of_night else None

    def _check_times(self, path: Path, manifest: Manifest) -> None:
        begins, ends = manifest.started_at, manifest.ended_at
        if ends - self.until > SKEW:
            raise UserError(
                f"the run in {path} ended in the future, on {ends:%Y-%m-%d %H:%M}; set the clock "
                "of the bench"
            )
        if self.since is not None and self.since - begins > SKEW:
            raise UserError(
                f"{path} was measured before its batch was handed out; it is not collected"
            )
        for record in (*manifest.steps, *manifest.repeated):
            if max(begins - record.started_at, record.started_at - ends) > SKEW:
                raise UserError(
                    f"{path} has a step that began before or after its run, so it is refused; "
                    "check the clock of the bench"
                )


def _anywhere(revision: Revision) -> Revision:
    """Return a revision without its origin, which may differ between machines."""
    return revision.model_copy(update={"supply": None})


def _built(manifest: Manifest) -> tuple[str, str, str]:
    return manifest.build.target, manifest.build.version, manifest.build.options


def _build_of(cell: Cell) -> tuple[str, str, str]:
    return cell.revision.target, cell.revision.version, cell.build_options
