"""The verb `rebuild`: empty the store (the database) and fill it from the bundles."""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.console import screen
from pipeline.cli.ingest_report import show_ingested
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.use_cases.ingest import rebuild_store
from pipeline.use_cases.measuring import MeasuringContext


@app.command("rebuild")
def rebuild_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Empty the store (the database) and fill it from the bundles.

    Measurements come from the bundles, regressions from the journal.

    Example: nightshift rebuild
    """
    show_ingested(rebuild_store(MeasuringContext(config), make_watcher(screen())), form)
