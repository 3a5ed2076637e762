"""The discover stage: which revisions exist, and which of them each line takes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from pipeline.config import ConfigFile, LineSection, SourceSection
from pipeline.files.address import folder_at
from pipeline.files.atomic_write import write_atomically
from pipeline.measure.supplies import supplies_of
from pipeline.model import Frozen, Revision, Supply
from pipeline.sources import source_for
from pipeline.sources.cached import HOUR
from pipeline.targets import find_target
from pipeline.text.errors import UserError, did_you_mean

FILE = "discovered.json"
"""The file of discovered revisions in the results folder."""

SHORT = 12
"""Digits of a commit's hash in its name: unique in the largest repositories."""

_LABEL = re.compile(r"[^#]+(#([2-9]|[1-9]\d+))?")
"""Pattern of a label: a version, or a numbered copy of it from #2 on; the first copy is the version
itself."""
_SHORTEST_HASH = 7
"""The fewest digits of a commit's hash that identify it."""
_MANY = 1000
"""From this number of revisions on, an error message does not list them."""


class Offer(NamedTuple):
    """A target together with one of the supplies that its revisions can come from."""

    target: str
    supply: Supply


Discovered = Mapping[Offer, tuple[Revision, ...]]
"""The revisions of each offer, oldest first."""


def discover(
    offers: Iterable[Offer], cache: Path, results: Path | None, *, refresh: bool = False
) -> Discovered:
    """Ask the sources for their revisions, and save the answers in the results folder.

    A source that was asked within the last hour is not asked again, unless ``refresh`` is set.
    Raises UserError if a source is unreachable and has no cached answer.
    """
    found: dict[Offer, tuple[Revision, ...]] = {}
    for offer in dict.fromkeys(offers):
        source = source_for(offer.supply, cache, max_age=0.0 if refresh else HOUR)
        found[offer] = revisions_of(offer, source.versions())
    if results is not None:
        remember(found, results)
    return found


def look_up(
    offer: Offer, version: str, cache: Path, *, ask_again: bool
) -> tuple[Revision | None, tuple[Revision, ...]]:
    """Find a revision by its version or commit hash, among all revisions of an offer.

    The revision may be newer than the cached list: with ``ask_again``, a source whose list lacks
    the revision is asked anew. Raises UserError as :func:`discover` does.
    """
    known = discover([offer], cache, None)[offer]
    if ask_again and find_revision(version, known) is None:
        known = discover([offer], cache, None, refresh=True)[offer]
    return find_revision(version, known), known


def remember(found: Discovered, results: Path) -> None:
    """Save discovered revisions, so that :func:`discovered` can load them."""
    results.mkdir(parents=True, exist_ok=True)
    remembered = [
        CachedOffer(target=offer.target, supply=offer.supply, revisions=_without_supply(revisions))
        for offer, revisions in found.items()
    ]
    text = _REMEMBERED.dump_json(remembered, indent=1, exclude_defaults=True).decode()
    write_atomically(results / FILE, text)


def discovered(results: Path) -> Discovered:
    """Load the revisions found last. Raises UserError if ``discover`` has never run."""
    path = results / FILE
    try:
        remembered = _REMEMBERED.validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise UserError(f"{results} has no list of releases yet; run `nightshift discover`") from (
            error
        )
    except ValueError as error:
        raise UserError(f"{path} is damaged; run `nightshift discover` again") from error
    return {
        Offer(each.target, each.supply): _with_supply(each.revisions, each.supply)
        for each in remembered
    }


def revisions_of(offer: Offer, versions: Sequence[str]) -> tuple[Revision, ...]:
    """Convert the version names of a source to revisions, oldest first."""
    target, supply = find_target(offer.target), offer.supply
    if supply.commits:
        found = [commit_revision(offer.target, at, text) for at, text in enumerate(versions)]
    else:
        found = list(target.revisions(supply, versions))
    return _with_supply(found, supply)


def commit_revision(target: str, place: int, spelling: str) -> Revision:
    """Convert a commit, as its source describes it, to a revision."""
    commit, _, seconds = spelling.partition(" ")
    return Revision(
        target=target,
        version=commit[:SHORT],
        order=(place,),
        major="",
        locator=commit,
        at=datetime.fromtimestamp(int(seconds), UTC) if seconds else None,
    )


class CachedOffer(Frozen):
    """The revisions of one offer in the file of discovered revisions."""

    target: str
    supply: Supply
    revisions: tuple[Revision, ...]


def _with_supply(revisions: Iterable[Revision], supply: Supply | None) -> tuple[Revision, ...]:
    return tuple(revision.model_copy(update={"supply": supply}) for revision in revisions)


def _without_supply(revisions: Iterable[Revision]) -> tuple[Revision, ...]:
    """Return revisions without their supply, which the file stores only once."""
    return _with_supply(revisions, None)


_REMEMBERED = TypeAdapter(list[CachedOffer])


def offers_of(file: ConfigFile) -> list[Offer]:
    """Return the offers that the lines and controls of ``nightshift.toml`` need, each once.

    Raises UserError, with file and line, for an unknown target or source, and for a ``bisect`` that
    names no line of commits of the same target.
    """
    offers = [offer_of(file, index, line) for index, line in enumerate(file.config.line)]
    commits = {
        line.name: offer.target
        for line, offer in zip(file.config.line, offers, strict=True)
        if offer.supply.commits
    }
    for index, (line, offer) in enumerate(zip(file.config.line, offers, strict=True)):
        if line.bisect and (offer.supply.commits or commits.get(line.bisect) != line.target):
            fitting = [name for name, target in commits.items() if target == line.target]
            raise file.problem(
                ("line", index, "bisect"),
                "this line consists of commits itself; leave this setting out"
                if offer.supply.commits
                else f"{line.bisect!r} is no line of commits of {line.target}; "
                f"{did_you_mean(line.bisect, fitting)}",
            )
    pinned = [
        offer_of(file, index, control, "control")
        for index, control in enumerate(file.config.control)
    ]
    return list(dict.fromkeys([*offers, *pinned]))


