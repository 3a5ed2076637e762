"""The default sink: a markdown file for every regression in a folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pipeline.files.atomic_write import write_atomically
from pipeline.model import Regression
from pipeline.notify.base import Cause, Notice, PersonDecision, SinkAction, SinkResult, Words
from pipeline.notify.base.choose import choose
from pipeline.notify.base.preview import Preview, Show
from pipeline.text.errors import UserError
from pipeline.text.markdown import cell

_NAME = re.compile(r".*-regression-(?P<fingerprint>[0-9a-f]+)\.md")


class DirectorySink:
    """Reports regressions as files in a folder, one for each cause.

    A reported regression keeps its file, which is updated. If a regression is no longer detected,
    its file is unchanged: only a measured recovery closes it. With ``show``, nothing is written,
    but previews are passed to it.
    """

    name = "directory"

    def __init__(self, folder: Path, show: Show | None = None) -> None:
        self._folder = folder
        self._show = show

    def decisions(self) -> Sequence[PersonDecision]:
        """Return nothing, because nobody can decide in a file."""
        return ()

    def report(self, causes: Sequence[Cause], words: Words, *, suspected: bool) -> SinkResult:
        """Write the files of new regressions, and update the others.

        Raises UserError if the folder is not writable.
        """
        try:
            return self._report_all(causes, words, suspected=suspected)
        except OSError as error:
            raise UserError(
                f"{self._folder} cannot be written: {error.strerror}; correct this, or set "
                "folder in [notify] to another one"
            ) from error

    def _report_all(self, causes: Sequence[Cause], words: Words, *, suspected: bool) -> SinkResult:
        if self._show is None:
            self._folder.mkdir(parents=True, exist_ok=True)
        known = files(self._folder)
        actions = []
        for regression, beside, new in choose(causes, known, suspected=suspected):
            # The position on the line, and therefore the file name, may have changed.
            path = known.get(regression.fingerprint, self._folder / issue_name(regression))
            text = issue_text(words(regression, beside))
            changed = not path.exists() or path.read_bytes() != text.encode()
            if changed:
                self._write(path, text)
            actions.append(
                SinkAction(
                    fingerprint=regression.fingerprint, place=str(path), new=new, changed=changed
                )
            )
        return SinkResult(actions=tuple(actions))

    def _write(self, path: Path, text: str) -> None:
        if self._show is not None:
            self._show(Preview(sink=self.name, method="write", place=str(path), payload=text))
            return
        write_atomically(path, text)


def issue_name(regression: Regression) -> str:
    """Return the name of a regression's file: line, first bad revision, fingerprint."""
    place = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{regression.line}-{regression.first_bad}")
    return f"{place}-regression-{regression.fingerprint}.md"


def issue_text(notice: Notice) -> str:
    """Return the text of a regression's file; its first line identifies the regression."""
    return (
        f"<!-- nightshift regression {notice.fingerprint} -->\n"
        f"# {cell(notice.title)}\n\n{notice.body}"
    )


def files(folder: Path) -> dict[str, Path]:
    """Return the existing report files of a folder by the fingerprints of their regressions."""
    found = {}
    for path in sorted(folder.glob("*-regression-*.md")):
        if match := _NAME.fullmatch(path.name):
            found[match["fingerprint"]] = path
    return found
