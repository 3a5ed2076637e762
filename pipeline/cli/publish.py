"""The verb `publish`: send new measurements to Prometheus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.cli.publication import published_line
from pipeline.config import DEFAULT_FILE
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.publish import PublishResult, publish_to


@app.command("publish")
def publish_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    url: Annotated[str, typer.Option(help="Address of the receiver. Default: [publish] url.")] = "",
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Send everything again, for a receiver that lost its data."),
    ] = False,
    blocks: Annotated[
        Path | None,
        typer.Option(
            help=(
                "With --rebuild: write blocks into this data folder of a local Prometheus "
                "instead of "
                "sending samples."
            )
        ),
    ] = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Send new measurements to Prometheus.

    Measurements are sent to the configured receiver or, without one, to the hub on this machine.
    Each value is sent with the time of its measurement; corrected values are sent again.

    Example: nightshift publish --url http://127.0.0.1:9090/api/v1/write
    """
    sent: list[PublishResult] = []

    def done(published: PublishResult) -> None:
        sent.append(published)
        if form is Format.TEXT and (line := published_line(published)):
            out.print(line, markup=False)

    watcher = make_watcher(screen())
    publish_to(
        MeasuringContext(config, quick), watcher, done, url=url, rebuild=rebuild, blocks=blocks
    )
    if form is Format.JSON:
        (each,) = sent
        print_json({"url": each.receiver, "seconds": round(each.seconds, 3), **vars(each.synced)})