def offer_of(file: ConfigFile, index: int, line: SourceSection, table: str = "line") -> Offer:
    """Return the offer that a line, or another ``table`` of ``nightshift.toml``, needs."""
    try:
        supplies = supplies_of(file, line.target)
    except KeyError as error:
        raise file.problem((table, index, "target"), error.args[0]) from error
    by_name = {supply.name: supply for supply in supplies}
    name = line.source or next(iter(by_name))
    if name not in by_name:
        raise file.problem(
            (table, index, "source"),
            f"{line.target} has no source {name!r}; {did_you_mean(name, by_name)}",
        )
    if line.major and not by_name[name].commits:
        raise file.problem(
            (table, index, "major"),
            (
                f"the source {name} provides releases, which determine the major version; leave "
                "this setting out"
            ),
        )
    try:
        return Offer(line.target, supply_at(by_name[name], line.repository, line.branch))
    except ValueError as error:
        at = "repository" if line.repository else "branch"
        raise file.problem((table, index, at), str(error)) from error


def supply_at(supply: Supply, repository: str, branch: str) -> Supply:
    """Return a supply with another repository or branch.

    Raises ValueError if the kind of its source has no repository or branch.
    """
    if not (repository or branch):
        return supply
    if supply.kind not in ("git", "tags") or (branch and supply.kind != "git"):
        raise ValueError(
            f"the source {supply.name} accepts no {'branch' if branch else 'repository'}"
        )
    address, _, usual = supply.coordinates.partition("#")
    # Another repository has its own default branch, not the usual one of upstream.
    branch = branch or ("" if repository else usual)
    if repository and (folder := folder_at(repository)) is not None:
        repository = str(folder.absolute())
    where = repository or address
    return supply.model_copy(update={"coordinates": f"{where}#{branch}" if branch else where})


def select(revisions: Sequence[Revision], section: LineSection) -> tuple[Revision, ...]:
    """Return the revisions that ``since``, ``until`` and ``take`` of a line select, in order.

    A version includes every release whose number begins with it: since 14 begins at 14.0, until 17
    ends at the last 17.x. A commit is named by its hash.
    """
    ordered = sorted(revisions, key=lambda revision: revision.order)
    since, until = version_bound(section.since, ordered), version_bound(section.until, ordered)
    chosen = [
        revision
        for revision in ordered
        if revision.order >= since and (not until or revision.order[: len(until)] <= until)
    ]
    if section.take == "newest-of-each-major":
        chosen = list({revision.major: revision for revision in chosen}.values())
    return tuple(chosen)


def revisions_of_line(
    file: ConfigFile, index: int, section: LineSection, known: Sequence[Revision]
) -> tuple[Revision, ...]:
    """Return all revisions that could be on a line; nights measure only the newest.

    Raises UserError, with file and line, for an unknown revision.
    """
    if not known:
        raise UserError(
            f"no release of {section.target} has been discovered; run `nightshift discover`"
        )
    if section.major:
        known = [each.model_copy(update={"major": section.major}) for each in known]
    if not section.revisions:
        chosen = select(known, section)
        if not chosen:
            raise file.problem(
                ("line", index),
                f"no release of {section.target} lies between since and until; `nightshift "
                "discover` lists the revisions",
            )
        return chosen
    chosen_labels = []
    for at, label in enumerate(section.revisions):
        version, _, copy = label.partition("#")
        revision = find_revision(version, known)
        if revision is None or not _LABEL.fullmatch(label):
            names = [each.version for each in known]
            raise file.problem(
                ("line", index, "revisions", at),
                f"{section.target} has no release {label!r}; {did_you_mean(version, names)}"
                if len(names) < _MANY
                else (
                    f"{section.target} has no revision {label!r}; `nightshift discover` lists "
                    "the revisions"
                ),
            )
        number = int(copy) if copy else 1
        chosen_labels.append(revision.model_copy(update={"copy_number": number}))
    if len({revision.label for revision in chosen_labels}) < len(chosen_labels):
        raise file.problem(
            ("line", index, "revisions"),
            "a revision appears twice; to measure a copy of it, write for example 17.11#2",
        )
    return tuple(sorted(chosen_labels, key=lambda revision: (revision.order, revision.copy_number)))


def version_bound(version: str, revisions: Sequence[Revision]) -> tuple[int, ...]:
    """Return the sort key at which a version begins, or that of a commit; () for no version."""
    if not version:
        return ()
    if any(revision.supply and revision.supply.commits for revision in revisions):
        found = find_revision(version, revisions)
        # After all revisions: the range is empty, and the caller reports that.
        return found.order if found else (sys.maxsize,)
    for revision in revisions:
        # The name of a beta has letters.
        if revision.version == version:
            return revision.order
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, numbers[0].split("."))) if numbers else ()


def find_revision(version: str, revisions: Sequence[Revision]) -> Revision | None:
    """Return the release with this version, or the only commit with this hash prefix."""
    for revision in revisions:
        if revision.version == version:
            return revision
    if len(version) < _SHORTEST_HASH:
        return None
    commits = (each for each in revisions if each.supply is not None and each.supply.commits)
    fitting = [each for each in commits if each.locator.startswith(version)]
    return fitting[0] if len(fitting) == 1 else None
