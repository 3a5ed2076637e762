"""Parse the sides of a comparison and the columns of a table: ``postgres:14.20``.

    target:version[#copy][@build options][+config]
    target:folder[#commit][@build options][+config]

A release or commit need not be on a configured line: all supplies of its target are searched. A
folder is a source tree in its current state, or one of its commits.
"""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.config import ConfigFile, WorkloadSection
from pipeline.experiments.source_trees import revision_of_tree
from pipeline.files.address import folder_at
from pipeline.measure.build import OFFICIAL, SHIPPED_OPTIONS, default_options
from pipeline.measure.discover import Offer, look_up
from pipeline.measure.server_configs import server_config, with_memory
from pipeline.measure.supplies import supplies_of
from pipeline.model import Cell, Frozen, Machine, Revision, SeriesKey, Supply, Workload
from pipeline.targets import find_target
from pipeline.text.errors import UserError, did_you_mean

_SUBJECT = re.compile(
    r"(?P<target>[^:]+):(?P<place>[^@+]+?)(#(?P<part>[^@+#]+))?"
    r"(@(?P<options>[\w.~-]+))?(\+(?P<config>[\w.-]+))?"
)
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


class RevisionSpec(Frozen):
    """One side of a comparison as the user wrote it: a release, or a local source tree.

    ``version`` is a release or a commit; empty for the current state of a folder. ``options`` and
    ``config`` are empty if not chosen.
    """

    text: str
    target: str
    version: str
    folder: str = ""
    copy_number: int = 1
    options: str = ""
    config: str = ""


def parse_subject(text: str) -> RevisionSpec:
    """Parse one side of a comparison. Raises a one-line UserError for invalid text."""
    found = _SUBJECT.fullmatch(text)
    if found is None:
        raise UserError(
            f"{text!r} is not target:version; write for example postgres:17.6, then @options or "
            "+config if they are not the default"
        )
    target, place, part = found["target"], found["place"], found["part"] or ""
    try:
        find_target(target)
    except KeyError as error:
        raise UserError(f"{text}: {error.args[0]}") from error
    options, config = found["options"] or "", found["config"] or ""
    if _is_folder(place):
        found_folder = folder_at(place)
        if found_folder is None or not found_folder.is_dir():
            raise UserError(f"{text}: there is no folder {place}")
        folder = found_folder.resolve()
        return RevisionSpec(
            text=text,
            target=target,
            version=part,
            folder=str(folder),
            options=options,
            config=config,
        )
    if Path(place).is_dir() and not re.search(r"\d", place):
        raise UserError(f"{text}: {place} is a folder, not a release; write {target}:./{place}")
    if part and not (part.isdecimal() and int(part) > 1):
        raise UserError(
            f"{text}: the number of a copy must be at least 2, for example {target}:{place}#2"
        )
    return RevisionSpec(
        text=text,
        target=target,
        version=place,
        copy_number=int(part or 1),
        options=options,
        config=config,
    )


def subject_text(series: SeriesKey, label: str, supply: Supply | None) -> str:
    """Return the text of a comparison's side that measures a revision in the setup of a series.

    A commit of a repository on this machine is written with the repository's folder. Other commits,
    and those without a known ``supply``, are written with their hashes.
    """
    folder = supply.coordinates.partition("#")[0] if supply and supply.commits else ""
    place = f"{folder}#{label}" if folder and Path(folder).is_dir() else label
    return f"{series.target}:{place}@{series.build_options}+{series.config}"


def _is_folder(place: str) -> bool:
    return "/" in place or place.startswith("~") or place in (".", "..")


def find_subject(
    subject: RevisionSpec, cache: Path, results: Path, file: ConfigFile | None = None
) -> tuple[Revision, str]:
    """Find the revision that one side of a comparison names, and its build options.

    ``results`` is where nightshift writes; inside a source tree it is ignored. ``file`` may list
    archives of the target. Raises UserError if no source has the revision.
    """
    if subject.folder:
        options = subject.options or next(iter(SHIPPED_OPTIONS))
        if options == OFFICIAL:
            raise UserError(
                f"{subject.text}: a source tree must be compiled, but {OFFICIAL} means a "
                "prebuilt release; choose other build options"
            )
        try:
            folder = Path(subject.folder)
            standing = revision_of_tree(subject.target, folder, subject.version, cache, results)
        except UserError as error:
            raise UserError(f"{subject.text}: {error}") from error
        return standing, options
    unreachable = []
    known: list[Revision] = []
    for supply in _supplies(subject, file):
        offer = Offer(subject.target, supply)
        try:
            # A commit may be newer than the list.
            revision, found = look_up(offer, subject.version, cache, ask_again=supply.commits)
        except UserError as error:
            unreachable.append(str(error))
            continue
        if revision is not None:
            copied = revision.model_copy(update={"copy_number": subject.copy_number})
            return copied, subject.options or default_options(supply)
        known += [] if supply.commits else found
    why = f"; {unreachable[0]}" if unreachable else ""
    near = f"; {did_you_mean(subject.version, [each.version for each in known])}" if known else ""
    raise UserError(f"{subject.text}: no source has this version{near or why}")


def _supplies(subject: RevisionSpec, file: ConfigFile | None) -> list[Supply]:
    """Return the supplies that may have the revision; those that lines use come first."""
    target = subject.target
    supplies = supplies_of(file, target) if file else find_target(target).supplies
    fitting = [
        supply
        for supply in supplies
        if not subject.options or supply.prebuilt == (subject.options == OFFICIAL)
    ]
    if not fitting:
        raise UserError(
            f"{subject.text}: no source of {subject.target} fits the build options "
            f"{subject.options}; `nightshift targets` lists the sources"
        )
    # Do not fetch a whole project's history for text that cannot be a commit.
    return [each for each in fitting if not each.commits or _COMMIT.fullmatch(subject.version)]


def cell_of(
    subject: RevisionSpec,
    file: ConfigFile,
    section: WorkloadSection,
    workload: Workload,
    machine: Machine,
    cache: Path,
    results: Path,
) -> Cell:
    """Return the cell to measure for one side of a comparison.

    Raises UserError as :func:`find_subject` does, and for an unknown configuration.
    """
    found = find_subject(subject, cache, results, file)
    return cell_with(subject, found, file, section, workload, machine)


def cell_with(
    subject: RevisionSpec,
    found: tuple[Revision, str],
    file: ConfigFile,
    section: WorkloadSection,
    workload: Workload,
    machine: Machine,
) -> Cell:
    """Return the cell of a side whose revision and build options were already found.

    Raises UserError for an unknown configuration.
    """
    revision, options = found
    name = subject.config or section.configs.get(subject.target, section.config)
    try:
        config = server_config(file, name, revision, with_memory(machine, section.memory))
    except UserError as error:
        raise UserError(f"{subject.text}: {error}") from error
    return Cell(
        revision=revision,
        build_options=options,
        config=config,
        machine_class=machine.machine_class,
        workload=workload,
    )
