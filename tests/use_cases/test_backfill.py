"""The verb backfill: what is chosen, what stops it and how it goes on; no server has to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.experiments.gaps import BackfillRequest
from pipeline.measure.backfill_state import Begun, begin, load_begun
from pipeline.measure.build import Builder, NotBuiltError
from pipeline.measure.discover import discovered
from pipeline.measure.progress import Silent, Watcher
from pipeline.measure.run import Builds
from pipeline.model import Build, Cell, Provenance, Revision
from pipeline.use_cases.backfill import Backfill
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.run import RunResult
from tests.cli.conftest import LONGER, Nightshift
from tests.cli.measured import write_run, write_runs

RELEASES = ["13.22", "14.0", "14.24", "16.9", "17.0", "17.9", "17.10", "17.11", "18.0"]
FOLLOWED = LONGER.replace('until = "18"', 'until = "18"\nnewest = 1')
BUILD = Build(
    target="postgres",
    version="",
    options="official",
    hash="",
    provenance=Provenance(source="x", locator="", sha256="", options="official"),
)


class Machine:
    """Measures at once, with the figures of the made-up runs; ``most`` of them, then it is killed.

    Revisions in ``dead`` have no build.
    """

    def __init__(self) -> None:
        self.made: list[tuple[str, int]] = []
        self.most = 1000
        self.dead: set[str] = set()

    def measure(
        self,
        context: MeasuringContext,
        runs: Sequence[tuple[Cell, int]],
        builds: Builds,
        watcher: Watcher,
        on_bundle: Callable[[Cell, int, Path], None],
    ) -> RunResult:
        for cell, repetition in runs:
            if len(self.made) == self.most:
                raise KeyboardInterrupt
            self.made.append((cell.revision.label, repetition))
            on_bundle(cell, repetition, write_run(context, cell, repetition))
        return RunResult(len(runs), {})

    def obtain(self, revision: Revision, options: str) -> Build:
        if revision.label in self.dead:
            raise NotBuiltError("cc: error")
        return BUILD


@pytest.fixture
def machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A line of nine releases of which the first, the middle and the last were measured."""
    found = discovered(folder / "results")
    machine = Machine()
    monkeypatch.setattr("pipeline.use_cases.backfill.discover", lambda *_: found)
    monkeypatch.setattr("pipeline.use_cases.backfill.check_tools", lambda _: None)
    monkeypatch.setattr("pipeline.use_cases.backfill.measure", machine.measure)
    monkeypatch.setattr(Builder, "obtain", machine.obtain)
    (folder / "nightshift.toml").write_text(LONGER)
    write_runs(leave=set(RELEASES) - {"13.22", "17.0", "18.0"})
    (folder / "nightshift.toml").write_text(FOLLOWED)
    return machine


def revisions(rows: Any) -> list[str]:
    return [row["revision"] for row in rows]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--line", "minor"), "there is no line 'minor'; did you mean minors?"),
        (("--budget", "30"), "--budget: '30' is not a duration"),
        (("--budget", "0s"), "--budget must be above zero, not 0s"),
        (("--count", "0"), "'--count'"),
        (("--since", "17.12"), "the line minors has no revision 17.12"),
        (("--until", "new"), "the line minors has no revision new"),
        (("--since", "17.9", "--until", "17.0"), "17.9 is not older than --until 17.0 on the line"),
    ],
)
def test_what_is_refused(
    nightshift: Nightshift, machine: Machine, options: tuple[str, ...], message: str
) -> None:
    ran = nightshift("backfill", *options)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert machine.made == []


def test_revisions_are_of_one_line(nightshift: Nightshift, folder: Path, machine: Machine) -> None:
    other = '\n[[line]]\nname = "majors"\ntarget = "postgres"\nsince = "17"\n'
    (folder / "nightshift.toml").write_text(FOLLOWED + other)
    ran = nightshift("backfill", "--since", "17.0")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "--since and --until apply to a single line; choose it with --line" in ran.err
    assert nightshift("backfill", "--since", "17.0", "--line", "minors", "--dry-run").code == 0


def test_a_line_without_a_workload_has_no_gaps(
    nightshift: Nightshift, folder: Path, machine: Machine
) -> None:
    """It may be there to be bisected on."""
    other = '\n[[line]]\nname = "other"\ntarget = "postgres"\nsince = "17"\nnewest = 1\n'
    config = FOLLOWED.replace('name = "cached"\n', 'name = "cached"\nlines = ["minors"]\n')
    (folder / "nightshift.toml").write_text(config + other)
    nightshift("ingest")
    rows = nightshift("backfill", "--dry-run", "--format", "json").json
    assert {row["line"] for row in rows} == {"minors"}
    ran = nightshift("backfill", "--line", "other", "--since", "17.0")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "no workload runs on the line other" in ran.err


