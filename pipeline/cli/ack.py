"""The verb ack."""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.context import Context
from pipeline.cli.decisions import FingerprintArgument, NoteOption, UntilOption, decide
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.config import DEFAULT_FILE
from pipeline.journal import EventKind


@app.command("ack")
def ack_verb(
    fingerprint: FingerprintArgument,
    config: ConfigOption = DEFAULT_FILE,
    note: NoteOption = "",
    until: UntilOption = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Acknowledge a regression until a day.

    After that day it stands where its last measurement put it. What recovers meanwhile is resolved
    all the same.

    Example: nightshift ack 3f2a91c04b7d --note "waits for 17.12" --until 2031-12-31
    """
    decide(Context(config), fingerprint, EventKind.ACKNOWLEDGED, form, note, until)
