"""Preflight: check a machine before a night; refuse the night or warn, as the policy says."""

from __future__ import annotations

from collections.abc import Callable, Container

from pipeline.machine.checks import CHECKS, GROUPS
from pipeline.machine.checks.base import Check, CheckResult, Look, Severity, Verdict, found
from pipeline.machine.system import System
from pipeline.model import Frozen, Machine
from pipeline.text.errors import UserError
from pipeline.text.units import show_duration

ALL = "all"
"""The name that stands for every check that a policy does not name."""

PAUSE = 1.0
"""Seconds between two checks of a busy machine."""

_WAITED_FOR = CHECKS["load"]
"""The check that a night waits for: a compilation that has just ended or a timer's job may still
load the machine for a moment."""


class Policy(Frozen):
    """What a failed machine check does to a night, by name of the check, and how long to wait.

    A list that contains ``all`` applies to every check that no list names; without such a list,
    these checks have their default level. ``wait`` is the longest wait for a busy machine, in
    seconds.
    """

    refuse: tuple[str, ...] = ()
    warn: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    wait: float = 0.0

    def level(self, check: Check) -> Severity:
        """Return what a bad result of a machine check does to a night."""
        lists = {
            Severity.REFUSE: self.refuse,
            Severity.WARN: self.warn,
            Severity.IGNORE: self.ignore,
        }
        for wanted in (check.name, ALL):
            for level, names in lists.items():
                if wanted in names:
                    return level
        return check.level


def examine(look: Look, policy: Policy) -> list[CheckResult]:
    """Return the results of all machine checks, each with its severity by the policy."""
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
    reported: Container[str] = (),
) -> dict[str, str]:
    """Check a machine before it measures; return the warnings by check, or refuse the night.

    Waits while other processes use the machine, as long as the policy allows; ignored checks are
    skipped. ``last`` is the fingerprint of the last run. ``note`` receives one line about waiting,
    and one with all warnings except those of checks in ``reported``, which were reported before.
    Raises UserError if the policy refuses the machine.
    """
    look = _calm(system, policy, last, note)
    unfit = [
        found(group, check, level, finding)
        for group, checks in GROUPS.items()
        for check in checks
        if (level := policy.level(check)) is not Severity.IGNORE
        and (finding := check.find(look)).verdict is Verdict.BAD
    ]
    for each in unfit:
        if each.level is Severity.REFUSE:
            raise UserError(
                f"this machine is not fit to measure: {each.name} is {each.value}; {each.remedy}; "
                f'to measure anyway, set warn = ["{each.name}"] in [preflight]'
            )
    if fresh := [f"{each.name}: {each.value}" for each in unfit if each.name not in reported]:
        findings = "; ".join(fresh)
        note(f"preflight: {findings}. `nightshift doctor` explains the effect and the remedy")
    return {each.name: each.value for each in unfit}


def _calm(
    system: System, policy: Policy, last: Machine | None, note: Callable[[str], None]
) -> Look:
    """Wait for an idle machine, as long as the policy allows; return the last inspection."""
    look = Look(system, last)
    if policy.level(_WAITED_FOR) is Severity.IGNORE:
        return look
    left = policy.wait
    while left > 0 and (finding := _WAITED_FOR.find(look)).verdict is Verdict.BAD:
        if left == policy.wait:
            note(
                f"waiting up to {show_duration(left)} for this machine to become idle: other "
                f"processes use {finding.value}"
            )
        pause = min(PAUSE, left)
        system.sleep(pause)
        left -= pause
        look = Look(system, last)
    return look
