"""Describe in text what tuning changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pipeline.machine.tune.tuner import KnobResult, TuneOutcome


def lines(outcomes: Iterable[TuneOutcome]) -> list[str]:
    """Return one line for each kernel setting that tuning changed, kept or failed to change."""
    return [_line(each) for each in outcomes]


def failures(outcomes: Iterable[TuneOutcome]) -> list[str]:
    """Return one line for each kernel setting that could not be changed."""
    reported = {KnobResult.REFUSED, KnobResult.LACKING, KnobResult.LEFT}
    return [f"tune: {_line(each)}" for each in outcomes if each.did in reported]


def failed(outcomes: Iterable[TuneOutcome], asked_for: Collection[str]) -> list[TuneOutcome]:
    """Return the kernel settings that were requested and could not be changed.

    A setting that this machine lacks is a failure only if it is in ``asked_for``, the explicitly
    configured ones: the defaults are for machines of all kinds.
    """
    return [
        each
        for each in outcomes
        if each.did is KnobResult.REFUSED
        or (each.did is KnobResult.LACKING and each.setting in asked_for)
    ]


def _line(each: TuneOutcome) -> str:
    what = f"{each.setting} {each.knob}".strip()
    match each.did:
        case KnobResult.SET | KnobResult.RESTORED:
            return f"{what}: {each.before} -> {each.value}"
        case KnobResult.SO_ALREADY:
            return f"{what}: {each.value} already"
        case KnobResult.DUE | KnobResult.DONE:
            return f"{what}: {each.did}"
        case KnobResult.LEFT:
            return f"{what}: not restored, left at {each.value}: {each.why}"
        case KnobResult.LACKING:
            return f"{what}: unavailable: {each.why}"
        case KnobResult.REFUSED:
            return f"{what}: not {each.value or 'done'}: {each.why}"
