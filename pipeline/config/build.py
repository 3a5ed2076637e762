"""How source code becomes builds."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from pipeline.config.base import Name, Section, Version


class BuildSection(Section):
    """Build options: how source code is compiled. The published ones need no table."""

    name: Name = Field(description="how lines and tables call them")
    compiler: str = Field(default="gcc", description="gcc, clang, gcc-12 or a path")
    flags: str = Field(
        default="-O2 -fno-omit-frame-pointer", description="flags of the C and C++ compiler"
    )
    lto: bool = Field(default=False, description="optimise while linking")
    configure: tuple[str, ...] = Field(
        default=(), description="options of the DBMS's own configuration step"
    )


class PatchSection(Section):
    """A change to the source code of some revisions, as old ones need for new compilers."""

    target: str = Field(description="the DBMS")
    file: Path = Field(description="a patch that `patch -p1` applies, beside nightshift.toml")
    since: Version = Field(default="", description="first version or major that needs it")
    until: Version = Field(default="", description="last version or major that needs it")
