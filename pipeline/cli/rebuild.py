"""The verb rebuild."""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.context import ConfigOption, Context, Format, FormatOption
from pipeline.cli.ingest import ingest_all, show
from pipeline.config import DEFAULT_FILE
from pipeline.store.database import empty_store


@app.command("rebuild")
def rebuild_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Empty the store and derive it from the bundles again.

    Example: nightshift rebuild
    """
    context = Context(config)
    with context.workspace.held():
        empty_store(context.store)
        show(ingest_all(context), form)
