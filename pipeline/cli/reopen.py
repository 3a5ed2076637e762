"""The verb `reopen`: undo the decision about a regression."""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.decision_options import FingerprintArgument, NoteOption, show_state
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.config import DEFAULT_FILE
from pipeline.storage.journal import EventKind
from pipeline.use_cases.context import Context
from pipeline.use_cases.decisions import decide


@app.command("reopen")
def reopen_verb(
    fingerprint: FingerprintArgument,
    config: ConfigOption = DEFAULT_FILE,
    note: NoteOption = "",
    form: FormatOption = Format.TEXT,
) -> None:
    """Undo the decision about a regression.

    The regression returns to the state of its last measurement; a rejected one becomes suspected.

    Example: nightshift reopen 3f2a91c04b7d --note "seen on another machine"
    """
    name, state = decide(Context(config), fingerprint, EventKind.REOPENED, note)
    show_state(name, state, form)
