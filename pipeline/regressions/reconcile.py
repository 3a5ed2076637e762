"""Match detected regressions with the journal: record new ones, recognise known ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from pipeline.config import DetectSection
from pipeline.measure.plan import Line, Plan
from pipeline.model import Regression, RegressionKind, SeriesKey, Shift
from pipeline.regressions.detected import Detected, save_detected
from pipeline.regressions.grouping import certainty_key, effect_size, worst
from pipeline.regressions.recovery import fix_of, recovered
from pipeline.regressions.repository import RegressionRepository
from pipeline.regressions.search_cache import Once, compute_anew
from pipeline.regressions.states import Bounds, KnownRegression, KnownRegressions, known_regressions
from pipeline.storage.journal import Event, EventKind
from pipeline.storage.series import Series
from pipeline.text.errors import UserError, did_you_mean

GROWTH = 0.01
"""Growth of a creep, relative to its anchor, that causes a new event in the journal. A creep ends
at the newest revision, so it changes every night, and an event for every night would be useless."""


def reconcile(
    detected: Detected,
    plan: Plan,
    series: Sequence[Series],
    settings: DetectSection,
    results: Path,
    at: datetime,
    once: Once = compute_anew,
) -> Detected:
    """Record a detection in the journal, and return it with fingerprints and states.

    ``series`` are the searched series, ``settings`` has the smallest changes of interest. A
    new regression becomes suspected, a known one keeps its fingerprint, and a recovered one is
    resolved. The detection is saved. ``once`` may have the comparisons of earlier nights.
    """
    repository = RegressionRepository(results)
    named, fresh = night_of(detected, plan, series, repository.events(at), settings, at, once)
    repository.record(fresh, at)
    save_detected(named, results)
    return repository.joined(named, at)


def night_of(
    detected: Detected,
    plan: Plan,
    series: Sequence[Series],
    happened: Sequence[Event],
    settings: DetectSection,
    at: datetime,
    once: Once = compute_anew,
) -> tuple[Detected, list[Event]]:
    """Return a detection with the fingerprints of known regressions, and new journal events.

    ``happened`` are the journal's events. The other arguments are those of :func:`reconcile`.
    """
    known = known_regressions(happened)
    named = identify(detected.regressions, known, plan)
    fresh = [event for one in named if (event := _found(one, known, plan, at)) is not None]
    known = known_regressions([*happened, *fresh])
    fresh += _resolutions(named, known, plan, series, settings, at, once)
    return detected.model_copy(update={"regressions": named}), fresh


def _found(
    regression: Regression, known: KnownRegressions, plan: Plan, at: datetime
) -> Event | None:
    """Return the journal event for a regression that is new, or whose place or series changed."""
    between = bounds(regression, plan)
    history = known.get(regression.fingerprint)
    if history is not None:
        old = history.regression
        known_ends = (old.last_good, old.first_bad, history.bounds, _extent(old))
        ends = (regression.last_good, regression.first_bad, between, _extent(regression))
        if known_ends == ends or _same_creep(old, regression):
            return None
    return Event(
        at=at,
        event=EventKind.FOUND,
        fingerprint=regression.fingerprint,
        regression=regression,
        before=between.before,
        earliest=between.earliest,
        latest=between.latest,
    )


def _same_creep(old: Regression, found: Regression) -> bool:
    """Whether a detected creep is one that the journal has, grown by less than ``GROWTH``."""
    grown = abs(effect_size(worst(found)) - effect_size(worst(old)))
    return (
        found.kind is RegressionKind.CREEP
        and found.last_good == old.last_good
        and _extent(found) == _extent(old)
        and grown < GROWTH
    )


def _extent(regression: Regression) -> frozenset[SeriesKey]:
    return frozenset(shift.series for shift in regression.shifts)


def _resolutions(
    found: Sequence[Regression],
    known: KnownRegressions,
    plan: Plan,
    series: Sequence[Series],
    settings: DetectSection,
    at: datetime,
    once: Once,
) -> list[Event]:
    """Return the journal events for regressions that are gone, with the fix if it is known."""
    by_key = {one.key: one for one in series}
    later: dict[SeriesKey, list[Shift]] = {}
    for one in found:
        for shift in one.shifts:
            later.setdefault(shift.series, []).append(shift)
    creeping = {one.fingerprint for one in found if one.kind is RegressionKind.CREEP}
    events = []
    for fingerprint, history in known.items():
        if fingerprint in creeping:
            continue
        regression = at_current_positions(history.regression, plan)
        if (
            regression is not None
            and regression.worse
            and history.allows(EventKind.RESOLVED)
            and recovered(regression, by_key, later, settings, once)
        ):
            fix = fix_of(regression, found)
            event = Event(
                at=at,
                event=EventKind.RESOLVED,
                fingerprint=fingerprint,
                note=f"recovered since {fix.first_bad}"
                if fix
                else "recovered in the newest revisions",
                recovery=fix.fingerprint if fix else "",
            )
            history.add(event)
            events.append(event)
    return events


def matching_fingerprints(beginning: str, fingerprints: Iterable[str]) -> list[str]:
    """Return the fingerprints that start with a prefix; if one is equal to it, only that one.

    A fingerprint already in use gets a number suffix (:func:`identify`), so a whole fingerprint can
    be the prefix of another.
    """
    known = list(fingerprints)
    if beginning in known:
        return [beginning]
    return [each for each in known if each.startswith(beginning)]


def regression_named(fingerprint: str, regressions: Iterable[Regression]) -> Regression:
    """Return the regression whose fingerprint begins with some digits.

    Raises UserError if none or several match.
    """
    known = {one.fingerprint: one for one in regressions}
    matching = matching_fingerprints(fingerprint, known)
    if len(matching) == 1:
        return known[matching[0]]
    raise UserError(
        f"{'several regressions begin with' if matching else 'there is no regression'} "
        f"{fingerprint}; {did_you_mean(fingerprint, known)}"
    )


def most_certain_shift(regression: Regression) -> Shift:
    """Return the shift with the most certain position; it sets the regression's position."""
    return min(regression.shifts, key=certainty_key)


