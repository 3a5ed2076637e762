"""The verb build."""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.context import (
    ConfigOption,
    Context,
    Format,
    FormatOption,
    QuickOption,
    out,
    print_json,
    screen,
)
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.execute.run import build_all


@app.command("build")
def build_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Obtain every build of the plan. Those that are here already take no time.

    Example: nightshift build --quick
    """
    context = Context(config, quick)
    builds = build_all(context.plan().cells, context.cache, make_watcher(screen()))
    if form is Format.JSON:
        print_json([build.model_dump(mode="json") for build in builds.values()])
        return
    for build in builds.values():
        out.print(
            f"{build.target} {build.version} {build.options}  {build.hash[:12]}  {build.home}",
            markup=False,
        )
