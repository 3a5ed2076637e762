"""What is to be compared, as people write it: ``postgres:14.20``, ``sqlite:./src@rel_o3native``.

    target:version[#copy][@build options][+config]
    target:folder[#commit][@build options][+config]

A release or commit need not stand in a line of the configuration: it is looked for in all supplies
of its target. A folder is a source tree as it stands, or a commit of it.
"""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.analyse.trees import revision_of_tree
from pipeline.config import WorkloadSection
from pipeline.errors import UserError, meant
from pipeline.execute.build import OFFICIAL, SHIPPED_OPTIONS
from pipeline.execute.discover import Offer, discover
from pipeline.execute.lines import find_revision
from pipeline.model import Cell, Frozen, Machine, Revision, SeriesKey, Supply, Workload
from pipeline.targets import find_target

_SUBJECT = re.compile(
    r"(?P<target>[^:]+):(?P<place>[^@+]+?)(#(?P<part>[^@+#]+))?"
    r"(@(?P<options>[\w.-]+))?(\+(?P<config>[\w.-]+))?"
)
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


class Subject(Frozen):
    """One side of a comparison. ``folder`` is that of a local source tree, empty for a release.

    ``version`` is a release or a commit; of a folder, empty for what stands in it now. ``options``
    and ``config`` are empty if they are not chosen.
    """

    text: str
    target: str
    version: str
    folder: str = ""
    copy_number: int = 1
    options: str = ""
    config: str = ""


def parse_subject(text: str) -> Subject:
    """Read one side of a comparison. Raises UserError, in one line, for what is none."""
    found = _SUBJECT.fullmatch(text)
    if found is None:
        raise UserError(
            f"{text!r} is nothing to compare; write target:version, as postgres:17.6, with "
            "@options or +config behind it if it is not the usual one"
        )
    target, place, part = found["target"], found["place"], found["part"] or ""
    try:
        find_target(target)
    except KeyError as error:
        raise UserError(f"{text}: {error.args[0]}") from error
    options, config = found["options"] or "", found["config"] or ""
    if _is_folder(place):
        folder = Path(place).expanduser().resolve()
        if not folder.is_dir():
            raise UserError(f"{text}: there is no folder {folder}")
        return Subject(
            text=text,
            target=target,
            version=part,
            folder=str(folder),
            options=options,
            config=config,
        )
    if Path(place).is_dir() and not re.search(r"\d", place):
        raise UserError(f"{text}: {place} is no release; write {target}:./{place} for the folder")
    if part and not (part.isdecimal() and int(part) > 1):
        raise UserError(f"{text}: the number of a copy is 2 or more, as in {target}:{place}#2")
    return Subject(
        text=text,
        target=target,
        version=place,
        copy_number=int(part or 1),
        options=options,
        config=config,
    )


def subject_text(series: SeriesKey, label: str, supply: Supply | None) -> str:
    """Write the revision of this label as it was measured in a series.

    A commit of a repository on this machine is one of that folder; others, and those of which the
    ``supply`` is not known any more, are looked for by their hashes.
    """
    folder = supply.coordinates.partition("#")[0] if supply and supply.commits else ""
    place = f"{folder}#{label}" if folder and Path(folder).is_dir() else label
    return f"{series.target}:{place}@{series.build_options}+{series.config}"


def _is_folder(place: str) -> bool:
    return "/" in place or place.startswith("~") or place in (".", "..")


def find_subject(subject: Subject, cache: Path, results: Path) -> tuple[Revision, str]:
    """Return the revision and its build options, asking the sources of its target for it.

    ``results`` is where nightshift writes; if that is in a source tree it is no part of it. Raises
    UserError where nobody has the revision.
    """
    if subject.folder:
        options = subject.options or next(iter(SHIPPED_OPTIONS))
        if options == OFFICIAL:
            raise UserError(f"{subject.text}: a source tree is compiled, and {OFFICIAL} is not")
        try:
            folder = Path(subject.folder)
            standing = revision_of_tree(subject.target, folder, subject.version, cache, results)
        except UserError as error:
            raise UserError(f"{subject.text}: {error}") from error
        return standing, options
    unreachable = []
    known: list[Revision] = []
    for supply in _supplies(subject):
        offer = Offer(subject.target, supply)
        try:
            found = discover([offer], cache, None)[offer]
            revision = find_revision(subject.version, found)
            if revision is None and supply.commits:
                # A commit may be younger than the list.
                found = discover([offer], cache, None, refresh=True)[offer]
                revision = find_revision(subject.version, found)
        except UserError as error:
            unreachable.append(str(error))
            continue
        if revision is not None:
            copied = revision.model_copy(update={"copy_number": subject.copy_number})
            return copied, subject.options or _usual(supply)
        known += [] if supply.commits else found
    why = f"; {unreachable[0]}" if unreachable else ""
    near = f"; {meant(subject.version, [each.version for each in known])}" if known else ""
    raise UserError(f"{subject.text}: no source has it{near or why}")


def _usual(supply: Supply) -> str:
    return OFFICIAL if supply.prebuilt else next(iter(SHIPPED_OPTIONS))


def _supplies(subject: Subject) -> list[Supply]:
    """Return the supplies that may have it, those that a line would take first in front."""
    supplies = find_target(subject.target).supplies
    fitting = [
        supply
        for supply in supplies
        if not subject.options or supply.prebuilt == (subject.options == OFFICIAL)
    ]
    if not fitting:
        raise UserError(
            f"{subject.text}: no source of {subject.target} has what {subject.options} asks for; "
            "`nightshift targets` lists them"
        )
    # The history of a whole project is not fetched for what cannot be a commit.
    return [each for each in fitting if not each.commits or _COMMIT.fullmatch(subject.version)]


def cell_of(
    subject: Subject,
    section: WorkloadSection,
    workload: Workload,
    machine: Machine,
    cache: Path,
    results: Path,
) -> Cell:
    """Return what is measured of a subject.

    Raises UserError as :func:`find_subject`, and for a configuration that is not there.
    """
    revision, options = find_subject(subject, cache, results)
    name = subject.config or section.configs.get(subject.target, section.config)
    try:
        config = find_target(subject.target).config(name, revision, machine)
    except UserError as error:
        raise UserError(f"{subject.text}: {error}") from error
    return Cell(
        revision=revision,
        build_options=options,
        config=config,
        machine_class=machine.machine_class,
        workload=workload,
    )
