"""Verify a fix of a regression: how much of the loss comes back, and what else becomes worse."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from pipeline.experiments.compare import figures_in, figures_of_steps
from pipeline.experiments.confirm import experiment_of, not_measurable, planned_cells
from pipeline.experiments.fix import FixVerification, new_losses, restored_figures
from pipeline.experiments.interleaved import ANEW, Question
from pipeline.experiments.record import Experiment
from pipeline.experiments.revision_spec import find_subject, parse_subject
from pipeline.experiments.source_trees import revision_of_tree
from pipeline.files.atomic_write import write_atomically
from pipeline.files.json_file import read_json
from pipeline.measure.build import supply_of
from pipeline.measure.discover import Offer, look_up
from pipeline.measure.patched_source import patched_source
from pipeline.measure.plan import Plan
from pipeline.measure.progress import Watcher
from pipeline.model import Cell, Regression, Revision
from pipeline.sources import change_of
from pipeline.storage.journal import now
from pipeline.text.errors import UserError
from pipeline.use_cases.compare import measured
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.reproduce import named, revision_named

_LOG = logging.getLogger(__name__)

FOLDER = "fixes"
"""The folder of the results of verified fixes, in that of the results."""


class FixRequest(NamedTuple):
    """The fix to verify: a patch file, a revision, or (without both) the reverted culprit.

    ``seconds`` limits the measured time of each of the two comparisons.
    """

    patch: Path | None = None
    revision: str = ""
    seconds: float = 1200.0


class _Fix(NamedTuple):
    """A fix: its name, the cell to compare with, and the cell that has it."""

    name: str
    base: Cell
    fixed: Cell


@logged("verify-fix")
def verify_fix(
    context: MeasuringContext, fingerprint: str, asked: FixRequest, watcher: Watcher
) -> FixVerification:
    """Measure a fix of a regression, and save the result in results/fixes.

    Good and bad are compared first, in the steps that changed; then bad and fixed in all steps of
    the workload. Raises UserError for an unknown regression, a fix that cannot be built, and a
    patch that does not apply.
    """
    plan = context.plan()
    regression = named(context, plan, fingerprint)
    if plan.imports(regression.line):
        raise UserError(not_measurable(regression))
    lost = experiment_of(regression, plan, context.config.confirm)
    fix = _fix(context, plan, regression, lost, asked)
    mode = lost.pair.mode
    question = lost.question.model_copy(update={"seconds": asked.seconds, "anew": ANEW})
    lost = lost.model_copy(update={"kind": f"loss-{regression.fingerprint}", "question": question})
    metrics = figures_in(mode, (), context.config.detect.metrics)
    tried = Experiment(
        kind=f"fix-{regression.fingerprint}",
        base=fix.base,
        head=fix.fixed,
        question=Question(
            figures=tuple(
                dict.fromkeys((*question.figures, *figures_of_steps(fix.base.workload, metrics)))
            ),
            smallest_effect=question.smallest_effect,
            seconds=asked.seconds,
            anew=ANEW,
        ),
    )
    loss = measured(context, lost, watcher)
    fixed = measured(context, tried, watcher)
    restored = restored_figures(loss, fixed)
    verification = FixVerification(
        fingerprint=regression.fingerprint,
        fix=fix.name,
        good=lost.base.revision.label,
        bad=lost.head.revision.label,
        base=fix.base.revision.label,
        mode=mode,
        at=now(),
        restored=() if loss.moved or fixed.moved else restored,
        worse=() if fixed.moved else new_losses(fixed, restored),
        compared=len(fixed.rows),
    )
    _LOG.info(
        "fix verified",
        extra={"fingerprint": regression.fingerprint, "verdict": verification.outcome.value},
    )
    folder = context.results / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{regression.fingerprint}.json"
    write_atomically(path, verification.model_dump_json(indent=1))
    return verification


def verification_of(results: Path, fingerprint: str) -> FixVerification | None:
    """Return the last verified fix of a regression; None if there is none."""
    return read_json(results / FOLDER / f"{fingerprint}.json", FixVerification.model_validate_json)


def _fix(
    context: MeasuringContext,
    plan: Plan,
    regression: Regression,
    lost: Experiment,
    asked: FixRequest,
) -> _Fix:
    bad = _whole(plan, regression, lost.head)
    target = regression.target
    if asked.revision:
        return _Fix(asked.revision, bad, _with(bad, _named_fix(context, bad, asked.revision)))
    if asked.patch is not None:
        try:
            text = asked.patch.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"the patch {asked.patch} cannot be read ({error})") from error
        folder = patched_source(bad.revision, asked.patch.name, text, context.cache)
        return _Fix(asked.patch.name, bad, _with(bad, _of_folder(context, target, folder)))
    return _reverted(context, plan, regression, bad)


def _named_fix(context: MeasuringContext, bad: Cell, name: str) -> Revision:
    """Return the revision with a fix: of the line's own source, of another one, or a folder."""
    offer = Offer(bad.revision.target, supply_of(bad.revision))
    if "/" not in name:
        revision, _ = look_up(offer, name, context.cache, ask_again=True)
        if revision is not None:
            return revision
    subject = parse_subject(f"{bad.revision.target}:{name}")
    subject = subject.model_copy(update={"options": bad.build_options})
    return find_subject(subject, context.cache, context.results)[0]


def _reverted(context: MeasuringContext, plan: Plan, regression: Regression, bad: Cell) -> _Fix:
    """Return the newest revision of the line, and the same without the culprit's change."""
    culprit = regression.culprit
    if culprit is None or not culprit.confirmed:
        raise UserError(
            f"{regression.fingerprint} has no confirmed culprit to revert; run `nightshift bisect "
            f"{regression.fingerprint}`, or give --patch or --revision"
        )
    commit = revision_named(context, plan, regression.target, culprit.revision)
    change = change_of(commit, context.cache)
    if not change:
        raise UserError(
            f"the culprit {culprit.revision} is a release, so there is no commit to revert; give "
            "--patch or --revision"
        )
    newest = next(line for line in plan.lines if line.name == regression.line).revisions[-1]
    name = f"the revert of {culprit.revision}"
    folder = patched_source(newest, name, change, context.cache, reverse=True)
    reverted = _of_folder(context, regression.target, folder)
    return _Fix(name, _with(bad, newest), _with(bad, reverted))


def _whole(plan: Plan, regression: Regression, head: Cell) -> Cell:
    """Return the planned cell of the bad revision, with all steps of its workload."""
    for shift in regression.shifts:
        for cell in planned_cells(plan, regression, shift, head.revision.label):
            if cell.workload.name == head.workload.name and cell.config == head.config:
                return cell
    return head


def _of_folder(context: MeasuringContext, target: str, folder: Path) -> Revision:
    return revision_of_tree(target, folder, "", context.cache, context.results)


def _with(cell: Cell, revision: Revision) -> Cell:
    return cell.model_copy(update={"revision": revision})
