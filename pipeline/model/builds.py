"""Types for revisions of a DBMS, their builds and their configurations."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from pathlib import Path

from pydantic import Field

from pipeline.model.base import Frozen, digest


class Supply(Frozen):
    """A source as one target uses it: the source and what to request from it.

    A line refers to a supply by its ``name``. ``kind`` is the kind of source (maven, debian,
    debian-source, npm, crate, tarball, archive, git, tags, tree). ``coordinates`` say what to
    request, in the syntax of that kind. ``prebuilt`` is true for binaries and false for source
    code. ``commits`` is true if the revisions are the commits of a branch, or the current state of
    a source tree, and false for releases. ``unused_submodules`` are paths in a git repository:
    submodules that the build does not need, which are not downloaded.
    """

    name: str
    kind: str
    coordinates: str
    prebuilt: bool = True
    commits: bool = False
    # Omitted if empty, so that builds from before this field keep their digest.
    unused_submodules: tuple[str, ...] = Field(default=(), exclude_if=lambda paths: not paths)


class Revision(Frozen):
    """One release or commit of a target.

    ``order`` is the sort key within the target: a release's numbers, or a commit's place in its
    branch. A line derives its positions from it. ``major`` names the release series; it is empty
    for a commit whose series is unknown. ``locator`` is its name in the ``supply``, ``at`` the time
    of the revision, if known. A ``copy_number`` above 1 marks a control: the same revision,
    measured again as if it were another one.
    """

    target: str
    version: str
    order: tuple[int, ...]
    major: str
    locator: str = ""
    supply: Supply | None = None
    at: datetime | None = None
    copy_number: int = 1

    @cached_property
    def label(self) -> str:
        """The name in tables and charts, such as ``17.11``, or ``17.11#2`` for a control."""
        return self.version if self.copy_number == 1 else f"{self.version}#{self.copy_number}"


class BuildOptions(Frozen):
    """Named options for compiling source code into a build.

    ``compiler`` is gcc, clang or a path; ``flags`` go to the compiler, ``lto`` to compiler and
    linker, ``configure`` to the target's own configuration step.
    """

    name: str
    compiler: str = "gcc"
    flags: str = "-O2 -fno-omit-frame-pointer"
    lto: bool = False
    configure: tuple[str, ...] = ()


class Provenance(Frozen):
    """Where a build came from, in enough detail to make it again.

    ``sha256`` identifies the download. Builds compiled here also have the commit, the compiler with
    its version, the flags, and the SHA-256 of each applied patch. ``libraries`` are the machine's
    libraries that the program is linked with. ``made`` is the time of a release, read from the
    program or its archive. It is None if neither contains the time, and for commits: their time is
    in the revision.
    """

    source: str
    locator: str
    sha256: str
    options: str
    reported_version: str = ""
    commit: str = ""
    dirty: bool = False
    compiler: str = ""
    flags: str = ""
    patches: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    # Omitted if unknown, so that provenances from before this field keep their digest.
    made: datetime | None = Field(default=None, exclude_if=lambda made: made is None)


class Build(Frozen):
    """A revision compiled with named options, or an official binary.

    ``hash`` covers the program files, so two revisions with equal hashes are the same binary.
    ``home`` is the folder of the installation on this machine and is not serialised.
    """

    target: str
    version: str
    options: str
    hash: str
    provenance: Provenance
    home: Path = Field(default=Path(), exclude=True)


class ServerConfig(Frozen):
    """A named configuration of a DBMS, with the content of its file.

    ``family`` is the name that a series keeps across versions (x10a); ``name`` adds the scale
    (x10a_c8r32: 8 cores, 32 GB). For a configuration meant for databases larger than memory,
    ``exceeds`` is the size in bytes that a database must exceed; for all others it is 0.
    """

    family: str
    name: str
    text: str
    exceeds: int = 0

    @cached_property
    def hash(self) -> str:
        """A digest of the content of the configuration file."""
        return digest(self.text)
