"""The verb notify."""

from __future__ import annotations

from pathlib import Path

from pipeline.analyse.detection import load_detected
from pipeline.analyse.regressions import size, worst
from pipeline.cli.app import app
from pipeline.cli.context import (
    ConfigOption,
    Context,
    Format,
    FormatOption,
    QuickOption,
    out,
    print_json,
)
from pipeline.cli.explain import why
from pipeline.config import DEFAULT_FILE
from pipeline.notify.directory import write_issues
from pipeline.store.regressions import stored_regressions


@app.command("notify")
def notify_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Write a markdown file for each confirmed regression.

    Example: nightshift notify
    """
    context = Context(config, quick)
    load_detected(context.results, context.plan())
    new, written = notify(context)
    if form is Format.JSON:
        print_json({"new": [str(path) for path in new], "all": [str(path) for path in written]})
        return
    if not written:
        out.print("no regression has to be filed")
    for path in written:
        out.print(f"{path}{' (new)' if path in new else ''}", markup=False)


def notify(context: Context) -> tuple[list[Path], list[Path]]:
    """Tell the configured sink of every known regression; return (what is new, everything).

    Also of those that the last detection did not find any more: people may have decided something.
    """
    reproduce = f"nightshift nightly --config {context.file.path} --results again"
    reproduce += " --quick" if context.quick else ""
    plan = context.plan()
    known = [row.regression for row in stored_regressions(context.store)]
    return write_issues(
        sorted(known, key=lambda regression: -size(worst(regression))),
        context.config.issues_folder,
        reproduce,
        lambda regression: why(context, plan, regression),
        suspected=context.config.notify.suspected,
    )
