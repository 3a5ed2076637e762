"""The common part of the two Debian sources: binary packages and source packages."""

from __future__ import annotations

import contextlib
import logging
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from pipeline.files.checksum import sha256
from pipeline.sources.base import Fetched
from pipeline.sources.base.persistence import locked, storage_error
from pipeline.sources.debian.apt import KEYRING, Apt, AptError, archives
from pipeline.text.errors import UserError

SUMS = "SHA256SUMS"
"""The list of a downloaded folder's files, in the format of sha256sum."""

log = logging.getLogger(__name__)
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+:~-]*")


class Suites(ABC):
    """Versions of some packages in some releases of Debian, such as ``bookworm/7.8.3-2``.

    ``coordinates`` are the names of packages, ``@``, and the names of suites, for example
    ``postgresql-15 postgresql-17@bookworm trixie``. They select each package of each suite that has
    it. If two packages of a suite have the same version, the first one wins. ``addresses`` are
    those of the archives that may have the suites; by default those of this machine.
    """

    name = "Debian"
    kind: ClassVar[str]
    wanted: ClassVar[re.Pattern[str]]
    """Pattern of the names of the files that make up a version; apt leaves other files in the same
    folder."""

    def __init__(
        self,
        coordinates: str,
        cache: Path,
        *,
        addresses: Sequence[str] | None = None,
        keyring: Path = KEYRING,
    ) -> None:
        """Keep lists of packages in ``cache``; ``keyring`` verifies their signatures."""
        names, _, suites = coordinates.partition("@")
        self._names, self._suites = names.split(), suites.split()
        self._cache, self._addresses, self._keyring = cache, addresses, keyring

    @abstractmethod
    def _offered(self, apt: Apt) -> Mapping[str, str]:
        """Return the versions that a release of Debian has, each with the name of its package."""

    @abstractmethod
    def _download(self, apt: Apt, name: str, version: str, folder: Path) -> None:
        """Download a version into an empty folder."""

    @abstractmethod
    def _fetched(self, locator: str, folder: Path, sums: Mapping[str, str]) -> Fetched:
        """Return a verified download, with the SHA-256 of each file."""

    def versions(self) -> tuple[str, ...]:
        """Return every version in every available release of Debian.

        An unreachable suite is served from its older lists, or left out; both log a warning. Raises
        UserError if no version is left.
        """
        found: list[str] = []
        complaints: list[str] = []
        for suite in self._suites:
            try:
                with self._suite(suite, refresh=True) as apt:
                    found += [f"{suite}/{version}" for version in self._offered(apt)]
            except AptError as error:
                complaints.append(f"{suite} of {self.name} is unavailable ({error})")
                log.warning("%s; continuing without it", complaints[-1])
        if not found:
            none = f"{self.name} has no {' '.join(self._names)} in {' '.join(self._suites)}"
            raise UserError(complaints[0] if complaints else none)
        return tuple(found)

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Download the files of a version, unless the cache has them unchanged."""
        suite, _, number = version.partition("/")
        if suite not in self._suites or not _VERSION.fullmatch(number):
            raise UserError(
                f"{version!r} is not a version; `nightshift discover` lists the versions"
            )
        stem = f"{self.kind}-{'-'.join(self._names)}-{suite}-{number}"
        folder = cache / re.sub(r"[^\w.+~-]", "_", stem)
        try:
            cache.mkdir(parents=True, exist_ok=True)
            # Two nights that share a cache download a file once.
            with locked(folder):
                sums = _verified(folder) or self._had(suite, number, folder)
        except OSError as error:
            raise storage_error(error, cache, folder.name) from error
        return self._fetched(version, folder, sums)

    def _had(self, suite: str, number: str, folder: Path) -> Mapping[str, str]:
        """Download a version, and return the checksums of its files.

        The folder of the version is complete or missing, never in between.
        """
        part = folder.with_name(f".{folder.name}.part")
        try:
            try:
                self._download_into(part, suite, number, refresh=False)
            except AptError as error:
                # An archive deletes packages that newer ones replace.
                log.info(
                    "%s of %s: %s; downloading its package lists again", suite, self.name, error
                )
                self._download_into(part, suite, number, refresh=True)
            sums = {path.name: sha256(path) for path in sorted(part.iterdir())}
            lines = (f"{digest}  {name}\n" for name, digest in sums.items())
            (part / SUMS).write_text("".join(lines))
            shutil.rmtree(folder, ignore_errors=True)
            part.rename(folder)
        except AptError as error:
            raise UserError(
                f"{' '.join(self._names)} {suite}/{number} cannot be downloaded from "
                f"{self.name} ({error}); `nightshift discover --refresh` lists its versions"
            ) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return sums

    def _download_into(self, part: Path, suite: str, number: str, *, refresh: bool) -> None:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(mode=0o755)
        with self._suite(suite, refresh=refresh) as apt:
            offered = self._offered(apt)
            if number not in offered:
                raise AptError(f"{suite} no longer has this version")
            self._download(apt, offered[number], number, part)
        for path in part.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif not self.wanted.fullmatch(path.name):
                path.unlink()

    @contextmanager
    def _suite(self, suite: str, *, refresh: bool) -> Iterator[Apt]:
        """Yield a release of Debian from the first archive that has it.

        Raises AptError if its package lists are missing and cannot be downloaded.
        """
        complaint = ""
        for address in self._addresses or archives():
            apt = Apt(self._cache / "apt", address, suite, self.kind, self._keyring)
            with apt.held():
                try:
                    if refresh or not apt.listed:
                        apt.update()
                except AptError as error:
                    complaint = complaint or str(error)
                    if not apt.listed:
                        continue
                    log.warning(
                        "%s of %s cannot be queried (%s); continuing with its older package lists",
                        suite,
                        self.name,
                        error,
                    )
                yield apt
                return
        raise AptError(complaint)


def _verified(folder: Path) -> Mapping[str, str] | None:
    """Return the checksums of a download in the cache; None if it is missing or changed."""
    if not folder.exists():
        return None
    with contextlib.suppress(OSError, ValueError):
        lines = (folder / SUMS).read_text("ascii").splitlines()
        recorded = {name: digest for digest, name in (line.split("  ") for line in lines)}
        names = {path.name for path in folder.iterdir()} - {SUMS}
        if recorded and recorded == {name: sha256(folder / name) for name in names}:
            return recorded
    log.warning("%s is damaged; downloading it again", folder)
    return None
