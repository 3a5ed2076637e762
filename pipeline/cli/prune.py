"""The verb `prune`: remove old samples and bundles that no result depends on."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.text.units import plural
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.prune import PruneAction, PruneRequest, prunable, prune


@app.command("prune")
def prune_verb(
    samples: Annotated[
        int,
        typer.Option(
            min=0,
            help="Age in days at which per-second samples are deleted; 0 keeps them forever.",
        ),
    ] = 0,
    bundles: Annotated[
        int,
        typer.Option(
            min=0, help="Age in days at which whole bundles are deleted; 0 keeps them forever."
        ),
    ] = 0,
    nights: Annotated[
        int,
        typer.Option(
            min=0, help="Number of newest nights whose data is kept completely, whatever their age."
        ),
    ] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be deleted, and delete nothing.")
    ] = False,
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Remove old samples and bundles that no result depends on.

    A bundle without samples still has its measured values: tables and detection give the same
    results. The evidence of regressions stays, and so do bundles that a night would measure again.

    Example: nightshift prune --samples 90 --bundles 400 --nights 30 --dry-run
    """
    context = MeasuringContext(config)
    found = prunable(context, PruneRequest(samples, bundles, nights))
    free = 0 if dry_run else prune(context, found, make_watcher(screen()))
    counts = {action: sum(one.action is action for one in found) for action in PruneAction}
    if form is Format.JSON:
        paths = {
            action.value: [str(one.path) for one in found if one.action is action]
            for action in PruneAction
        }
        print_json({**paths, "bytes": free, "dry_run": dry_run})
        return
    if dry_run:
        for one in found:
            out.print(f"{one.action.value}  {one.bytes / 1e6:8.1f} MB  {one.path}", markup=False)
    reported = (
        f"{plural(counts[PruneAction.DELETE], 'file')} to delete, "
        f"{plural(counts[PruneAction.CONDENSE], 'bundle')} to condense; nothing was changed"
        if dry_run
        else f"{plural(counts[PruneAction.DELETE], 'file')} deleted, "
        f"{plural(counts[PruneAction.CONDENSE], 'bundle')} condensed; {free / 1e6:.1f} MB "
        "freed"
    )
    out.print(reported, markup=False)
