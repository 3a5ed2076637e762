"""The verb `ack`: acknowledge a regression until a given day."""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.decision_options import FingerprintArgument, NoteOption, UntilOption, show_state
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.config import DEFAULT_FILE
from pipeline.storage.journal import EventKind
from pipeline.use_cases.context import Context
from pipeline.use_cases.decisions import decide


@app.command("ack")
def ack_verb(
    fingerprint: FingerprintArgument,
    config: ConfigOption = DEFAULT_FILE,
    note: NoteOption = "",
    until: UntilOption = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Acknowledge a regression until a given day.

    After that day the regression returns to the state of its last measurement. A regression that
    recovers before that day is resolved anyway.

    Example: nightshift ack 3f2a91c04b7d --note "waits for 17.12" --until 2031-12-31
    """
    name, state = decide(Context(config), fingerprint, EventKind.ACKNOWLEDGED, note, until)
    show_state(name, state, form)
