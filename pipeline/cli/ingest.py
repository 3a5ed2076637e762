"""The verb ingest."""

from __future__ import annotations

import typer

from pipeline.bundle import list_bundles
from pipeline.cli.app import app
from pipeline.cli.console import out, screen, warn
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import counting
from pipeline.config import DEFAULT_FILE
from pipeline.store.ingest import IngestReport


@app.command("ingest")
def ingest_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Add new bundles to the store.

    A bundle that cannot be used is named and left alone.

    Example: nightshift ingest
    """
    show(ingest_all(MeasuringContext(config)), form)


def ingest_all(context: MeasuringContext) -> IngestReport:
    """Ingest every bundle of the results folder, showing the progress."""
    paths = list(list_bundles(context.bundles))
    with counting(screen(), "ingest", len(paths)) as progress:
        return context.ingest(paths, progress)


def show(report: IngestReport, form: Format) -> None:
    """Print what an ingest did. Exits with 2 when a bundle was refused."""
    for refused in report.refused:
        warn(str(refused))
    if form is Format.JSON:
        print_json(
            {
                "taken": report.taken,
                "known": report.known,
                "measurements": report.measurements,
                "refused": [str(refused) for refused in report.refused],
            }
        )
    else:
        out.print(
            f"{report.taken} bundles taken ({report.measurements} measurements), "
            f"{report.known} known already, {len(report.refused)} refused"
        )
    if report.refused:
        raise typer.Exit(2)
