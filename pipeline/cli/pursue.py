"""What a night does about its suspicions: they are measured again, and their culprits searched."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pipeline.analyse.confirm import suspected
from pipeline.analyse.detection import Detected, load_detected
from pipeline.analyse.locate import to_locate
from pipeline.analyse.settle import refresh
from pipeline.cli.confirm import confirm_all
from pipeline.cli.context import Context, warn
from pipeline.cli.explain import try_suspects
from pipeline.cli.locate import locate_all
from pipeline.cli.recover import recover_all
from pipeline.errors import UserError
from pipeline.execute.plan import Plan
from pipeline.execute.watch import Watcher
from pipeline.journal import EventKind, Journal, now
from pipeline.model import Regression, RegressionState


def pursue(
    context: Context, plan: Plan, detected: Detected, watcher: Watcher, fresh: bool
) -> Detected:
    """Confirm what is suspected and locate what is confirmed; return the detection as it is then.

    What seems to be mended is looked at first. What was measured again before and is undecided goes
    on where its evidence has changed. All of that shares the time of ``[confirm] night``. ``fresh``
    says that this night measured something; without, nothing is looked for that was looked for
    before.
    """
    settings = context.config.confirm
    ends = time.monotonic() + settings.night
    if fresh:
        seconds = min(settings.budget, settings.night)
        recover_all(context, plan, detected.regressions, seconds, watcher)
        detected = refresh(context.results, context.store, now()) or detected
    left = ends - time.monotonic()
    confirm_all(context, plan, suspected(detected.regressions), watcher, seconds=left, go_on=False)
    detected = load_detected(context.results, plan)
    if fresh:
        _try_settings(context, plan, detected.regressions, ends, watcher)
    locate_all(context, plan, _to_locate(context, detected.regressions, fresh), watcher)
    return refresh(context.results, context.store, now()) or detected


def _try_settings(
    context: Context,
    plan: Plan,
    regressions: Sequence[Regression],
    ends: float,
    watcher: Watcher,
) -> None:
    """Test whether changed settings are why, in what is left of the time to measure again."""
    for regression in regressions:
        left = ends - time.monotonic()
        if regression.worse and regression.state is RegressionState.CONFIRMED and left > 0:
            try:
                try_suspects(context, plan, regression, left, watcher)
            except UserError as error:
                warn(f"the settings of {regression.fingerprint} are not tested: {error}")


def _to_locate(
    context: Context, regressions: Sequence[Regression], fresh: bool
) -> list[Regression]:
    tried = {
        event.fingerprint
        for event in Journal(context.results).read()
        if event.event is EventKind.BISECTED
    }
    return [
        one for one in regressions if to_locate(one) and (fresh or one.fingerprint not in tried)
    ]
