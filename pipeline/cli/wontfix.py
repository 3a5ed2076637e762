"""The verb wontfix."""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.context import ConfigOption, Context, Format, FormatOption
from pipeline.cli.decisions import FingerprintArgument, NoteOption, decide
from pipeline.config import DEFAULT_FILE
from pipeline.journal import EventKind


@app.command("wontfix")
def wontfix_verb(
    fingerprint: FingerprintArgument,
    config: ConfigOption = DEFAULT_FILE,
    note: NoteOption = "",
    form: FormatOption = Format.TEXT,
) -> None:
    """Say that a regression is meant, or will not be mended.

    Example: nightshift wontfix 3f2a91c04b7d --note "the price of checksums"
    """
    decide(Context(config), fingerprint, EventKind.WONT_FIX, form, note)
