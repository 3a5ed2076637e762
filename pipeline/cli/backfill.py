"""The verb backfill."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from pipeline.analyse.backfill import Choice, Gaps, outlook
from pipeline.analyse.gaps import Asked, find_gaps
from pipeline.cli.app import app
from pipeline.cli.console import out, screen, warn
from pipeline.cli.detect import show as show_detected
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption, read_option
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher, show_left
from pipeline.cli.stages import check_tools, detect_stage, measure, take_bundles
from pipeline.config import DEFAULT_FILE
from pipeline.execute.begun import Begun, begin, finish, load_begun
from pipeline.execute.build import NotBuiltError
from pipeline.execute.discover import Discovered, discover
from pipeline.execute.expect import Expectation
from pipeline.execute.plan import Plan
from pipeline.execute.run import Builds, build_key, save_builds
from pipeline.execute.watch import Watcher
from pipeline.model import Cell
from pipeline.store.queries import measured
from pipeline.units import counted, parse_duration, show_duration


@app.command("backfill")
def backfill_verb(
    line: Annotated[
        list[str] | None, typer.Option(help="A line, any number of times; all if none is given.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="At most so many revisions.", show_default=False)
    ] = None,
    budget: Annotated[str, typer.Option(help="Time that it may take.")] = "1h",
    since: Annotated[str, typer.Option(help="The first revision to measure.")] = "",
    until: Annotated[str, typer.Option(help="The last revision to measure.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be measured and why, as foreseen.")
    ] = False,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Measure skipped revisions, the most informative first.

    First those that tell where a known change is, then the middle of the widest gap. Killed at any
    point, the same command goes on where it was.

    Example: nightshift backfill --line trunk --budget 2h
    """
    context = MeasuringContext(config, quick)
    seconds = read_option("budget", budget, parse_duration)
    asked = Asked(tuple(line or ()), since, until)
    asked.check(context.file)
    found = discover(context.offers(), context.cache, context.results)
    fill = Backfill(context, found, asked, context.clock)
    if dry_run:
        foreseen = fill.foreseen(count, seconds)
        if form is Format.JSON:
            print_json([_as_row(choice) for choice in foreseen])
            return
        for choice in foreseen:
            out.print(f"{choice.line} {choice.label}  {choice.why}", markup=False)
        if not foreseen:
            out.print("nothing was skipped")
        return
    check_tools(context)
    watcher = make_watcher(screen())
    began = time.monotonic()
    fill.run(count, seconds, watcher)
    detected = detect_stage(context, fill.plan())
    left = fill.left()
    if form is Format.JSON:
        print_json(
            {
                "measured": [_as_row(choice) for choice in fill.done],
                "left_out": [
                    {**_as_row(choice), "failure": failure} for choice, failure in fill.failed
                ],
                "left": left,
                "seconds": round(time.monotonic() - began, 3),
                "detected": detected.model_dump(mode="json"),
            }
        )
        return
    for choice in fill.done:
        out.print(f"{choice.line} {choice.label}  {choice.why}", markup=False)
    out.print(
        f"{counted(len(fill.done), 'revision')} measured in "
        f"{show_duration(time.monotonic() - began)}, {left} left in the gaps"
    )
    show_detected(detected)


def _as_row(choice: Choice) -> dict[str, str]:
    return {"line": choice.line, "revision": choice.label, "why": choice.why}


