"""The verb pursue: confirm suspected regressions and bisect to their culprits."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import screen
from pipeline.cli.detection import show_detected
from pipeline.cli.options import ConfigOption, QuickOption, RunOption
from pipeline.cli.output import print_json, print_matrix
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.pursue import pursue_detected, pursuits


class PursuitFormat(StrEnum):
    """How the result of `pursue` is printed: as text or as JSON."""

    TEXT = "text"
    JSON = "json"
    GITHUB_MATRIX = "github-matrix"


@app.command("pursue")
def pursue_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: Annotated[
        PursuitFormat,
        typer.Option(
            "--format",
            help=(
                "github-matrix: only list the machine classes that have regressions to confirm or "
                "bisect."
            ),
        ),
    ] = PursuitFormat.TEXT,
    run: RunOption = "",
) -> None:
    """Confirm suspected regressions and bisect to their culprits.

    It does what a night does after detection, within the same time limits: check whether
    regressions recovered, confirm suspected ones, test changed settings, and bisect. If the
    configuration has machine classes, only regressions of this machine's class are included.

    Example: nightshift pursue
    """
    context = MeasuringContext(config, quick)
    if form is PursuitFormat.GITHUB_MATRIX:
        print_matrix(pursuits(context, run))
        return
    detected = pursue_detected(context, make_watcher(screen()))
    if form is PursuitFormat.JSON:
        print_json(detected.model_dump(mode="json"))
    else:
        show_detected(detected)
