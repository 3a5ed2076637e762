"""The quarantine: a folder for bundles that cannot be used, with a note that says why.

``results/quarantine`` has every quarantined bundle and, beside it, the note ``NAME.json``: the
reason, and how to put the bundle back. A bundle that this user may not move stays in place, and
only its note is written; the bundle is not read again until it changes. A bundle that a newer
nightshift wrote is moved back automatically once the installed nightshift can read it; until then
its run is not measured again.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from pydantic import AwareDatetime, ValidationError

from pipeline.files.atomic_write import write_durably
from pipeline.model import Frozen
from pipeline.storage.bundle import BUNDLES, SUFFIX, BundleError, NewerBundleError
from pipeline.text.errors import first_line

FOLDER = "quarantine"
"""The name of the quarantine folder, in the results folder."""

_NOTE = ".json"


class QuarantineNote(Frozen):
    """The note beside a quarantined bundle: why it cannot be used, how to put it back.

    ``bundle`` is its former path in the results folder. ``newer`` is true if a newer nightshift
    wrote it. ``stays`` identifies the state of the file if the bundle was left in place; it is
    empty if the bundle was moved.
    """

    at: AwareDatetime
    bundle: str
    reason: str
    put_back: str
    newer: bool = False
    stays: str = ""


class Quarantine:
    """The folder of quarantined bundles in a results folder."""

    def __init__(self, results: Path) -> None:
        self.folder = results / FOLDER
        self._results = results

    def take(self, refused: BundleError) -> str:
        """Move an unusable bundle into quarantine; if that fails, leave it there and write a note.

        Returns a message of one line about what was done. Does not raise, because a bad bundle must
        not stop the caller.
        """
        path = refused.path
        try:
            if os.geteuid() not in (0, path.lstat().st_uid):
                return self._leave(refused, "it belongs to another user")
            kept = self._free_place(path.name)
            kept.parent.mkdir(parents=True, exist_ok=True)
            # The note comes first: a kill in between leaves no bundle without a reason.
            self._write(kept, refused)
            try:
                path.rename(kept)
            except OSError as error:
                _note_of(kept).unlink(missing_ok=True)
                if not os.path.lexists(path):
                    raise
                return self._leave(refused, error.strerror)
        except FileNotFoundError:
            # Another process has taken it.
            return str(refused)
        except OSError as error:
            return (
                f"{refused}; it was left there, because {self.folder} cannot be written "
                f"({error.strerror})"
            )
        then = "its run waits for an upgrade" if _is_newer(refused) else "its run is measured again"
        return f"{refused}; moved to {kept.parent} with a note on how to put it back; {then}"

    def release(self) -> None:
        """Move bundles from the quarantine back to the results, if this version can read them.

        For a bundle that was left in place, the note is deleted once the file has changed, so that
        the bundle is read again.
        """
        for kept, note in self._notes():
            # Most quarantines are empty, and a verb that takes no bundle does without the module.
            from pipeline.storage.ingest import check_bundle  # noqa: PLC0415

            home = self._results / note.bundle
            with suppress(BundleError, OSError):
                if note.stays and note.stays != _stamp(home):
                    _note_of(kept).unlink()
                elif note.newer and not note.stays and not home.exists():
                    check_bundle(kept)
                    kept.rename(home)
                    _note_of(kept).unlink()

    def left(self) -> set[Path]:
        """Return the unusable bundles that could not be moved and have not changed since."""
        return {
            self._results / note.bundle
            for _, note in self._notes()
            if note.stays and note.stays == _stamp(self._results / note.bundle)
        }

    def held_back(self) -> set[str]:
        """Return the names of runs in quarantine that must not be measured again.

        These are runs that a newer nightshift measured, and runs whose unusable bundle could not be
        moved away.
        """
        waiting = {
            self._results / note.bundle
            for kept, note in self._notes()
            if note.newer and not note.stays and kept.exists()
        }
        nights = self._results / BUNDLES
        return {
            path.name.removesuffix(SUFFIX)
            for path in waiting | self.left()
            if path.parent == nights
        }

    def _leave(self, refused: BundleError, why: str | None) -> str:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write(self.folder / refused.path.name, refused, _stamp(refused.path))
        return f"{refused}; it was left there ({why}) and is not read again until it changes"

    def _write(self, kept: Path, refused: BundleError, stays: str = "") -> None:
        path = refused.path
        home = path.relative_to(self._results) if path.is_relative_to(self._results) else path
        back = f"mv -n {shlex.quote(str(kept))} {shlex.quote(str(path))}"
        note = QuarantineNote(
            at=datetime.now(UTC),
            bundle=str(home),
            reason=str(refused),
            put_back=(
                f"repair {path} where it is, then `nightshift ingest`"
                if stays
                else f"`{back}`, then `nightshift ingest`"
            ),
            newer=_is_newer(refused),
            stays=stays,
        )
        write_durably(_note_of(kept), note.model_dump_json(indent=1) + "\n")

    def _notes(self) -> Iterator[tuple[Path, QuarantineNote]]:
        """Yield every readable note in quarantine, with the path of its bundle."""
        for place in (f"*{SUFFIX}{_NOTE}", f"*/*{SUFFIX}{_NOTE}"):
            for path in sorted(self.folder.glob(place)):
                try:
                    note = QuarantineNote.model_validate_json(path.read_bytes())
                except (OSError, ValidationError):
                    continue
                yield path.with_name(path.name.removesuffix(_NOTE)), note

    def _free_place(self, name: str) -> Path:
        """Return a free path in quarantine for a bundle of this name."""
        for number in count(1):
            kept = (self.folder if number == 1 else self.folder / str(number)) / name
            if not os.path.lexists(kept) and not _note_of(kept).exists():
                return kept
        raise AssertionError


def _is_newer(refused: BundleError) -> bool:
    return isinstance(refused, NewerBundleError)


def _note_of(kept: Path) -> Path:
    return kept.with_name(kept.name + _NOTE)


def _stamp(path: Path) -> str:
    """Return the size, times and permissions of a file as text; a repair of the file changes it."""
    try:
        state = path.lstat()
    except OSError as error:
        return first_line(error)
    return f"{state.st_size}-{state.st_ino}-{state.st_ctime_ns}"