@dataclass
class Backfill:
    """Measures what was skipped of the lines that are asked for, one revision after another.

    ``done`` are the revisions that were measured, ``failed`` those that have no build, and why.
    """

    context: MeasuringContext
    found: Discovered
    asked: Asked
    clock: Callable[[], float] = time.monotonic
    done: list[Choice] = field(default_factory=list)
    failed: list[tuple[Choice, str]] = field(default_factory=list)

    def plan(self, choice: Choice | None = None) -> Plan:
        """Return the plan of a night, or that of one revision."""
        if choice is None:
            return self.context.plan(self.found)
        whole = self.context.plan(self.found, {choice.line: {choice.label}})
        return whole.alone(choice.line, choice.label)

    def left(self) -> int:
        """Return how many revisions could still be measured."""
        return sum(gaps.left() for gaps in self._gaps())

    def foreseen(self, count: int | None, seconds: float) -> list[Choice]:
        """Return what would be measured, as far as that can be told, in the time of its steps."""
        chosen: list[Choice] = []
        spent = 0.0
        # All revisions of a line have the same steps.
        steps: dict[str, float] = {}
        for choice in self._foreseen():
            if choice.line not in steps:
                runs = self.plan(choice).remaining(())
                steps[choice.line] = Expectation(cell for cell, _ in runs).left
            spent += steps[choice.line]
            if len(chosen) == count or (chosen and spent > seconds):
                break
            chosen.append(choice)
        return chosen

    def run(self, count: int | None, seconds: float, watcher: Watcher) -> None:
        """Measure until nothing is left, the number is reached or the time is spent.

        Another revision is not begun where there is less time than one took so far. One without a
        build is remembered as such (``results/builds.json``) and passed over. Raises UserError for
        what has nothing to do with a revision.
        """
        began, longest = self.clock(), 0.0
        with self.context.workspace.held():
            take_bundles(self.context)
            while count is None or len(self.done) < count:
                left = began + seconds - self.clock()
                if left <= longest:
                    break
                choice = next(self._foreseen(), None)
                if choice is None:
                    break
                watcher.note(
                    f"{choice.line} {choice.label} is next: {choice.why}; {show_left(left)} left"
                )
                if self._measure(choice, watcher):
                    longest = max(longest, left - (began + seconds - self.clock()))

    def _foreseen(self) -> Iterator[Choice]:
        """Yield what is next: what was begun, then what tells most."""
        lines = []
        for gaps in self._gaps():
            begun = self._begun(gaps)
            yield from begun
            there = gaps.measured | {choice.place for choice in begun}
            lines.append(replace(gaps, measured=there))
        yield from outlook(lines)

    def _gaps(self) -> list[Gaps]:
        context = self.context
        return find_gaps(
            context.file,
            self.asked,
            self.plan(),
            self.found,
            context.store,
            context.results,
            context.builder,
        )

    def _begun(self, gaps: Gaps) -> list[Choice]:
        """Return what was begun of a line; with other settings it would be another cell."""
        found = []
        for one in load_begun(self.context.results):
            if one.line == gaps.line and one.revision in gaps.labels:
                place = gaps.labels.index(one.revision)
                choice = Choice(gaps.line, one.revision, place, "it was begun and not finished")
                if tuple(self.plan(choice).keys()) == one.cells:
                    found.append(choice)
        return found

    def _measure(self, choice: Choice, watcher: Watcher) -> bool:
        """Measure all that is missing of a revision; False if it has no build."""
        context, plan = self.context, self.plan(choice)
        runs = plan.remaining(measured(context.store))
        begun = Begun(line=choice.line, revision=choice.label, cells=tuple(plan.keys()))
        if runs:
            builds = self._build(runs[0][0], choice)
            if builds is None:
                finish(begun, context.results)
                return False
            begin(begun, context.results)
            measure(context, runs, builds, watcher, lambda _cell, _n, path: self._take(path))
        finish(begun, context.results)
        self.done.append(choice)
        return True

    def _take(self, path: Path) -> None:
        self.context.ingest([path])

    def _build(self, cell: Cell, choice: Choice) -> Builds | None:
        context, key = self.context, build_key(cell)
        try:
            build = context.builder.obtain(cell.revision, cell.build_options)
        except NotBuiltError as error:
            why = f"{cell.revision.target} {cell.revision.version} has no build: {error}"
            warn(f"{why}; it is passed over")
            save_builds(Builds({}, {key: why}), context.results)
            self.failed.append((choice, why))
            return None
        builds = Builds({key: build}, {})
        save_builds(builds, context.results)
        return builds
