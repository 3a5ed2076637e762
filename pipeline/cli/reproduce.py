"""The verb `reproduce`: write a script that shows a regression without nightshift."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.reproduce import reproduce_regression, script_path


@app.command("reproduce")
def reproduce_verb(
    fingerprint: Annotated[
        str, typer.Argument(help="A regression: the beginning of its fingerprint.")
    ],
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Write a script that shows a regression without nightshift.

    The script downloads both revisions, executes one step as plain SQL, and prints a ratio. It is
    made as small as possible, and the issue includes it. The exit code is 1 if no script shows the
    regression.

    Example: nightshift reproduce 3f2a91c04b7e
    """
    context = MeasuringContext(config, quick)
    found = reproduce_regression(context, fingerprint, make_watcher(screen()))
    if form is Format.JSON:
        print_json(found.model_dump(mode="json") if found else None)
    elif found is None:
        out.print("no script shows the regression: neither instructions nor time of plain SQL do")
    else:
        out.print(
            f"{script_path(context.results, found.fingerprint)}: {found.step} costs "
            f"{found.ratio:.3g} times the {found.instrument} in {found.bad}; "
            f"{found.good} with itself {found.good_ratio:.3g}",
            markup=False,
        )
        out.print(
            f"{found.lines} lines, {found.seconds:.0f} s; found with {found.tried} scripts",
            markup=False,
        )
    if found is None:
        raise typer.Exit(1)
