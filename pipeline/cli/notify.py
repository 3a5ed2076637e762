"""The verb notify."""

from __future__ import annotations

from pathlib import Path

from pipeline.analyse.detection import Detected, load_detected
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


@app.command("notify")
def notify_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Write a markdown file for each regression that was detected.

    Example: nightshift notify
    """
    context = Context(config, quick)
    new, written = notify(context, load_detected(context.results, context.plan()))
    if form is Format.JSON:
        print_json({"new": [str(path) for path in new], "all": [str(path) for path in written]})
        return
    for path in written:
        out.print(f"{path}{' (new)' if path in new else ''}", markup=False)


def notify(context: Context, detected: Detected) -> tuple[list[Path], list[Path]]:
    """Tell the configured sink and return (what is new, everything)."""
    reproduce = f"nightshift nightly --config {context.file.path} --results again"
    reproduce += " --quick" if context.quick else ""
    plan = context.plan()
    return write_issues(
        detected.regressions,
        context.config.issues_folder,
        reproduce,
        lambda regression: why(context, plan, regression),
    )