def bounds(regression: Regression, plan: Plan) -> Bounds:
    """Return the labels of the revisions between which a regression began."""
    labels = [revision.label for revision in _line(regression, plan).revisions]
    shift = most_certain_shift(regression)
    before = labels[shift.earliest - 1] if shift.earliest else ""
    return Bounds(before, labels[shift.earliest], labels[shift.latest])


def certain_ends(regression: Regression, plan: Plan) -> tuple[str, str]:
    """Return the last revision that is surely good and the first that is surely bad.

    They lie outside the interval of the position. The last good and first bad revisions are only
    the likeliest ones, and the change may not lie between them.
    """
    labels = [revision.label for revision in _line(regression, plan).revisions]
    shift = most_certain_shift(regression)
    return labels[max(shift.earliest - 1, 0)], labels[shift.latest]


def identify(
    regressions: Sequence[Regression], known: KnownRegressions, plan: Plan
) -> tuple[Regression, ...]:
    """Give each regression the fingerprint of its match in the journal, or a new one.

    A change point moves within its interval as evidence grows. A found regression therefore matches
    a known one on the same line, of the same kind and direction, if their intervals overlap. Of
    several matches the nearest is taken, and each known regression matches at most once, so that
    two regressions of one night stay separate.
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


def at_current_positions(regression: Regression, plan: Plan) -> Regression | None:
    """Return a regression of the journal with today's positions of its revisions.

    Positions move when an earlier revision is measured later. Shifts whose revisions left the line
    are dropped; the result is None if the largest shift is one of them.
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


def _places(regression: Regression, plan: Plan) -> Mapping[str, int]:
    """Return today's position of each revision on a regression's line; empty without that line."""
    return next((line.positions for line in plan.lines if line.name == regression.line), {})


def _place(change: Shift | Regression, places: Mapping[str, int]) -> int | None:
    """Return the position of a regression's first bad revision; None if it is unknown.

    If the revision left the line, for example after a forced push, the revision after the last good
    one takes its place.
    """
    behind = places.get(change.last_good, len(places)) + 1
    return places.get(change.first_bad, behind if behind < len(places) else None)


def _distance(found: Regression, history: KnownRegression, plan: Plan) -> int | None:
    """Return how many positions two regressions are apart; None if they cannot be the same."""
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
    # A bound that left the line is replaced by the position itself.
    earliest = places.get(history.bounds.earliest, position)
    latest = places.get(history.bounds.latest, position)
    # A revision measured since, between a good one and ``earliest``, may be the first bad one.
    for good in (history.bounds.before, old.last_good):
        earliest = min(earliest, places.get(good, position) + 1)
    shift = most_certain_shift(found)
    if shift.latest < earliest or latest < shift.earliest:
        return None
    if found.kind is RegressionKind.CREEP:
        # All creeps of a line end at its newest revision; the anchor tells them apart.
        return abs(shift.earliest - earliest)
    return abs(found.position - position)


def _unused(fingerprint: str, taken: set[str]) -> str:
    """Return the given fingerprint, with a number as suffix if it is already used.

    A regression that has since moved to another revision may use it.
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
        f"{regression.fingerprint}: the line {regression.line} is no longer in the plan; run "
        "`nightshift detect`"
    )
