"""The verb `targets`: list the targets, their sources and the missing tools."""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.options import Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.measure.prerequisites import Need, prerequisites_of
from pipeline.targets import TARGETS


@app.command("targets")
def targets_verb(form: FormatOption = Format.TEXT) -> None:
    """List the targets, their sources and the missing tools.

    Example: nightshift targets
    """
    needs = {
        (target.name, supply.name): prerequisites_of(target.name, supply)
        for target in TARGETS.values()
        for supply in target.supplies
    }
    if form is Format.JSON:
        print_json(
            [
                {
                    "target": target.name,
                    "source": supply.name,
                    "coordinates": supply.coordinates,
                    "prebuilt": supply.prebuilt,
                    "commits": supply.commits,
                    "tools": [need._asdict() for need in needs[target.name, supply.name]],
                }
                for target in TARGETS.values()
                for supply in target.supplies
            ]
        )
        return
    for target in TARGETS.values():
        out.print(target.name, style="bold")
        for supply in target.supplies:
            found = needs[target.name, supply.name]
            what = "prebuilt" if supply.prebuilt else "source code"
            what += ", commits" if supply.commits else ", releases"
            missing = [need for need in found if not need.version]
            ready = "ready" if not missing else "missing " + ", ".join(n.tool for n in missing)
            out.print(f"  {supply.name:<14} {what:<22} {ready}", markup=False)
            for need in missing:
                out.print(f"  {'':<14} {_how(need)}", markup=False)


def _how(need: Need) -> str:
    return f"{need.tool}: {need.why}; {need.how}"
