"""The verb collect."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from pipeline.analyse.refresh import refresh
from pipeline.cli.app import app
from pipeline.cli.console import out, screen, warn
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.cli.places import place_of, transfers
from pipeline.cli.stages import take_bundles
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.journal import now
from pipeline.transfer.folder import SUMS
from pipeline.transfer.gather import gather
from pipeline.transfer.locks import held
from pipeline.transfer.places import is_remote
from pipeline.transfer.results import Collected, collect, told_elsewhere
from pipeline.transfer.state import take_state
from pipeline.units import counted


@dataclass
class _Came:
    """What came from all places: see Collected. ``wrong`` are lines about what did not."""

    taken: list[Collected] = field(default_factory=list)
    known: int = 0
    wrong: list[str] = field(default_factory=list)


@app.command("collect")
def collect_verb(
    places: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders that `pack` wrote, or the results of a nightshift elsewhere: folders "
            "here, ssh://user@host/path or s3://bucket/prefix. By default those of [collect] from."
        ),
    ] = None,
    state: Annotated[
        bool,
        typer.Option("--state", help="Take a state or a plan, in place of what is here."),
    ] = False,
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Collect results from other machines, each run once.

    Every file is checked first. What is not whole is named and left; the rest is taken. What was
    taken before is not transferred again, and what broke off goes on.

    Example: nightshift collect inbox/ccx13-001 ssh://bench@home.example/srv/nightshift/results
    """
    context = MeasuringContext(config)
    if state:
        _take_state(context, places or [], form)
        return
    came = _Came()
    addresses = places or list(context.config.collect.places)
    if not addresses:
        raise UserError(f"{config} names no place to collect from; give one, or set collect.from")
    for address in addresses:
        try:
            _collect_from(context, address, came)
        except UserError as error:
            came.wrong.append(str(error))
    for line in came.wrong:
        warn(line)
    _show(context, came, form)
    if came.wrong:
        raise typer.Exit(2)


def _take_state(context: MeasuringContext, folders: list[str], form: Format) -> None:
    if not folders or any(map(is_remote, folders)):
        raise UserError(
            "a state comes in a folder of this machine: give it, as collect --state DIR"
        )
    count = sum(take_state(Path(each), context.results) for each in folders)
    if form is Format.JSON:
        print_json({"files": count})
    else:
        out.print(f"{counted(count, 'file')} taken")


def _collect_from(context: MeasuringContext, address: str, came: _Came) -> None:
    """Take what a place has. Raises UserError where that ends early."""
    folder = Path(address)
    if not is_remote(address) and (not folder.is_dir() or (folder / SUMS).exists()):
        came.taken.append(_collected(context, folder, address))
        return
    with place_of(context.config, address) as place:
        found = gather(
            place,
            context.results,
            lambda box: _collected(context, box, place.name),
            transfers(screen()),
            now,
        )
    came.taken += found.taken
    came.known += found.known
    came.wrong += found.wrong


def _collected(context: MeasuringContext, folder: Path, place: str) -> Collected:
    """Take a folder as ``pack`` writes it, while nobody else takes one."""
    with held(context.results / ".collect.lock"):
        found = collect(folder, context.results)
        for run in found.measured_twice:
            warn(f"{place}: {run} was measured before; what was known of it stays")
        # Outcomes of experiments come before what was found after them.
        refresh(context.results, context.store, now())
        if told_elsewhere(folder, context.results):
            refresh(context.results, context.store, now())
    return found


def _show(context: MeasuringContext, came: _Came, form: Format) -> None:
    with held(context.results / ".collect.lock"):
        report = take_bundles(context)
    bundles = sum(len(each.bundles) for each in came.taken)
    known = came.known + sum(each.known for each in came.taken)
    experiments = sorted(set[str]().union(*(each.experiments for each in came.taken)))
    if form is Format.JSON:
        print_json(
            {
                "bundles": bundles,
                "known": known,
                "experiments": experiments,
                "measurements": report.measurements,
                "refused": came.wrong,
            }
        )
        return
    out.print(
        f"{counted(bundles, 'bundle')} taken ({report.measurements} measurements), {known} known "
        f"already, {counted(len(experiments), 'experiment')}, {len(came.wrong)} refused"
    )
