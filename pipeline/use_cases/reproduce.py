"""Write a script that shows a regression on another machine, without nightshift."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.experiments.confirm import not_measurable, planned_cells
from pipeline.experiments.reproducer import (
    Found,
    Reproducer,
    ScriptSearch,
    Sides,
    SuspectStep,
)
from pipeline.experiments.script_runner import ShellScripts
from pipeline.files.atomic_write import write_atomically
from pipeline.files.json_file import read_json
from pipeline.measure.build import supply_of
from pipeline.measure.discover import discovered
from pipeline.measure.plan import Plan
from pipeline.measure.progress import Watcher
from pipeline.model import Cell, Mode, Regression, Revision, Shift, Step
from pipeline.model.metrics import is_worse
from pipeline.regressions.grouping import effect_size
from pipeline.regressions.reconcile import regression_named
from pipeline.sources import address_of
from pipeline.storage.journal import now
from pipeline.targets import find_target
from pipeline.targets.base.script import Scripted
from pipeline.text.errors import UserError
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.workloads import find_family
from pipeline.workloads.base import PlainSql

_LOG = logging.getLogger(__name__)

FOLDER = "reproducers"
"""The folder of the scripts, in that of the results."""

STEPS = 3
"""Maximum number of steps that are tried, those that changed most."""


@logged("reproduce")
def reproduce_regression(
    context: MeasuringContext, fingerprint: str, watcher: Watcher
) -> Reproducer | None:
    """Find the smallest script that shows a regression, and write it to results/reproducers.

    Returns None if none shows it. Raises UserError for an unknown regression, and for one of a DBMS
    or a workload that scripts cannot run.
    """
    plan = context.plan()
    regression = named(context, plan, fingerprint)
    if plan.imports(regression.line):
        raise UserError(not_measurable(regression))
    shift, cell = _setup(plan, regression)
    target, family = find_target(regression.target), find_family(cell.workload.family)
    steps = list(suspect_steps(regression, shift, cell))
    if not isinstance(target, Scripted) or not any(
        family.plain_sql(each.step, cell.workload, target.script.dialect, 1) for each in steps
    ):
        raise UserError(
            f"{regression.fingerprint}: no script can run {cell.workload.family} on "
            f"{regression.target}; the issue has the command that measures it again"
        )
    shell = target.script

    def sql(step: Step, rows: int) -> PlainSql:
        found = family.plain_sql(step, cell.workload, shell.dialect, rows)
        if found is None:
            raise RuntimeError(f"{step.name} has no plain SQL")
        return found

    sides = sides_of(context, plan, regression)
    folder = context.cache / FOLDER / regression.fingerprint
    account = context.workspace.account
    watcher.note(f"searching for a script that shows {regression.fingerprint}")
    shutil.rmtree(folder, ignore_errors=True)
    account.own(folder)
    try:
        # Nothing else may be measured meanwhile, and nothing disturb a script that times.
        with context.workspace.held():
            account.check_reach(folder.parent)
            search = ScriptSearch(
                regression.fingerprint,
                sides,
                shell,
                ShellScripts(folder, account, watcher.note),
                sql,
                shell.settings(cell.config),
                cell.workload.scale.rows,
            )
            found = search.find(steps[:STEPS])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _LOG.info(
        "reproducer decided",
        extra={"fingerprint": regression.fingerprint, "shows": found is not None},
    )
    return _written(context.results, regression, sides, found, search.tried) if found else None


def named(context: MeasuringContext, plan: Plan, fingerprint: str) -> Regression:
    """Return the regression whose fingerprint begins with some digits.

    Raises UserError if none or several match.
    """
    detected = context.regressions.detection_of(plan, now())
    return regression_named(fingerprint, (one for one in detected.regressions if one.worse))


def ends(regression: Regression) -> tuple[str, str]:
    """Return the labels of a good and a bad revision: the culprit's parent and the culprit.

    Without a confirmed culprit, these are the last good and the first bad revision.
    """
    culprit = regression.culprit
    if culprit is not None and culprit.confirmed:
        return culprit.parent, culprit.revision
    return regression.last_good, regression.first_bad


def revision_named(context: MeasuringContext, plan: Plan, target: str, label: str) -> Revision:
    """Return the revision of a target with a label, from the plan or the lists of sources.

    Raises UserError if neither has it.
    """
    listed = [line.revisions for line in plan.lines if line.target == target]
    found = next((one for line in listed for one in line if one.label == label), None)
    if found is None:
        offers = discovered(context.results).items()
        known = (one for offer, line in offers if offer.target == target for one in line)
        found = next((one for one in known if one.label == label), None)
    if found is None:
        raise UserError(
            f"{target} {label} is in no list of revisions; run `nightshift discover --refresh`"
        )
    return found


def sides_of(context: MeasuringContext, plan: Plan, regression: Regression) -> Sides:
    """Return the two versions that scripts compare, with the address that they come from.

    Raises UserError for revisions that a script cannot download.
    """
    good, bad = (
        revision_named(context, plan, regression.target, label) for label in ends(regression)
    )
    supply = supply_of(bad)
    address = address_of(supply, "$2", context.cache)
    if not address or supply_of(good) != supply:
        raise UserError(
            f"{regression.fingerprint}: a script cannot download {regression.target} from "
            f"{supply.name}; the issue has the command that measures it again"
        )
    return Sides(
        target=regression.target,
        good=good.label,
        bad=bad.label,
        good_locator=good.locator or good.version,
        bad_locator=bad.locator or bad.version,
        supply=supply,
        address=address,
    )


def suspect_steps(regression: Regression, shift: Shift, cell: Cell) -> Iterator[SuspectStep]:
    """Yield the steps of a cell that became slower, the slowest first, with their slowdowns."""
    steps = {step.name: step for step in cell.workload.steps}
    slower: dict[str, float] = {}
    for one in regression.shifts:
        key = one.series
        if key.step in steps and key.config == shift.series.config and _is_slower(one):
            ratio = one.after / one.before
            slower[key.step] = max(slower.get(key.step, 1.0), ratio, 1.0 / ratio)
    for name in sorted(slower, key=lambda name: -slower[name]):
        yield SuspectStep(steps[name], slower[name])


def _is_slower(shift: Shift) -> bool:
    positive = shift.before > 0 and shift.after > 0
    return shift.kind.of_levels and positive and is_worse(shift.series.metric, shift.effect)


def _setup(plan: Plan, regression: Regression) -> tuple[Shift, Cell]:
    """Return the clearest change of a level with the cell of its setup, a counted one if any."""
    shifts: Sequence[Shift] = [one for one in regression.shifts if _is_slower(one)]
    counted = [one for one in shifts if one.series.mode is Mode.COUNT]
    for shift in sorted(counted or shifts, key=lambda one: -effect_size(one)):
        for cell in planned_cells(plan, regression, shift):
            return shift, cell
    raise UserError(
        f"{regression.fingerprint}: only a change of a level can be reproduced by a script, in a "
        "setup that is still in the plan"
    )


def _written(
    results: Path, regression: Regression, sides: Sides, found: Found, tried: int
) -> Reproducer:
    reproducer = Reproducer(
        fingerprint=regression.fingerprint,
        step=found.step.name,
        good=sides.good,
        bad=sides.bad,
        instrument=found.instrument,
        ratio=found.bad.ratio,
        good_ratio=found.good.ratio,
        rows=found.program.rows,
        settings=found.program.settings,
        event=found.program.event,
        seconds=max(found.bad.seconds, found.good.seconds),
        tried=tried,
        at=now(),
        text=found.text,
    )
    folder = results / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(script_path(results, regression.fingerprint), found.text)
    path = folder / f"{regression.fingerprint}.json"
    write_atomically(path, reproducer.model_dump_json(indent=1))
    return reproducer


def script_path(results: Path, fingerprint: str) -> Path:
    """Return the path of the script about a regression, which may not exist."""
    return results / FOLDER / f"{fingerprint}.sh"


def reproducer_of(results: Path, fingerprint: str) -> Reproducer | None:
    """Return the script about a regression with what it showed; None if there is none."""
    return read_json(results / FOLDER / f"{fingerprint}.json", Reproducer.model_validate_json)


def present_script(results: Path, regression: Regression) -> str:
    """Return the script about a regression; empty if it compares other revisions, or none exists.

    A bisection or a new measurement between the two revisions makes another script due.
    """
    found = reproducer_of(results, regression.fingerprint)
    if found is None or (found.good, found.bad) != ends(regression):
        return ""
    return found.text
