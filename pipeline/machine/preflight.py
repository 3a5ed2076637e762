"""Preflight: a machine is looked at before it measures, and refused or warned of by a policy."""

from __future__ import annotations

from collections.abc import Callable, Container

from pipeline.errors import UserError
from pipeline.machine.checks import CHECKS, GROUPS
from pipeline.machine.checks.base import Check, Found, Level, Look, Verdict, found
from pipeline.machine.system import System
from pipeline.model import Frozen, Machine
from pipeline.units import show_duration

ALL = "all"
"""What stands for every check in a policy that names it nowhere else."""

PAUSE = 1.0
"""Seconds between two looks at a machine that is busy."""

_WAITED_FOR = CHECKS["load"]
"""What goes away by itself: a compilation has just ended, or a timer's job runs."""


class Policy(Frozen):
    """What bad findings do to a night, by the names of checks, and how long it waits for calm.

    A check that is in no list, where no list has ``all``, has the level of its own. ``wait`` is in
    seconds.
    """

    refuse: tuple[str, ...] = ()
    warn: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    wait: float = 0.0

    def level(self, check: Check) -> Level:
        """Return what a bad finding of a check does."""
        lists = {Level.REFUSE: self.refuse, Level.WARN: self.warn, Level.IGNORE: self.ignore}
        for wanted in (check.name, ALL):
            for level, names in lists.items():
                if wanted in names:
                    return level
        return check.level


def examine(look: Look, policy: Policy) -> list[Found]:
    """Return what every check finds, at the level that the policy gives it."""
    return [
        found(group, check, policy.level(check), check.find(look))
        for group, checks in GROUPS.items()
        for check in checks
    ]


def preflight(
    system: System,
    policy: Policy,
    last: Machine | None,
    note: Callable[[str], None],
    told: Container[str] = (),
) -> dict[str, str]:
    """Look at a machine that is about to measure; return what it is warned of, by check.

    Waits while others are busy on it, as long as the policy says; what is ignored is not looked
    at. ``last`` is the fingerprint of its last run, ``note`` is told one line about waiting, and
    one with all warnings but those of the checks that were ``told`` before.

    Raises:
        UserError: the policy refuses what was found.
    """
    look = _calm(system, policy, last, note)
    unfit = [
        found(group, check, level, finding)
        for group, checks in GROUPS.items()
        for check in checks
        if (level := policy.level(check)) is not Level.IGNORE
        and (finding := check.find(look)).verdict is Verdict.BAD
    ]
    for each in unfit:
        if each.level is Level.REFUSE:
            raise UserError(
                f"this machine is not fit to measure: {each.name} is {each.value}; {each.mend}; "
                f'or let it pass, by warn = ["{each.name}"] in [preflight]'
            )
    if fresh := [f"{each.name}: {each.value}" for each in unfit if each.name not in told]:
        said = "; ".join(fresh)
        note(f"preflight: {said}. `nightshift doctor` says why that matters and how to mend it")
    return {each.name: each.value for each in unfit}


def _calm(
    system: System, policy: Policy, last: Machine | None, note: Callable[[str], None]
) -> Look:
    """Return a look at a machine that is calm, or at one that was not when the wait was over."""
    look = Look(system, last)
    if policy.level(_WAITED_FOR) is Level.IGNORE:
        return look
    left = policy.wait
    while left > 0 and (finding := _WAITED_FOR.find(look)).verdict is Verdict.BAD:
        if left == policy.wait:
            note(
                f"waiting up to {show_duration(left)} for this machine to calm down: others use "
                f"{finding.value}"
            )
        pause = min(PAUSE, left)
        system.sleep(pause)
        left -= pause
        look = Look(system, last)
    return look
