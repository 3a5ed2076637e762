"""The verb wontfix."""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.context import Context
from pipeline.cli.decisions import FingerprintArgument, NoteOption, decide
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.config import DEFAULT_FILE
from pipeline.journal import EventKind


@app.command("wontfix")
def wontfix_verb(
    fingerprint: FingerprintArgument,
    config: ConfigOption = DEFAULT_FILE,
    note: NoteOption = "",
    form: FormatOption = Format.TEXT,
) -> None:
    """Mark a regression as won't fix.

    Example: nightshift wontfix 3f2a91c04b7d --note "the price of checksums"
    """
    decide(Context(config), fingerprint, EventKind.WONT_FIX, form, note)
