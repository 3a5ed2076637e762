"""The verb `ingest`: add new bundles (run archives) to the store (the database)."""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.console import screen
from pipeline.cli.ingest_report import show_ingested
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.use_cases.ingest import ingest_all
from pipeline.use_cases.measuring import MeasuringContext


@app.command("ingest")
def ingest_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Add new bundles (run archives) to the store (the database).

    An unusable bundle is moved to results/quarantine, with a note beside it.

    Example: nightshift ingest
    """
    show_ingested(ingest_all(MeasuringContext(config), make_watcher(screen())), form)
