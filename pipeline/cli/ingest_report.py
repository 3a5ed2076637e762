"""Print how many bundles were added to the store, and which were refused."""

from __future__ import annotations

import typer

from pipeline.cli.console import out
from pipeline.cli.options import Format
from pipeline.cli.output import print_json
from pipeline.storage.ingest import IngestReport


def show_ingested(report: IngestReport, form: Format) -> None:
    """Print the result of adding bundles to the store. Exits with code 2 if one was refused."""
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
            f"{report.taken} bundles ingested ({report.measurements} measurements), "
            f"{report.known} known already, {len(report.refused)} refused"
        )
    if report.refused:
        raise typer.Exit(2)
