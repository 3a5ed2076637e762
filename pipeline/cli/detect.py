"""The verb `detect`: search the series for changes and group them by cause."""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.detection import show_detected
from pipeline.cli.machine_events import show_recent
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.use_cases.detect import detect_stage
from pipeline.use_cases.measuring import MeasuringContext


@app.command("detect")
def detect_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Search the series for changes and group them by cause.

    Example: nightshift detect --format json
    """
    context = MeasuringContext(config, quick)
    detected = detect_stage(context, context.plan())
    if form is Format.JSON:
        print_json(detected.model_dump(mode="json"))
    else:
        show_detected(detected)
        show_recent(context.results)
