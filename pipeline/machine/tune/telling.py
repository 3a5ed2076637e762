"""Outcomes of tuning in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pipeline.machine.tune.tuner import Did, Outcome


def lines(outcomes: Iterable[Outcome]) -> list[str]:
    """Return what was done, a line for each knob."""
    return [_line(each) for each in outcomes]


def failures(outcomes: Iterable[Outcome]) -> list[str]:
    """Return what could not be done, a line each."""
    told = {Did.REFUSED, Did.LACKING, Did.LEFT}
    return [f"tune: {_line(each)}" for each in outcomes if each.did in told]


def failed(outcomes: Iterable[Outcome], asked_for: Collection[str]) -> list[Outcome]:
    """Return what was asked and could not be done.

    What this machine does not have is a failure where somebody asked for it by name: the defaults
    are for machines of all kinds.
    """
    return [
        each
        for each in outcomes
        if each.did is Did.REFUSED or (each.did is Did.LACKING and each.setting in asked_for)
    ]


def _line(each: Outcome) -> str:
    what = f"{each.setting} {each.knob}".strip()
    match each.did:
        case Did.SET | Did.RESTORED:
            return f"{what}: {each.before} -> {each.value}"
        case Did.SO_ALREADY:
            return f"{what}: {each.value} already"
        case Did.DUE | Did.DONE:
            return f"{what}: {each.did}"
        case Did.LEFT:
            return f"{what}: left at {each.value}: {each.why}"
        case Did.LACKING:
            return f"{what}: not to be had: {each.why}"
        case Did.REFUSED:
            return f"{what}: not {each.value or 'done'}: {each.why}"
