"""The verb rebuild."""

from __future__ import annotations

from pipeline.analyse.refresh import refresh
from pipeline.cli.app import app
from pipeline.cli.ingest import ingest_all, show
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.config import DEFAULT_FILE
from pipeline.journal import now
from pipeline.store.database import empty_store


@app.command("rebuild")
def rebuild_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Empty the store and derive its content again.

    It comes from the bundles, and what is known of regressions from the journal.

    Example: nightshift rebuild
    """
    context = MeasuringContext(config)
    with context.workspace.held():
        empty_store(context.store)
        report = ingest_all(context)
        refresh(context.results, context.store, now())
        show(report, form)
