"""The settings for compiling source code into builds."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from pipeline.config.base import Name, Section, Version
from pipeline.config.config_errors import ARCHIVE, NUMBERS, SHA256


class BuildSection(Section):
    """A table ``[[build]]``: named build options, in addition to the predefined ones."""

    name: Name = Field(description="name of these build options, which lines and tables use")
    compiler: str = Field(default="gcc", description="compiler: gcc, clang, gcc-12 or a path")
    flags: str = Field(
        default="-O2 -fno-omit-frame-pointer", description="flags of the C and C++ compiler"
    )
    lto: bool = Field(default=False, description="compile with link-time optimisation")
    configure: tuple[str, ...] = Field(
        default=(), description="options of the DBMS's own configuration step"
    )


class ArchiveSection(Section):
    """A table ``[[archive]]``: the archive of a release, of source code or of programs."""

    target: str = Field(description="the DBMS")
    version: str = Field(
        pattern=NUMBERS, description="the release in the archive, as its makers name it"
    )
    address: str = Field(
        min_length=1,
        pattern=ARCHIVE,
        description="address of the archive (https), or a file, beside nightshift.toml",
    )
    sha256: str = Field(pattern=SHA256, description="SHA-256 of the archive")
    prebuilt: bool = Field(default=False, description="whether it has programs and not source code")


class PatchSection(Section):
    """A table ``[[patch]]``: a change to the source code of some revisions."""

    target: str = Field(description="the DBMS")
    file: Path = Field(description="a patch that `patch -p1` applies, beside nightshift.toml")
    since: Version = Field(
        default="", description="first version or major version that needs the patch"
    )
    until: Version = Field(
        default="", description="last version or major version that needs the patch"
    )
