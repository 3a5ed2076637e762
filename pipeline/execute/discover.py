"""Discover: which revisions of each target can be had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from pipeline.durable import write_whole
from pipeline.errors import UserError
from pipeline.model import Frozen, Revision, Supply
from pipeline.sources import source_for
from pipeline.sources.cached import HOUR
from pipeline.targets import find_target

FILE = "discovered.json"
"""Its name in the results folder."""

SHORT = 12
"""Digits of a commit's hash that make its name: enough for the largest repositories."""


class Offer(NamedTuple):
    """What can be asked for: a target, from one of its supplies."""

    target: str
    supply: Supply


Discovered = Mapping[Offer, tuple[Revision, ...]]
"""The revisions of each offer, oldest first."""


def discover(
    offers: Iterable[Offer], cache: Path, results: Path | None, *, refresh: bool = False
) -> Discovered:
    """Ask the source of each offer for its revisions; remember the answer in ``results``, if given.

    A source that was asked within the last hour is not asked again, unless ``refresh`` is set.
    Raises UserError when a source cannot be reached and nothing is remembered of it.
    """
    found: dict[Offer, tuple[Revision, ...]] = {}
    for offer in dict.fromkeys(offers):
        source = source_for(offer.supply, cache, max_age=0.0 if refresh else HOUR)
        found[offer] = revisions_of(offer, source.versions())
    if results is not None:
        remember(found, results)
    return found


def remember(found: Discovered, results: Path) -> None:
    """Write down what was found, for :func:`discovered`."""
    results.mkdir(parents=True, exist_ok=True)
    remembered = [
        Remembered(target=offer.target, supply=offer.supply, revisions=_without_supply(revisions))
        for offer, revisions in found.items()
    ]
    text = _REMEMBERED.dump_json(remembered, indent=1, exclude_defaults=True).decode()
    write_whole(results / FILE, text)


def discovered(results: Path) -> Discovered:
    """Return what the last :func:`discover` found. Raises UserError before the first."""
    path = results / FILE
    try:
        remembered = _REMEMBERED.validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise UserError(f"no releases are known in {results} yet; run `nightshift discover`") from (
            error
        )
    except ValueError as error:
        raise UserError(f"{path} is damaged; run `nightshift discover` again") from error
    return {
        Offer(each.target, each.supply): _with_supply(each.revisions, each.supply)
        for each in remembered
    }


def revisions_of(offer: Offer, versions: Sequence[str]) -> tuple[Revision, ...]:
    """Turn what a source says it has into revisions, oldest first."""
    target, supply = find_target(offer.target), offer.supply
    if supply.commits:
        found = [commit_revision(offer.target, at, text) for at, text in enumerate(versions)]
    else:
        found = list(target.revisions(supply, versions))
    return _with_supply(found, supply)


def commit_revision(target: str, place: int, spelling: str) -> Revision:
    """Return the revision of a commit, which a source spells as its hash and its time."""
    commit, _, seconds = spelling.partition(" ")
    return Revision(
        target=target,
        version=commit[:SHORT],
        order=(place,),
        major="",
        locator=commit,
        at=datetime.fromtimestamp(int(seconds), UTC) if seconds else None,
    )


class Remembered(Frozen):
    """One offer as the file keeps it."""

    target: str
    supply: Supply
    revisions: tuple[Revision, ...]


def _with_supply(revisions: Iterable[Revision], supply: Supply | None) -> tuple[Revision, ...]:
    return tuple(revision.model_copy(update={"supply": supply}) for revision in revisions)


def _without_supply(revisions: Iterable[Revision]) -> tuple[Revision, ...]:
    """Return revisions as the file keeps them: their supply stands there once."""
    return _with_supply(revisions, None)


_REMEMBERED = TypeAdapter(list[Remembered])
