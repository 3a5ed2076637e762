"""Pack the results of a machine, and collect those of others, each exactly once.

A packed folder is untrusted: only files that a :class:`pipeline.transfer.assignment.Assignment`
asks for are collected from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.experiments.recorded import SEARCH
from pipeline.files.atomic_write import write_atomically
from pipeline.files.checksum import sha256
from pipeline.measure.run import BUILDS_FILE, BuildState, add_builds, load_builds, state_key
from pipeline.storage.bundle import (
    BUNDLES,
    EXPERIMENTS,
    SUFFIX,
    BundleError,
    list_all,
    read_manifest,
)
from pipeline.storage.condensed import is_condensed
from pipeline.text.errors import UserError, first_line
from pipeline.text.units import plural
from pipeline.transfer.assignment import Assignment
from pipeline.transfer.batches import CLAIM, BatchClaim
from pipeline.transfer.folder import received, send, take
from pipeline.transfer.imported_state import imported_builds, imported_checksums

WITHIN = (BUNDLES, EXPERIMENTS, BUILDS_FILE, CLAIM)
"""The files and folders that are collected."""

KINDS = ("confirm-", "recover-", "bisect-")
"""The prefixes of the names of experiments that a hub asks benches to run."""

_LONGEST_SMALL = 4 << 20
"""Maximum size in bytes of a file that is not a bundle."""

_LONGEST_FAILURE = 300


@dataclass
class Collected:
    """What was collected: new bundles, known bundles, and runs that were measured twice.

    ``measured_twice`` are the names of runs of which this machine has another bundle.
    ``experiments`` are the names of requested experiments that have new files. ``refused`` has the
    reason for each file that was not collected, by its name.
    """

    bundles: list[Path] = field(default_factory=list)
    known: int = 0
    measured_twice: list[str] = field(default_factory=list)
    experiments: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)


def pack(results: Path, folder: Path, batch: str = "") -> int:
    """Pack bundles and states of builds into a folder; return the number of files.

    ``batch`` is the id of the batch that they answer. Raises UserError for a folder that is not
    writable.
    """
    with packed(results, batch) as files:
        send(folder, files)
        return len(files)


@contextmanager
def packed(results: Path, batch: str = "") -> Iterator[dict[str, Path]]:
    """Yield the files of this machine's results that are for transfer, by name.

    Verdicts and decisions are not transferred: the hub makes its own. Files that came from the hub
    and did not change are left out.
    """
    files = {f"{BUNDLES}/{path.name}": path for path in list_all(results / BUNDLES)}
    files |= {path.relative_to(results).as_posix(): path for path in _experiments(results)}
    for name, digest in imported_checksums(results).items():
        if name.startswith(f"{EXPERIMENTS}/") and name in files and sha256(files[name]) == digest:
            del files[name]
    with TemporaryDirectory() as scratch:
        known = imported_builds(results)
        if builds := [state for state in load_builds(results) if state not in known]:
            add_builds(builds, Path(scratch))
            files[BUILDS_FILE] = Path(scratch) / BUILDS_FILE
        if batch:
            files[CLAIM] = Path(scratch) / CLAIM
            write_atomically(files[CLAIM], BatchClaim(id=batch).model_dump_json())
        yield files


def collect(folder: Path, results: Path, asked: Assignment) -> Collected:
    """Collect from a packed folder the files that the hub asked for.

    A known bundle is not collected again; of two bundles of the same run, the existing one stays. A
    file that the hub did not ask for, or whose content does not match its name, is refused with a
    message. Raises UserError as :func:`received` does; then nothing is collected.
    """
    sums = received(folder, WITHIN)
    found = Collected()
    new = []
    for name, digest in sums.items():
        place = results / name
        if name.endswith((SUFFIX, f"/{SEARCH}")) and place.exists():
            if sha256(place) == digest or _is_pruned(place):
                found.known += name.endswith(SUFFIX)
            elif name.endswith(f"/{SEARCH}"):
                new.append(name)
            else:
                found.measured_twice.append(name.removeprefix(f"{BUNDLES}/").removesuffix(SUFFIX))
        else:
            new.append(name)
    chosen, found.refused = asked.chosen(new, str(folder))
    for name in chosen:
        try:
            _take(folder / name, results, name, asked)
        except UserError as error:
            found.refused[name] = str(error)
            continue
        if name.startswith(f"{EXPERIMENTS}/"):
            found.experiments.add(name.split("/")[1])
        elif name.endswith(SUFFIX):
            found.bundles.append(results / name)
    return found


def _take(path: Path, results: Path, name: str, asked: Assignment) -> None:
    """Collect one file into the results. Raises UserError if the hub did not ask for it."""
    if name.endswith(SUFFIX):
        asked.check(path, name)
        take(path, results / name)
    elif path.stat().st_size > _LONGEST_SMALL:
        raise UserError(
            f"{path} is larger than any file that nightshift writes; it is not collected"
        )
    elif name == BUILDS_FILE:
        _take_builds(path, results, asked)
    elif name != CLAIM:
        take(path, results / name)


def _take_builds(path: Path, results: Path, asked: Assignment) -> None:
    """Collect the states of the builds that the requested cells need.

    Raises UserError if the file has the states of other builds, too.
    """
    states = load_builds(path.parent)
    wanted = asked.builds()
    own = [state for state in states if state_key(state) in wanted]
    add_builds(map(_short, own), results)
    if len(own) < len(states):
        others = plural(len(states) - len(own), "build")
        raise UserError(
            f"{path} has {others} that this bench was not asked for; they are not collected"
        )


def _short(state: BuildState) -> BuildState:
    failure = first_line(ValueError(state.failure))[:_LONGEST_FAILURE] if state.failure else ""
    return state.model_copy(update={"failure": failure, "hash": state.hash[:64]})


def _is_pruned(place: Path) -> bool:
    """Whether the samples of a bundle were pruned here, so that it differs from the bench's."""
    try:
        return is_condensed(read_manifest(place).files)
    except BundleError:
        return False


def _experiments(results: Path) -> Iterator[Path]:
    """Yield the bundles of experiments of the kinds that a hub asks for."""
    for folder in sorted((results / EXPERIMENTS).glob("*")):
        if folder.name.startswith(KINDS):
            yield from list_all(folder / BUNDLES)
            if (folder / SEARCH).is_file():
                yield folder / SEARCH
