"""The verb build."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, screen, warn
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError, meant
from pipeline.execute.build import OFFICIAL, SHIPPED_OPTIONS, NotBuiltError, identical
from pipeline.execute.discover import Offer, discover
from pipeline.execute.lines import find_revision, supply_at
from pipeline.execute.run import build_all
from pipeline.model import Build
from pipeline.targets import find_target


@app.command("build")
def build_verb(
    target: Annotated[
        str,
        typer.Argument(help="The DBMS; without one, every build of the plan.", show_default=False),
    ] = "",
    revision: Annotated[
        str, typer.Argument(help="A release, or a commit by its hash.", show_default=False)
    ] = "",
    source: Annotated[
        str, typer.Option(help="Where it is had; `nightshift targets` lists them.")
    ] = "",
    repository: Annotated[
        str, typer.Option(help="For git and tags: another repository or a folder.")
    ] = "",
    branch: Annotated[str, typer.Option(help="For git: another branch.")] = "",
    options: Annotated[str, typer.Option(help="Name of the build options.")] = "",
    again: Annotated[
        bool, typer.Option("--again", help="Try once more what did not build.")
    ] = False,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Make one build, or every build of the plan.

    Those that are here already take no time.

    Example: nightshift build sqlite 3.46.0 --source crate --options rel_o2nofp
    """
    context = MeasuringContext(config, quick)
    if target:
        if not revision:
            raise UserError(
                f"say which revision of {target}; `nightshift discover {target}` lists them"
            )
        offer = _offer(target, source, repository, branch)
        builds = [_one(context, offer, revision, options, again)]
    else:
        builds = _planned(context, again)
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
            f"{names} are the same binary: measured, they are controls of each other", markup=False
        )


def _offer(target: str, source: str, repository: str, branch: str) -> Offer:
    try:
        by_name = {supply.name: supply for supply in find_target(target).supplies}
    except KeyError as error:
        raise UserError(error.args[0]) from error
    name = source or ("git" if repository and "git" in by_name else next(iter(by_name)))
    if name not in by_name:
        raise UserError(f"{target} is not had from {name!r}; {meant(name, by_name)}")
    try:
        return Offer(target, supply_at(by_name[name], repository, branch))
    except ValueError as error:
        raise UserError(str(error)) from error


def _one(context: MeasuringContext, offer: Offer, version: str, options: str, again: bool) -> Build:
    found = discover([offer], context.cache, None)[offer]
    revision = find_revision(version, found)
    if revision is None:
        # A commit may be younger than the list.
        found = discover([offer], context.cache, None, refresh=True)[offer]
        revision = find_revision(version, found)
    if revision is None:
        raise UserError(
            f"{offer.supply.name} has no {offer.target} {version}; "
            f"`nightshift discover {offer.target}` lists what there is"
        )
    prebuilt = offer.supply.prebuilt
    options = options or (OFFICIAL if prebuilt else next(iter(SHIPPED_OPTIONS)))
    if again:
        context.builder.forget(revision, options)
    if context.builder.find(revision, options) is None:
        make_watcher(screen()).note(f"obtaining {offer.target} {revision.version} ({options})")
    try:
        return context.builder.obtain(revision, options)
    except NotBuiltError as error:
        raise UserError(f"{offer.target} {version} does not build: {error}") from error


def _planned(context: MeasuringContext, again: bool) -> list[Build]:
    cells = context.plan().cells
    if again:
        for cell in cells:
            context.builder.forget(cell.revision, cell.build_options)
    builds = build_all(cells, context.builder, make_watcher(screen()))
    if builds.failures and not builds.made:
        raise UserError(next(iter(builds.failures.values())))
    for why in builds.failures.values():
        warn(why)
    return list(builds.made.values())
