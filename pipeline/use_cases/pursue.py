"""The pursue stage: confirm suspected regressions, and bisect confirmed ones."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pipeline.experiments.confirm import suspected
from pipeline.experiments.culprit_search import to_locate
from pipeline.measure.plan import Plan
from pipeline.measure.progress import Watcher
from pipeline.model import Frozen, Regression, RegressionState
from pipeline.regressions.detected import Detected
from pipeline.regressions.grouping import machine_of
from pipeline.regressions.recovery import fix_of
from pipeline.storage.journal import EventKind, now
from pipeline.storage.server_log import Servers, lives
from pipeline.text.errors import UserError
from pipeline.transfer.batches import Batches, batch_of
from pipeline.use_cases.confirm import confirm_all
from pipeline.use_cases.confirm_in_time import confirm_in_time
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.explain import try_suspects
from pipeline.use_cases.locate import locate_all
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.planning import PlanningContext
from pipeline.use_cases.recover import recover_all, standing
from pipeline.use_cases.try_layouts import try_all_layouts

_LOG = logging.getLogger(__name__)


class Pursuit(Frozen):
    """The regressions that one machine class has to confirm and bisect, as a GitHub Actions job."""

    id: str
    machine_class: str
    runner: tuple[str, ...]
    regressions: int


@logged("pursue")
def pursue_detected(context: MeasuringContext, watcher: Watcher) -> Detected:
    """Confirm and bisect the regressions of the last detection on this machine.

    Raises UserError on a machine that belongs to no class of the configuration.
    """
    plan, detected = _last_detection(context)
    context.check_class()
    return pursue(context, plan, detected, watcher, fresh=True)


def _last_detection(context: PlanningContext) -> tuple[Plan, Detected]:
    plan = context.plan()
    return plan, context.regressions.detection_of(plan, now())


def classes_to_pursue(context: PlanningContext) -> set[str]:
    """Return the machine classes with regressions to confirm or bisect, by the last detection."""
    try:
        plan, detected = _last_detection(context)
    except UserError:
        return set()  # There is no detection of this plan, so the next one decides.
    return {machine_of(one) for one in _due(context, measurable(plan, detected.regressions))}


def _due(context: PlanningContext, among: Sequence[Regression]) -> list[Regression]:
    """Return the regressions that a night confirms, bisects, or checks for recovery."""
    regressions = tuple(among)
    return [
        one
        for one in regressions
        if one in suspected(regressions)
        or one in _to_locate(context, regressions, fresh=False)
        or (standing(one) and fix_of(one, regressions) is not None)
    ]


def _without_server(context: PlanningContext, run: str) -> set[str]:
    """Return the classes of cloud servers that have no server in the night of a workflow run."""
    lived = lives(Servers(context.results).read()).values()
    rented = {each.rent.machine_class for each in lived if each.rent.night == run}
    return {each.name for each in context.config.machine_class if each.server_type} - rented


def pursuits(context: PlanningContext, run: str = "") -> list[Pursuit]:
    """Return a job for each machine class with regressions to confirm or bisect.

    Each job is recorded as a batch and has the batch's ``id``. All attempts at a workflow ``run``
    share their batches. A class without a server in this run waits for another night.
    """
    plan, detected = _last_detection(context)
    regressions = tuple(measurable(plan, detected.regressions))
    due = _due(context, regressions)
    if run:
        away = _without_server(context, run)
        for name in sorted(away & {machine_of(one) for one in due}):
            _LOG.warning(
                f"the regressions of class {name} wait for the next night, because this one has "
                "no server of that class"
            )
        due = [one for one in due if machine_of(one) not in away]
    counts: dict[str, int] = {}
    for one in due:
        counts[machine_of(one)] = counts.get(machine_of(one), 0) + 1
    labels = {each.name: each.labels for each in context.config.machine_class}
    batches = [
        batch_of(
            name,
            name,
            now(),
            regressions=[one.fingerprint for one in regressions if machine_of(one) == name],
            run=run,
        )
        for name in sorted(counts)
    ]
    Batches(context.results).hand_out(batches)
    return [
        Pursuit(
            id=batch.id,
            machine_class=(name := batch.machine_class),
            runner=labels.get(name, ("self-hosted", name)),
            regressions=counts[name],
        )
        for batch in batches
    ]


def pursue(
    context: MeasuringContext, plan: Plan, detected: Detected, watcher: Watcher, fresh: bool
) -> Detected:
    """Confirm suspected regressions, bisect confirmed ones, and return them with their states.

    Regressions that seem to have recovered are measured first. Undecided regressions are continued
    if they have new evidence. Regressions that instruction counts confirmed are measured once with
    timed runs, after the bisection. All measurements except the bisection share the time of
    ``[confirm] night``. ``fresh`` is true if this night measured new runs; otherwise earlier
    measurements are not repeated. Only regressions of this machine's class are included, and none
    of imported lines.
    """
    settings = context.config.confirm
    ends = context.clock() + settings.night

    def here(regressions: Sequence[Regression]) -> list[Regression]:
        return [
            one for one in measurable(plan, regressions) if machine_of(one) == context.machine_class
        ]

    if fresh:
        seconds = min(settings.budget, settings.night)
        recover_all(context, plan, here(detected.regressions), seconds, watcher)
        detected = context.regressions.joined(detected, now())
    left = ends - context.clock()
    doubts = here(suspected(detected.regressions))
    confirm_all(context, plan, doubts, watcher, seconds=left, go_on=False)
    detected = context.regressions.joined(detected, now())
    if fresh:
        _try_settings(context, plan, here(detected.regressions), ends, watcher)
        try_all_layouts(context, plan, here(detected.regressions), ends, watcher)
        detected = context.regressions.joined(detected, now())
    left = ends - context.clock()
    locate_all(context, plan, here(_to_locate(context, detected.regressions, fresh)), watcher)
    detected = context.regressions.joined(detected, now())
    confirm_in_time(context, plan, here(detected.regressions), left, watcher)
    return context.regressions.joined(detected, now())


def measurable(plan: Plan, regressions: Sequence[Regression]) -> list[Regression]:
    """Return the regressions that can be measured again: all but those of imported results."""
    return [one for one in regressions if not plan.imports(one.line)]


def _try_settings(
    context: MeasuringContext,
    plan: Plan,
    regressions: Sequence[Regression],
    ends: float,
    watcher: Watcher,
) -> None:
    """Test changed settings as the cause of regressions, in the time left after confirming."""
    for regression in regressions:
        left = ends - context.clock()
        if regression.worse and regression.state is RegressionState.CONFIRMED and left > 0:
            try:
                try_suspects(context, plan, regression, left, watcher)
            except UserError as error:
                _LOG.warning(
                    "the changed settings are not tested as the cause of regression "
                    f"{regression.fingerprint}: {error}"
                )


def _to_locate(
    context: PlanningContext, regressions: Sequence[Regression], fresh: bool
) -> list[Regression]:
    tried = {
        event.fingerprint
        for event in context.regressions.events(now())
        if event.event is EventKind.BISECTED
    }
    return [
        one for one in regressions if to_locate(one) and (fresh or one.fingerprint not in tried)
    ]
