"""Which regression of the journal one that was found tonight is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pipeline.analyse.regressions import sureness, worst
from pipeline.analyse.states import Bounds, Histories, History
from pipeline.errors import UserError
from pipeline.execute.plan import Line, Plan
from pipeline.model import Regression, Shift


def meant_by(beginning: str, fingerprints: Iterable[str]) -> list[str]:
    """Return the fingerprint that this is, or else all that begin so.

    One that is taken already is given a number behind it (:func:`identify`), so that a whole
    fingerprint can be the beginning of another.
    """
    known = list(fingerprints)
    if beginning in known:
        return [beginning]
    return [each for each in known if each.startswith(beginning)]


def surest(regression: Regression) -> Shift:
    """Return the shift that gave a regression its position."""
    return min(regression.shifts, key=sureness)


def bounds(regression: Regression, plan: Plan) -> Bounds:
    """Return the labels between which the first bad revision is."""
    labels = [revision.label for revision in _line(regression, plan).revisions]
    shift = surest(regression)
    before = labels[shift.earliest - 1] if shift.earliest else ""
    return Bounds(before, labels[shift.earliest], labels[shift.latest])


def ends(regression: Regression, plan: Plan) -> tuple[str, str]:
    """Return the labels of the last revision before and the first one surely behind a regression.

    They are outside of the interval of its position: between its last good and its first bad
    revision nothing may have changed, where those are only the likeliest.
    """
    labels = [revision.label for revision in _line(regression, plan).revisions]
    shift = surest(regression)
    return labels[max(shift.earliest - 1, 0)], labels[shift.latest]


def identify(
    regressions: Sequence[Regression], known: Histories, plan: Plan
) -> tuple[Regression, ...]:
    """Give those that are known the fingerprint they are known by, and others one of their own.

    As evidence grows, a change point moves within its interval. So what was found is what is known
    on the same line, of the same kind and direction, where the intervals overlap; of several the
    nearest, each once: two that are found tonight are two.
    """
    pairs = sorted(
        (distance, fingerprint, number)
        for number, found in enumerate(regressions)
        for fingerprint, history in known.items()
        if (distance := _distance(found, history, plan)) is not None
    )
    chosen: dict[int, str] = {}
    for _, fingerprint, number in pairs:
        if number not in chosen and fingerprint not in chosen.values():
            chosen[number] = fingerprint
    taken = set(known)
    named = []
    for number, found in enumerate(regressions):
        fingerprint = chosen.get(number) or _unused(found.fingerprint, taken)
        taken.add(fingerprint)
        named.append(found.model_copy(update={"fingerprint": fingerprint}))
    return tuple(named)


def placed(regression: Regression, plan: Plan) -> Regression | None:
    """Return a regression of the journal with the positions that its revisions have now.

    They move when a revision before them is measured later. Shifts that are not on the line any
    more are left out; None if the largest is one of them.
    """
    places = _places(regression, plan)
    shifts = []
    for shift in regression.shifts:
        position = _place(shift, places)
        if position is not None:
            moved = position - shift.position
            shifts.append(
                shift.model_copy(
                    update={
                        "position": position,
                        "earliest": shift.earliest + moved,
                        "latest": shift.latest + moved,
                    }
                )
            )
    position = _place(regression, places)
    if position is None or _place(worst(regression), places) is None:
        return None
    return regression.model_copy(update={"position": position, "shifts": tuple(shifts)})


def _places(regression: Regression, plan: Plan) -> dict[str, int]:
    """Return the place of each revision of the line of a regression, none if there is no line."""
    revisions = next((line.revisions for line in plan.lines if line.name == regression.line), ())
    return {revision.label: place for place, revision in enumerate(revisions)}


def _place(change: Shift | Regression, places: Mapping[str, int]) -> int | None:
    """Return where the first bad revision is; None if that cannot be told any more.

    Where it left the line, as after a forced push, what stands behind its last good one now is in
    its place.
    """
    behind = places.get(change.last_good, len(places)) + 1
    return places.get(change.first_bad, behind if behind < len(places) else None)


def _distance(found: Regression, history: History, plan: Plan) -> int | None:
    """Return how far apart the positions are, or None where it cannot be the same regression."""
    old = history.regression
    if (found.target, found.line, found.kind, found.worse) != (
        old.target,
        old.line,
        old.kind,
        old.worse,
    ):
        return None
    places = _places(found, plan)
    position = _place(old, places)
    if position is None:
        return None
    # A bound that left the line is taken as the position itself.
    earliest = places.get(history.bounds.earliest, position)
    latest = places.get(history.bounds.latest, position)
    # What was measured since between a good revision and the earliest may be the first bad one.
    for good in (history.bounds.before, old.last_good):
        earliest = min(earliest, places.get(good, position) + 1)
    shift = surest(found)
    if shift.latest < earliest or latest < shift.earliest:
        return None
    return abs(found.position - position)


def _unused(fingerprint: str, taken: set[str]) -> str:
    """Return a fingerprint that is nobody's.

    The first choice may be one whose regression has moved on to another revision since.
    """
    number = 2
    chosen = fingerprint
    while chosen in taken:
        chosen = f"{fingerprint}-{number}"
        number += 1
    return chosen


def _line(regression: Regression, plan: Plan) -> Line:
    for line in plan.lines:
        if line.name == regression.line:
            return line
    raise UserError(
        f"{regression.fingerprint}: the plan has no line {regression.line} any more; run "
        "`nightshift detect`"
    )
