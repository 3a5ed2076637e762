"""What a line of the configuration takes: where its revisions are had, and which of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.config import ConfigFile, LineSection, SourceSection
from pipeline.errors import UserError, meant
from pipeline.execute.discover import Offer
from pipeline.model import Revision, Supply
from pipeline.targets import find_target

_LABEL = re.compile(r"[^#]+(#([2-9]|[1-9]\d+))?")
"""A version, or a copy of one; the first of them is the version itself."""
_SHORTEST_HASH = 7
"""Digits of a commit's hash that name it."""
_MANY = 1000
"""Revisions beyond which a list of them helps nobody."""


def offers_of(file: ConfigFile) -> list[Offer]:
    """Return what the lines and the controls ask for, each once.

    Raises UserError for an unknown target or source, or a line to bisect on that is none, with its
    line.
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
                "the line is one of commits itself; leave it out"
                if offer.supply.commits
                else f"{line.bisect!r} is no line of commits of {line.target}; "
                f"{meant(line.bisect, fitting)}",
            )
    pinned = [
        offer_of(file, index, control, "control")
        for index, control in enumerate(file.config.control)
    ]
    return list(dict.fromkeys([*offers, *pinned]))


def offer_of(file: ConfigFile, index: int, line: SourceSection, table: str = "line") -> Offer:
    """Return what one line asks for, or a section of another ``table``."""
    try:
        target = find_target(line.target)
    except KeyError as error:
        raise file.problem((table, index, "target"), error.args[0]) from error
    by_name = {supply.name: supply for supply in target.supplies}
    name = line.source or next(iter(by_name))
    if name not in by_name:
        raise file.problem(
            (table, index, "source"),
            f"{line.target} is not had from {name!r}; {meant(name, by_name)}",
        )
    if line.major and not by_name[name].commits:
        raise file.problem(
            (table, index, "major"), f"the releases of {name} have their own; leave it out"
        )
    try:
        return Offer(line.target, supply_at(by_name[name], line.repository, line.branch))
    except ValueError as error:
        at = "repository" if line.repository else "branch"
        raise file.problem((table, index, at), str(error)) from error


def supply_at(supply: Supply, repository: str, branch: str) -> Supply:
    """Return a supply with another repository or branch. Raises ValueError if it has none."""
    if not (repository or branch):
        return supply
    if supply.kind not in ("git", "tags") or (branch and supply.kind != "git"):
        raise ValueError(f"the source {supply.name} has no {'branch' if branch else 'repository'}")
    address, _, usual = supply.coordinates.partition("#")
    # Another repository's branch is its own default, not the one that is usual upstream.
    branch = branch or ("" if repository else usual)
    if repository and (folder := Path(repository).expanduser()).exists():
        repository = str(folder.absolute())
    where = repository or address
    return supply.model_copy(update={"coordinates": f"{where}#{branch}" if branch else where})


def select(revisions: Sequence[Revision], section: LineSection) -> tuple[Revision, ...]:
    """Return the revisions that a line's since, until and take choose, in order.

    A version takes in what begins with it: since 14 begins at 14.0, until 17 ends at the last
    17.x. Commits are named by their hash.
    """
    ordered = sorted(revisions, key=lambda revision: revision.order)
    since, until = bound(section.since, ordered), bound(section.until, ordered)
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
    """Return the revisions that can be on a line, in order; of them the newest are measured.

    Raises UserError, with file and line, for one that is not known.
    """
    if not known:
        raise UserError(f"no release of {section.target} is known; run `nightshift discover`")
    if section.major:
        known = [each.model_copy(update={"major": section.major}) for each in known]
    if not section.revisions:
        chosen = select(known, section)
        if not chosen:
            raise file.problem(
                ("line", index),
                f"no release of {section.target} lies between since and until; `nightshift "
                "discover` lists what there is",
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
                f"{section.target} has no release {label!r}; {meant(version, names)}"
                if len(names) < _MANY
                else f"{section.target} has no revision {label!r}; `nightshift discover` lists "
                "what there is",
            )
        number = int(copy) if copy else 1
        chosen_labels.append(revision.model_copy(update={"copy_number": number}))
    if len({revision.label for revision in chosen_labels}) < len(chosen_labels):
        raise file.problem(
            ("line", index, "revisions"),
            "a revision stands twice; write a copy that is measured again as 17.11#2",
        )
    return tuple(sorted(chosen_labels, key=lambda revision: (revision.order, revision.copy_number)))


def bound(version: str, revisions: Sequence[Revision]) -> tuple[int, ...]:
    """Return the sort key of the beginning of a version, or of a commit; () for no bound."""
    if not version:
        return ()
    if any(revision.supply and revision.supply.commits for revision in revisions):
        found = find_revision(version, revisions)
        # Behind all there are: nothing lies between, and the caller says so.
        return found.order if found else (sys.maxsize,)
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def find_revision(version: str, revisions: Sequence[Revision]) -> Revision | None:
    """Return the release of this version, or the one commit whose hash begins so."""
    for revision in revisions:
        if revision.version == version:
            return revision
    if len(version) < _SHORTEST_HASH:
        return None
    commits = (each for each in revisions if each.supply is not None and each.supply.commits)
    fitting = [each for each in commits if each.locator.startswith(version)]
    return fitting[0] if len(fitting) == 1 else None
