"""The supplies of a target: its own, and the archives that the configuration lists."""

from __future__ import annotations

from pipeline.config import ArchiveSection, ConfigFile
from pipeline.model import Supply
from pipeline.targets import find_target

SOURCE_CODE, PREBUILT = "archives", "binary-archives"
"""The names of the supplies of archives, for ``source`` of a line."""


def supplies_of(file: ConfigFile, target: str) -> tuple[Supply, ...]:
    """Return every supply of a target, its own ones first.

    Raises KeyError with a sentence for an unknown target, and UserError, with file and line, for an
    archive of an unknown target, and if two archives have the same version.
    """
    found = list(find_target(target).supplies)
    listed = []
    for index, each in enumerate(file.config.archive):
        try:
            find_target(each.target)
        except KeyError as error:
            raise file.problem(("archive", index, "target"), error.args[0]) from error
        if each.target == target:
            listed.append((index, each))
    for name, prebuilt in ((SOURCE_CODE, False), (PREBUILT, True)):
        lines: dict[str, str] = {}
        for index, each in listed:
            if each.prebuilt != prebuilt:
                continue
            if each.version in lines:
                raise file.problem(
                    ("archive", index, "version"),
                    f"two [[archive]] tables have {target} {each.version}; remove one",
                )
            lines[each.version] = f"{each.version} {each.sha256} {_place(file, each)}"
        if lines:
            found.append(
                Supply(
                    name=name,
                    kind="archive",
                    coordinates="\n".join(lines.values()),
                    prebuilt=prebuilt,
                )
            )
    return tuple(found)


def _place(file: ConfigFile, section: ArchiveSection) -> str:
    """Return the address of an archive; that of a file as an absolute path."""
    if "://" in section.address:
        return section.address
    return str((file.path.parent / section.address).absolute())
