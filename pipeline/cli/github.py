"""The verb `github check`: check the settings of a repository."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import add_group
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.notify.github.settings_checks import SettingState
from pipeline.text.units import plural
from pipeline.use_cases.context import Context
from pipeline.use_cases.github_check import check_repository

group = add_group("github")


@group.command("check")
def check_verb(
    repository: Annotated[
        str, typer.Argument(help="OWNER/NAME. Default: [github] repository.")
    ] = "",
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Check the settings of a repository that nightshift needs.

    The command reads the settings through GitHub's API and changes nothing. It prints a line for
    each setting that is missing or worth knowing, with what to do. The exit code is 1 if something
    is missing. The token is read from the environment variable that [github] secret names.

    Example: nightshift github check me/db
    """
    findings = check_repository(Context(config, needed=False), repository)
    missing = [each for each in findings if each.state is SettingState.MISSING]
    if form is Format.JSON:
        print_json({"complete": not missing, "checks": [each._asdict() for each in findings]})
    else:
        for each in findings:
            if each.state is not SettingState.GOOD:
                line = f"{each.state}: {each.name}: {each.text} -> {each.remedy}"
                out.print(line, markup=False, soft_wrap=True)
        good = sum(each.state is SettingState.GOOD for each in findings)
        out.print(f"{len(missing)} settings missing, {plural(good, 'check')} passed", markup=False)
    raise typer.Exit(1 if missing else 0)
