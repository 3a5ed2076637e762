"""Maven Central as a source: every version is a jar file.

The library ``maven-artifact`` knows the registry's address and the names of its files.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import requests
from maven_artifact import Artifact, Resolver

from pipeline.sources.base import Fetched
from pipeline.sources.base.http import DamagedError, Site
from pipeline.text.errors import UserError

_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]*")


class MavenSource:
    """The versions of one Maven artifact, and their jar files.

    ``base`` is the address of the repository (by default Maven Central's), ``session`` the
    connection and ``sleep`` the wait between attempts; tests pass their own.
    """

    name = "Maven Central"

    def __init__(
        self,
        coordinates: str,
        *,
        base: str | None = None,
        session: requests.Session | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Use the artifact ``coordinates``, written ``group:artifact``."""
        group, _, artifact = coordinates.partition(":")
        self._artifact = Artifact(group, artifact, None)
        self._base: str = base or Resolver.default().base
        self._site = Site(self.name, session, sleep)

    def versions(self) -> tuple[str, ...]:
        """Return every version of the artifact, in Maven's order."""
        address = f"{self._base}/{self._artifact.path(with_version=False)}/maven-metadata.xml"
        what = f"list of versions of {self._artifact.artifact_id}"
        return self._site.ask(address, what, parse_versions)

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Download the jar file of a version, unless the cache has it."""
        if not _VERSION.fullmatch(version):
            raise UserError(
                f"{version!r} is not a version; `nightshift discover` lists the versions"
            )
        artifact = self._artifact.with_version(version)
        path = cache / f"{artifact.artifact_id}-{version}.{artifact.extension}"
        sha256 = self._site.download(artifact.uri(self._base), path)
        return Fetched(path=path, locator=str(artifact), sha256=sha256)

    def address(self, version: str) -> str:
        """Return the address of the jar file of a version."""
        return str(self._artifact.with_version(version).uri(self._base))


def parse_versions(metadata: bytes) -> tuple[str, ...]:
    """Return the versions that a maven-metadata.xml lists, in order.

    A document type declaration is refused: it is never needed, and its entities can expand a small
    XML file into a huge one.
    """
    if b"<!" in metadata.replace(b"<!--", b""):
        raise DamagedError("its metadata contains a document type declaration")
    try:
        root = ElementTree.fromstring(metadata)  # noqa: S314 - no declarations left
    except ElementTree.ParseError as error:
        raise DamagedError(f"its metadata is not valid XML: {error}") from error
    listed = (element.text or "" for element in root.iterfind("versioning/versions/version"))
    versions = tuple(text.strip() for text in listed)
    if not versions:
        raise DamagedError("its metadata lists no versions")
    return versions


def maven_source(coordinates: str, _cache: Path) -> MavenSource:
    """Return the source for a Maven artifact."""
    return MavenSource(coordinates)
