"""The verb `verify-fix`: measure how much of a loss a fix brings back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.comparison_options import BudgetOption
from pipeline.cli.console import out, screen
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption, read_option
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.experiments.fix import FixVerification
from pipeline.text.errors import UserError
from pipeline.text.units import parse_duration
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.verify_fix import FixRequest, verify_fix


@app.command("verify-fix")
def verify_fix_verb(
    fingerprint: Annotated[
        str, typer.Argument(help="A regression: the beginning of its fingerprint.")
    ],
    patch: Annotated[
        Path | None, typer.Option(help="A patch of the first bad revision (patch -p1).")
    ] = None,
    revision: Annotated[str, typer.Option(help="A revision with the fix, or a folder.")] = "",
    revert: Annotated[
        bool, typer.Option("--revert", help="Revert the culprit on top of the newest revision.")
    ] = False,
    budget: BudgetOption = "20m",
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Measure how much of a loss a fix brings back.

    All steps of the workload are measured, so that new losses show. The exit code is 1 unless the
    fix is full and makes nothing worse.

    Example: nightshift verify-fix 3f2a91c04b7e --patch fix.diff

    Example: nightshift verify-fix 3f2a91c04b7e --revert
    """
    if sum((patch is not None, bool(revision), revert)) != 1:
        raise UserError("give one fix: --patch FILE, --revision REVISION or --revert")
    context = MeasuringContext(config, quick)
    asked = FixRequest(patch, revision, read_option("budget", budget, parse_duration))
    found = verify_fix(context, fingerprint, asked, make_watcher(screen()))
    if form is Format.JSON:
        print_json({"outcome": found.outcome.value, **found.model_dump(mode="json")})
    else:
        _show(found)
    if found.outcome != "full" or found.worse:
        raise typer.Exit(1)


def _show(found: FixVerification) -> None:
    out.print(found.sentence(), style="bold", markup=False)
    for one in found.restored:
        out.print(
            f"  {one.step} {one.metric}: {one.loss:+.1%} lost, {one.effect:+.1%} with the fix; "
            f"{one.share:.0%} came back ({one.low:.0%} to {one.high:.0%})",
            markup=False,
        )
    for row in found.worse:
        low, high = row.interval
        out.print(
            f"  worse: {row.step} {row.metric} {row.effect:+.1%} ({low:+.1%} to {high:+.1%})",
            markup=False,
        )
