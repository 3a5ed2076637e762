"""What the machine was like before it was tuned: on the disk before anything is changed."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from pipeline.durable import remove_durably, write_durably
from pipeline.errors import UserError
from pipeline.model import Frozen


class Entry(Frozen):
    """A knob: its value before it was first set, and all that it was set to since."""

    setting: str
    knob: str
    before: str
    ours: tuple[str, ...]


class Tuned(Frozen):
    """What was set since the machine started. ``by_hand`` it stays until it is restored."""

    boot: str
    by_hand: bool = False
    entries: tuple[Entry, ...] = ()

    def entry(self, knob: str) -> Entry | None:
        """Return what is known of a knob."""
        return next((each for each in self.entries if each.knob == knob), None)


class Record:
    """The file that holds it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the record: two that tune one machine would each take the other's for its own.

        Raises UserError while another holds it, and where this user may not write it.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = self.path.with_suffix(".lock").open("a")
        except OSError as error:
            raise UserError(
                f"{error.filename} cannot be written ({error.strerror}); tuning a machine is "
                "for root: use sudo"
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UserError(
                    "another nightshift is tuning this machine; wait for it to end"
                ) from error
            yield

    def read(self, boot: str) -> Tuned | None:
        """Return what was set since a start of the machine; None if nothing was.

        A start brings the kernel's own settings back, so what was kept before it says nothing.
        Raises UserError for a file that cannot be understood.
        """
        try:
            tuned = Tuned.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise UserError(
                f"{self.path} does not say what this machine was like before it was tuned; move it "
                "away, and start the machine again to have its own settings back"
            ) from error
        return tuned if tuned.boot == boot else None

    def write(self, tuned: Tuned) -> None:
        """Keep what was set, on the disk when this returns. Raises UserError where it cannot be."""
        try:
            write_durably(self.path, tuned.model_dump_json(indent=1))
        except OSError as error:
            raise UserError(
                f"{self.path} cannot be written ({error.strerror}), and nothing is changed that "
                "could not be restored; free some space, or use sudo"
            ) from error

    def clear(self) -> None:
        """Forget everything."""
        remove_durably(self.path)
