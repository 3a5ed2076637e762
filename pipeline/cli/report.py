"""The verb `report`: write the tables and the report page."""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.report import write_report


@app.command("report")
def report_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Write the tables and the report page.

    Tables are written as markdown, CSV and JSON.

    Example: nightshift report
    """
    context = MeasuringContext(config, quick)
    report = write_report(context, context.plan())
    written = [*report.tables, report.page]
    if form is Format.JSON:
        print_json([str(path) for path in written])
        return
    for path in written:
        out.print(str(path), markup=False)