def test_gaps_are_halved_and_what_was_filled_is_detected(
    nightshift: Nightshift, machine: Machine
) -> None:
    nightshift("ingest")
    foreseen = nightshift("backfill", "--dry-run", "--format", "json").json
    assert machine.made == []
    got = nightshift("backfill", "--count", "2", "--format", "json").json
    assert revisions(got["measured"]) == ["17.10", "14.24"] == revisions(foreseen)[:2]
    assert (
        got["measured"][0]["why"] == "the widest gap: 3 unmeasured revisions between 17.0 and 18.0"
    )
    assert machine.made[:3] == [("17.10", 1), ("17.10", 2), ("17.10", 3)]
    assert (got["left"], got["left_out"]) == (4, [])
    text = nightshift("backfill")
    assert "4 revisions measured in " in text.out
    assert ", 0 unmeasured revisions left" in text.out
    assert "1 improvement in 4 series" in text.out
    # With what was filled a change is seen: an improvement, whose place is looked for first.
    (found,) = got["detected"]["regressions"]
    first, second, *_ = text.err.splitlines()
    assert first.startswith(
        f"measuring minors 17.9 next: the cause of {found['fingerprint']} lies after 17.0 and up "
        "to 17.10 (2 revisions); "
    )
    assert second.startswith(
        "measuring minors 17.11 next: the widest gap: 1 unmeasured revision between 17.10 and "
        "18.0; "
    )
    assert {label for label, _ in machine.made} == set(RELEASES) - {"13.22", "17.0", "18.0"}
    assert nightshift("backfill", "--dry-run").out == "no unmeasured revision is left\n"
    assert nightshift("plan", "--format", "json").json["lines"] == {"minors": RELEASES}


def test_a_known_change_comes_first(nightshift: Nightshift, machine: Machine, folder: Path) -> None:
    """Of many measured revisions the change is between two that are not neighbours."""
    (folder / "nightshift.toml").write_text(LONGER)
    write_runs(leave=["17.10", "13.22", "17.0", "18.0"])
    (folder / "nightshift.toml").write_text(FOLLOWED)
    nightshift("ingest")
    (found,) = nightshift("detect", "--format", "json").json["regressions"]
    assert (found["last_good"], found["first_bad"]) == ("17.9", "17.11")
    got = nightshift("backfill", "--format", "json").json
    (measured,) = got["measured"]
    assert (
        measured["why"]
        == f"the cause of {found['fingerprint']} lies after 17.9 and up to 17.11 (2 revisions)"
    )
    (now,) = got["detected"]["regressions"]
    assert (now["last_good"], now["first_bad"]) == ("17.9", "17.10")
    assert now["fingerprint"] == found["fingerprint"]


def test_what_does_not_build_is_remembered_and_skipped(
    nightshift: Nightshift, machine: Machine
) -> None:
    machine.dead = {"17.10"}
    nightshift("ingest")
    ran = nightshift("backfill", "--count", "1", "--format", "json")
    (left_out,) = ran.json["left_out"]
    assert left_out["revision"] == "17.10"
    assert left_out["failure"] == "the build of postgres 17.10 failed: cc: error"
    assert "the build of postgres 17.10 failed: cc: error; this revision is skipped" in ran.err
    assert len(ran.json["measured"]) == 1
    assert "17.10" not in revisions(nightshift("backfill", "--dry-run", "--format", "json").json)


def test_killed_it_goes_on_with_what_was_begun(
    nightshift: Nightshift, machine: Machine, folder: Path
) -> None:
    nightshift("ingest")
    machine.most = 4
    assert nightshift("backfill").code == 130
    assert machine.made == [("17.10", 1), ("17.10", 2), ("17.10", 3), ("14.24", 1)]
    machine.most = 1000
    assert nightshift("backfill", "--dry-run").out.startswith(
        "minors 14.24  its measurement was begun but not finished\n"
    )
    got = nightshift("backfill", "--count", "1", "--format", "json").json
    assert revisions(got["measured"]) == ["14.24"]
    assert machine.made[4:] == [("14.24", 2), ("14.24", 3)]
    assert load_begun(folder / "results") == []


def test_what_was_begun_with_other_settings_is_another_matter(
    nightshift: Nightshift, machine: Machine, folder: Path
) -> None:
    nightshift("ingest")
    begin(Begun(line="minors", revision="14.0", cells=("other",)), folder / "results")
    begin(Begun(line="gone", revision="14.0", cells=("other",)), folder / "results")
    begin(Begun(line="minors", revision="12.0", cells=("other",)), folder / "results")
    assert revisions(nightshift("backfill", "--dry-run", "--format", "json").json)[0] == "17.10"
    (folder / "results" / "backfill.json").write_text("{")
    assert load_begun(folder / "results") == []


def test_a_range_is_measured_from_end_to_end(nightshift: Nightshift, machine: Machine) -> None:
    nightshift("ingest")
    got = nightshift(
        "backfill", "--since", "14", "--until", "16.9", "--dry-run", "--format", "json"
    ).json
    assert [(row["revision"], row["why"]) for row in got] == [
        ("14.0", "the revision given by --since"),
        ("16.9", "the revision given by --until"),
        ("14.24", "the widest gap: 1 unmeasured revision between 14.0 and 16.9"),
    ]


def test_the_budget_ends_it_before_another_would_exceed_it(
    nightshift: Nightshift, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    nightshift("ingest")
    context = MeasuringContext()
    seconds = [0.0]

    def measure(*args: Any) -> RunResult:
        seconds[0] += 100.0
        return machine.measure(*args)

    def fill() -> Backfill:
        return Backfill(
            context, discovered(context.results), BackfillRequest(), clock=lambda: seconds[0]
        )

    monkeypatch.setattr("pipeline.use_cases.backfill.measure", measure)
    for budget, count in [(299.0, 2), (10.0, 1)]:
        filling = fill()
        filling.run(None, budget, Silent())
        assert len(filling.done) == count, "the first however long it takes"
    # What is foreseen is counted in the time of its steps: 3 repetitions, 1.25 s for each step.
    steps = sum(1.25 * len(cell.workload.steps) * 3 for cell in context.plan().due)
    for budget, most, count in [(2 * steps, None, 2), (0.5 * steps, None, 1), (9 * steps, 1, 1)]:
        assert len(fill().foreseen(most, budget)) == count
