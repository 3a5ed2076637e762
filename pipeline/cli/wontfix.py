"""The verb `wontfix`: mark a regression as won't fix."""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.decision_options import FingerprintArgument, NoteOption, show_state
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.config import DEFAULT_FILE
from pipeline.storage.journal import EventKind
from pipeline.use_cases.context import Context
from pipeline.use_cases.decisions import decide


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
    name, state = decide(Context(config), fingerprint, EventKind.WONT_FIX, note)
    show_state(name, state, form)
