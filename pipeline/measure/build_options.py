"""The build options (compiler and flags) and source patches that ``nightshift.toml`` names."""

from __future__ import annotations

from pipeline.config import ConfigFile, SourceSection
from pipeline.measure.build import OFFICIAL, SHIPPED_OPTIONS, Patch, default_options
from pipeline.measure.discover import offer_of, version_bound
from pipeline.model import BuildOptions, Supply
from pipeline.targets import find_target
from pipeline.text.errors import did_you_mean, first_line


def known_options(file: ConfigFile) -> dict[str, BuildOptions]:
    """Return all build options that source code can be compiled with, by name."""
    own = (BuildOptions(**section.model_dump()) for section in file.config.build)
    return {**SHIPPED_OPTIONS, **{options.name: options for options in own}}


def build_options(line: SourceSection, supply: Supply) -> str:
    """Return the name of the build options that a line or a control is compiled with."""
    return line.build or default_options(supply)


def check_options(file: ConfigFile) -> None:
    """Raise UserError for unknown build options, and for ones that do not fit the source of a line.

    Prebuilt releases need ``OFFICIAL``, and source code needs any other.
    """
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
                f"there are no build options {options!r}; {did_you_mean(options, known)}",
            )
        if supply.prebuilt != (options == OFFICIAL):
            raise file.problem(
                (table, index, "build"),
                f"the releases of {supply.name} are prebuilt; set build options to {OFFICIAL} "
                "or leave them out"
                if supply.prebuilt
                else (
                    f"{supply.name} provides source code; name the build options to compile it with"
                ),
            )


def read_patches(file: ConfigFile) -> tuple[Patch, ...]:
    """Read the source patches that ``nightshift.toml`` names.

    Raises UserError, with file and line, for an unknown target or an unreadable file.
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
                since=version_bound(section.since, ()),
                until=version_bound(section.until, ()),
            )
        )
    return tuple(patches)
