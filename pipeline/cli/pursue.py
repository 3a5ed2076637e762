"""The verb pursue: what is suspected is measured again, and the culprits are searched."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from pipeline.analyse.confirm import suspected
from pipeline.analyse.detected import Detected, load_detected
from pipeline.analyse.locate import to_locate
from pipeline.analyse.recovery import fix_of
from pipeline.analyse.refresh import refresh
from pipeline.analyse.regressions import machine_of
from pipeline.cli.app import app
from pipeline.cli.confirm import confirm_all
from pipeline.cli.console import screen, warn
from pipeline.cli.detect import show
from pipeline.cli.explain import try_suspects
from pipeline.cli.locate import locate_all
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, QuickOption
from pipeline.cli.output import print_json, print_matrix
from pipeline.cli.progress import make_watcher
from pipeline.cli.recover import recover_all, standing
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.execute.plan import Plan
from pipeline.execute.watch import Watcher
from pipeline.journal import EventKind, Journal, now
from pipeline.model import Frozen, Regression, RegressionState


class PursuitFormat(StrEnum):
    """How what was pursued, or is to be, is printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB_MATRIX = "github-matrix"


class Pursuit(Frozen):
    """What machines of a class have to pursue, as a job. ``runner`` are the labels of theirs."""

    id: str
    machine_class: str
    runner: tuple[str, ...]
    regressions: int


@app.command("pursue")
def pursue_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: Annotated[
        PursuitFormat,
        typer.Option("--format", help="github-matrix: only say which machine classes have to."),
    ] = PursuitFormat.TEXT,
) -> None:
    """Confirm suspected regressions and bisect to their culprits.

    What a night does after it has searched for changes, and in its time: what seems to be mended,
    what is suspected, whether changed settings are why, and the commits. Where the configuration
    has machine classes, that is what was seen on this machine's class.

    Example: nightshift pursue
    """
    context = MeasuringContext(config, quick)
    plan = context.plan()
    refresh(context.results, context.store, now())
    detected = load_detected(context.results, plan)
    if form is PursuitFormat.GITHUB_MATRIX:
        print_matrix(_pursuits(context, detected.regressions))
        return
    context.check_class()
    detected = pursue(context, plan, detected, make_watcher(screen()), fresh=True)
    if form is PursuitFormat.JSON:
        print_json(detected.model_dump(mode="json"))
    else:
        show(detected)


def _pursuits(context: MeasuringContext, regressions: Sequence[Regression]) -> list[Pursuit]:
    """Return a job for each machine class on which there is something to pursue."""
    due = [
        one
        for one in regressions
        if one in suspected(tuple(regressions))
        or one in _to_locate(context, regressions, fresh=False)
        or (standing(one) and fix_of(one, regressions) is not None)
    ]
    counts: dict[str, int] = {}
    for one in due:
        counts[machine_of(one)] = counts.get(machine_of(one), 0) + 1
    labels = {each.name: each.labels for each in context.config.machine_class}
    return [
        Pursuit(
            id=name,
            machine_class=name,
            runner=labels.get(name, ("self-hosted", name)),
            regressions=count,
        )
        for name, count in sorted(counts.items())
    ]


def pursue(
    context: MeasuringContext, plan: Plan, detected: Detected, watcher: Watcher, fresh: bool
) -> Detected:
    """Confirm what is suspected and locate what is confirmed; return the detection as it is then.

    What seems to be mended is looked at first. What was measured again before and is undecided goes
    on where its evidence has changed. All of that shares the time of ``[confirm] night``. ``fresh``
    says that this night measured something; without, nothing is looked for that was looked for
    before. It is all of what was seen on this machine's class.
    """
    settings = context.config.confirm
    ends = context.clock() + settings.night

    def here(regressions: Sequence[Regression]) -> list[Regression]:
        return [one for one in regressions if machine_of(one) == context.machine_class]

    if fresh:
        seconds = min(settings.budget, settings.night)
        recover_all(context, plan, here(detected.regressions), seconds, watcher)
        detected = refresh(context.results, context.store, now()) or detected
    left = ends - context.clock()
    doubts = here(suspected(detected.regressions))
    confirm_all(context, plan, doubts, watcher, seconds=left, go_on=False)
    detected = load_detected(context.results, plan)
    if fresh:
        _try_settings(context, plan, here(detected.regressions), ends, watcher)
    locate_all(context, plan, here(_to_locate(context, detected.regressions, fresh)), watcher)
    return refresh(context.results, context.store, now()) or detected


def _try_settings(
    context: MeasuringContext,
    plan: Plan,
    regressions: Sequence[Regression],
    ends: float,
    watcher: Watcher,
) -> None:
    """Test whether changed settings are why, in what is left of the time to measure again."""
    for regression in regressions:
        left = ends - context.clock()
        if regression.worse and regression.state is RegressionState.CONFIRMED and left > 0:
            try:
                try_suspects(context, plan, regression, left, watcher)
            except UserError as error:
                warn(f"the settings of {regression.fingerprint} are not tested: {error}")


def _to_locate(
    context: MeasuringContext, regressions: Sequence[Regression], fresh: bool
) -> list[Regression]:
    tried = {
        event.fingerprint
        for event in Journal(context.results).read()
        if event.event is EventKind.BISECTED
    }
    return [
        one for one in regressions if to_locate(one) and (fresh or one.fingerprint not in tried)
    ]
