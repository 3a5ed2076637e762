"""The verb reopen."""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.context import Context
from pipeline.cli.decisions import FingerprintArgument, NoteOption, decide
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.config import DEFAULT_FILE
from pipeline.journal import EventKind


@app.command("reopen")
def reopen_verb(
    fingerprint: FingerprintArgument,
    config: ConfigOption = DEFAULT_FILE,
    note: NoteOption = "",
    form: FormatOption = Format.TEXT,
) -> None:
    """Undo the decision about a regression.

    It stands where its last measurement put it; one that was rejected is suspected again.

    Example: nightshift reopen 3f2a91c04b7d --note "seen on another machine"
    """
    decide(Context(config), fingerprint, EventKind.REOPENED, form, note)
