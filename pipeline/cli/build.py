"""The verb `build`: make one build, or every build of the plan."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.measure.build import identical
from pipeline.use_cases.build import BuildRequest, build_one, build_planned
from pipeline.use_cases.measuring import MeasuringContext


@app.command("build")
def build_verb(
    target: Annotated[
        str,
        typer.Argument(
            help="The DBMS to build. Default: all builds of the plan.", show_default=False
        ),
    ] = "",
    revision: Annotated[
        str,
        typer.Argument(
            help="The release, or the hash of the commit, to build.", show_default=False
        ),
    ] = "",
    source: Annotated[
        str, typer.Option(help="The source to build from; `nightshift targets` lists the sources.")
    ] = "",
    repository: Annotated[
        str,
        typer.Option(help="For the sources git and tags: URL or folder of another repository."),
    ] = "",
    branch: Annotated[
        str,
        typer.Option(
            help=(
                "For the source git: the branch that contains the commit. Default: the default "
                "branch."
            )
        ),
    ] = "",
    options: Annotated[str, typer.Option(help="Name of the build options.")] = "",
    again: Annotated[
        bool, typer.Option("--again", help="Retry builds that failed before.")
    ] = False,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Make one build, or every build of the plan.

    Existing builds are not made again.

    Example: nightshift build sqlite 3.46.0 --source crate --options rel_o2nofp
    """
    context = MeasuringContext(config, quick)
    watcher = make_watcher(screen())
    if target:
        asked = BuildRequest(target, revision, source, repository, branch, options)
        builds = [build_one(context, asked, again, watcher)]
    else:
        builds = build_planned(context, again, watcher)
    if form is Format.JSON:
        print_json([{**build.model_dump(mode="json"), "home": str(build.home)} for build in builds])
        return
    for build in builds:
        out.print(
            f"{build.target} {build.version} {build.options}  {build.hash[:12]}  {build.home}",
            markup=False,
        )
    for group in identical(builds):
        names = ", ".join(build.version for build in group)
        out.print(
            f"{names} are the same binary: differences between their results are noise",
            markup=False,
        )
