"""The record of kernel settings before tuning, on disk before anything is changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pydantic import ValidationError

from pipeline.files import lock
from pipeline.files.atomic_write import remove_durably, write_durably
from pipeline.model import Frozen
from pipeline.text.errors import UserError


class KnobRecord(Frozen):
    """The record of one kernel setting: its original value, and all values set since."""

    setting: str
    knob: str
    before: str
    ours: tuple[str, ...]


class Tuned(Frozen):
    """All kernel settings changed since boot, by a night or by hand."""

    boot: str
    by_hand: bool = False
    entries: tuple[KnobRecord, ...] = ()

    def entry(self, knob: str) -> KnobRecord | None:
        """Return the record of one kernel setting."""
        return next((each for each in self.entries if each.knob == knob), None)


class TuneRecord:
    """The file with the record of changed kernel settings."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the record, so that only one process tunes the machine.

        Two processes at once would record each other's values as the original ones. Raises
        UserError while another process holds the lock, and if this user may not write the record.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(lock.held(self.path.with_suffix(".lock"), patience=0))
            except lock.LockHeldError as error:
                raise UserError(
                    f"another nightshift ({error}) is tuning this machine; wait for it to end"
                ) from error
            except OSError as error:
                raise UserError(
                    f"{error.filename} cannot be written ({error.strerror}); tuning needs root: "
                    "use sudo"
                ) from error
            yield

    def read(self, boot: str) -> Tuned | None:
        """Return which settings were changed since a boot; None if there are none.

        A restart restores the kernel's own settings, so a record from before it is ignored. Raises
        UserError for an invalid file.
        """
        try:
            tuned = Tuned.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise UserError(
                f"{self.path} is damaged, so the original settings of this machine are unknown; "
                "delete the file and reboot: that restores the settings"
            ) from error
        return tuned if tuned.boot == boot else None

    def write(self, tuned: Tuned) -> None:
        """Write the record to the disk. Raises UserError if that fails."""
        try:
            write_durably(self.path, tuned.model_dump_json(indent=1))
        except OSError as error:
            raise UserError(
                f"{self.path} cannot be written ({error.strerror}), so nothing was tuned, because "
                "the original settings could not be restored; free some space, or use sudo"
            ) from error

    def clear(self) -> None:
        """Delete the record, because all settings are restored."""
        remove_durably(self.path)
