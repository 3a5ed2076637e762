"""Searching the culprits of a night: what needs no search, since it was shown already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.experiments.bisect import Bisected
from pipeline.experiments.confirm import experiment_of, planned_cell
from pipeline.measure.discover import discovered
from pipeline.measure.progress import Silent
from pipeline.model import Cell
from pipeline.storage.journal import Event, EventKind, Journal, now
from pipeline.use_cases import locate
from pipeline.use_cases.measuring import MeasuringContext
from tests.cli.conftest import LONGER, Nightshift
from tests.cli.measured import write_runs


def slower(cell: Cell, step: str) -> float:
    return 80.0 if cell.revision.order >= (17, 10) else 100.0


@pytest.mark.parametrize(("base", "searched"), [("17.9", False), ("17.0", True)])
def test_neighbours_are_named_without_a_search_where_they_were_compared(
    nightshift: Nightshift,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    base: str,
    searched: bool,
) -> None:
    """Confirmed between others, when it lay in a wider interval, it may not be of these two."""
    (folder / "nightshift.toml").write_text(LONGER)
    write_runs(levels=slower)
    for verb in ("ingest", "detect"):
        assert nightshift(verb).code == 0
    context = MeasuringContext(Path("nightshift.toml"))
    plan = context.plan()
    (found,) = context.regressions.detection_of(plan, now()).regressions
    asked = experiment_of(found, plan, context.config.confirm)
    assert (asked.base.revision.label, asked.head.revision.label) == ("17.9", "17.10")
    good = planned_cell(plan, found, found.shifts[0], base)
    asked = asked.model_copy(update={"base": good})
    asked.folder(context.results)
    journal = Journal(context.results)
    journal.append(
        [
            Event(
                at=now(),
                event=EventKind.CONFIRMED,
                fingerprint=found.fingerprint,
                experiment=asked.name,
            )
        ]
    )
    searches = []

    def bisected(_: MeasuringContext, cells: list[Cell], *__: Any) -> Bisected:
        searches.append([cell.revision.label for cell in cells])
        return Bisected(good="17.9", bad="17.10", found=(), ends=(), builds=2, runs=6)

    monkeypatch.setattr(locate, "discover", lambda *_: discovered(folder / "results"))
    monkeypatch.setattr(locate, "bisected", bisected)
    regressions = context.regressions.detection_of(plan, now()).regressions
    locate.locate_all(context, plan, regressions, Silent())
    assert searches == ([["17.9", "17.10"]] if searched else [])
    last = journal.read()[-1]
    assert last.event is EventKind.BISECTED
    assert (last.culprit.revision if last.culprit else None) == (None if searched else "17.10")
