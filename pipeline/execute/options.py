"""The build options and patches of the configuration."""

from __future__ import annotations

from pipeline.config import ConfigFile, SourceSection
from pipeline.errors import first_line, meant
from pipeline.execute.build import OFFICIAL, SHIPPED_OPTIONS, Patch
from pipeline.execute.lines import bound, offer_of
from pipeline.model import BuildOptions, Supply
from pipeline.targets import find_target


def known_options(file: ConfigFile) -> dict[str, BuildOptions]:
    """Return the options that source code can be compiled with, by name."""
    own = (BuildOptions(**section.model_dump()) for section in file.config.build)
    return {**SHIPPED_OPTIONS, **{options.name: options for options in own}}


def build_options(line: SourceSection, supply: Supply) -> str:
    """Return the name of the build options of a line or a control."""
    return line.build or (OFFICIAL if supply.prebuilt else next(iter(SHIPPED_OPTIONS)))


def check_options(file: ConfigFile) -> None:
    """Refuse build options that are not known, or do not fit what a line's source has."""
    known = [OFFICIAL, *known_options(file)]
    sections: list[tuple[str, int, SourceSection]] = [
        *(("line", index, line) for index, line in enumerate(file.config.line)),
        *(("control", index, control) for index, control in enumerate(file.config.control)),
    ]
    for table, index, section in sections:
        supply = offer_of(file, index, section, table).supply
        options = build_options(section, supply)
        if options not in known:
            raise file.problem(
                (table, index, "build"),
                f"there are no build options {options!r}; {meant(options, known)}",
            )
        if supply.prebuilt != (options == OFFICIAL):
            raise file.problem(
                (table, index, "build"),
                f"what {supply.name} has is built already; its build options are {OFFICIAL}"
                if supply.prebuilt
                else f"what {supply.name} has is source code; name the options to compile it with",
            )


def read_patches(file: ConfigFile) -> tuple[Patch, ...]:
    """Return the patches of the configuration.

    Raises UserError, with file and line, for an unknown target or a file that cannot be read.
    """
    patches = []
    for index, section in enumerate(file.config.patch):
        try:
            find_target(section.target)
        except KeyError as error:
            raise file.problem(("patch", index, "target"), error.args[0]) from error
        try:
            text = (file.path.parent / section.file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise file.problem(
                ("patch", index, "file"),
                f"cannot be read ({first_line(error)}); name a file beside {file.path.name}",
            ) from error
        patches.append(
            Patch(
                target=section.target,
                name=section.file.name,
                text=text,
                since=bound(section.since, ()),
                until=bound(section.until, ()),
            )
        )
    return tuple(patches)
