"""The default sink: every regression as a markdown file in a folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pipeline.durable import write_whole
from pipeline.errors import UserError
from pipeline.markdown import cell
from pipeline.model import Regression
from pipeline.notify.base import Cause, Decision, Notice, Result, Told, Words
from pipeline.notify.base.choose import choose
from pipeline.notify.base.preview import Preview, Show

_NAME = re.compile(r".*-regression-(?P<fingerprint>[0-9a-f]+)\.md")


class DirectorySink:
    """Writes one file for each cause; the first of its regressions names it.

    A regression that was written before keeps its file, brought up to date. One that is no longer
    found keeps its file as it was: closing it takes a measured recovery. With ``show`` nothing is
    written; it is told what would be.
    """

    name = "directory"

    def __init__(self, folder: Path, show: Show | None = None) -> None:
        self._folder = folder
        self._show = show

    def decisions(self) -> Sequence[Decision]:
        """Return nothing: in a file nobody decides anything."""
        return ()

    def tell(self, causes: Sequence[Cause], words: Words, *, suspected: bool) -> Result:
        """Write what is new, and what was written of before as it is known now.

        Raises UserError for a folder that cannot be written.
        """
        try:
            return self._tell(causes, words, suspected=suspected)
        except OSError as error:
            raise UserError(f"{self._folder} cannot be written: {error.strerror}") from error

    def _tell(self, causes: Sequence[Cause], words: Words, *, suspected: bool) -> Result:
        if self._show is None:
            self._folder.mkdir(parents=True, exist_ok=True)
        known = files(self._folder)
        told = []
        for regression, beside, new in choose(causes, known, suspected=suspected):
            # Its place on the line, and so the name that it would have, may have moved.
            path = known.get(regression.fingerprint, self._folder / issue_name(regression))
            text = issue_text(words(regression, beside))
            changed = not path.exists() or path.read_bytes() != text.encode()
            if changed:
                self._write(path, text)
            told.append(
                Told(fingerprint=regression.fingerprint, place=str(path), new=new, changed=changed)
            )
        return Result(told=tuple(told))

    def _write(self, path: Path, text: str) -> None:
        if self._show is not None:
            self._show(Preview(sink=self.name, method="write", place=str(path), payload=text))
            return
        write_whole(path, text)


def issue_name(regression: Regression) -> str:
    """Return the file name: the line, the first revision at the new level, the identity."""
    place = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{regression.line}-{regression.first_bad}")
    return f"{place}-regression-{regression.fingerprint}.md"


def issue_text(notice: Notice) -> str:
    """Return what a file says; by its first line it is known again, too."""
    return (
        f"<!-- nightshift regression {notice.fingerprint} -->\n"
        f"# {cell(notice.title)}\n\n{notice.body}"
    )


def files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by the fingerprints of the regressions that they are of."""
    found = {}
    for path in sorted(folder.glob("*-regression-*.md")):
        if match := _NAME.fullmatch(path.name):
            found[match["fingerprint"]] = path
    return found
