"""The verb `collect`: collect results from other machines, each run once."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.cli.transfers import transfers
from pipeline.config import DEFAULT_FILE
from pipeline.text.units import plural
from pipeline.use_cases.collect import CollectedTotals, collect_all, collect_state
from pipeline.use_cases.measuring import MeasuringContext


@app.command("collect")
def collect_verb(
    places: Annotated[
        list[str] | None,
        typer.Argument(
            help=(
                "Where to collect from: folders that `pack` wrote, or results folders of other "
                "machines, as a local folder, ssh://user@host/path or s3://bucket/prefix. Default: "
                "[collect] from."
            )
        ),
    ] = None,
    state: Annotated[
        bool,
        typer.Option(
            "--state", help="Import a packed state or plan, which replaces the local one."
        ),
    ] = False,
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Collect results from other machines, each run once.

    Every file is verified first. Damaged files are listed and skipped; all others are collected.
    Files that were collected before are not transferred again, and an interrupted transfer
    continues.

    Example: nightshift collect inbox/ccx13-001 ssh://bench@home.example/srv/nightshift/results
    """
    context = MeasuringContext(config)
    if state:
        count = collect_state(context, places or [])
        if form is Format.JSON:
            print_json({"files": count})
        else:
            out.print(f"{plural(count, 'file')} imported")
        return
    came = collect_all(context, places or [], transfers(screen()))
    _show(came, form)
    if came.wrong:
        raise typer.Exit(2)


def _show(came: CollectedTotals, form: Format) -> None:
    bundles = sum(len(each.bundles) for each in came.taken)
    known = came.known + sum(each.known for each in came.taken)
    experiments = sorted(set[str]().union(*(each.experiments for each in came.taken)))
    if form is Format.JSON:
        print_json(
            {
                "bundles": bundles,
                "known": known,
                "experiments": experiments,
                "measurements": came.measurements,
                "refused": came.wrong,
            }
        )
        return
    out.print(
        f"{plural(bundles, 'bundle')} collected ({came.measurements} measurements), {known} "
        f"known already, {plural(len(experiments), 'experiment')}, {len(came.wrong)} refused"
    )
