"""What both kinds of Debian's packages share: the suites, the versions, the cache."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from pipeline.errors import UserError
from pipeline.sources.base import Fetched
from pipeline.sources.base.kept import locked, storage_error
from pipeline.sources.debian.apt import KEYRING, Apt, AptError, archives

SUMS = "SHA256SUMS"
"""The file that says what a fetched folder holds, as sha256sum writes it."""

log = logging.getLogger(__name__)
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+:~-]*")


class Suites(ABC):
    """The versions of some packages in some suites, spelled ``bookworm/7.8.3-2``.

    ``coordinates`` are the names of packages, ``@``, and the names of suites, as
    ``postgresql-15 postgresql-17@bookworm trixie``: each package of each suite that has it. Where
    two packages of a suite have one version, it is that of the first. ``addresses`` are those of
    the archives that may have the suites; by default those of this machine.
    """

    name = "Debian"
    kind: ClassVar[str]
    wanted: ClassVar[re.Pattern[str]]
    """The names of the files that a version consists of; apt leaves others beside them."""

    def __init__(
        self,
        coordinates: str,
        cache: Path,
        *,
        addresses: Sequence[str] | None = None,
        keyring: Path = KEYRING,
    ) -> None:
        """Keep package lists in ``cache``; ``keyring`` holds the keys that sign them."""
        names, _, suites = coordinates.partition("@")
        self._names, self._suites = names.split(), suites.split()
        self._cache, self._addresses, self._keyring = cache, addresses, keyring

    @abstractmethod
    def _offered(self, apt: Apt) -> Mapping[str, str]:
        """Return the versions that a suite has, each with the name of its package."""

    @abstractmethod
    def _download(self, apt: Apt, name: str, version: str, folder: Path) -> None:
        """Download a version into an empty folder."""

    @abstractmethod
    def _fetched(self, locator: str, folder: Path, sums: Mapping[str, str]) -> Fetched:
        """Return what is in a verified folder, of which ``sums`` are names and SHA-256."""

    def versions(self) -> tuple[str, ...]:
        """Return every version of every suite that can be had, after asking each anew.

        A suite that is out of reach counts with the lists that were had of it before, or is left
        out; both are told. Raises UserError where there is nothing left.
        """
        found: list[str] = []
        complaints: list[str] = []
        for suite in self._suites:
            try:
                with self._suite(suite, refresh=True) as apt:
                    found += [f"{suite}/{version}" for version in self._offered(apt)]
            except AptError as error:
                complaints.append(f"{suite} of {self.name} cannot be had ({error})")
                log.warning("%s; going on without it", complaints[-1])
        if not found:
            none = f"{self.name} has no {' '.join(self._names)} in {' '.join(self._suites)}"
            raise UserError(complaints[0] if complaints else none)
        return tuple(found)

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Return the files of ``version``, from ``cache`` if they are all there and unchanged."""
        suite, _, number = version.partition("/")
        if suite not in self._suites or not _VERSION.fullmatch(number):
            raise UserError(f"{version!r} is not a version; discover lists those there are")
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
        """Download a version so that ``folder`` is complete or not there."""
        part = folder.with_name(f".{folder.name}.part")
        try:
            try:
                self._download_into(part, suite, number, refresh=False)
            except AptError as error:
                # An archive forgets what newer packages have taken the place of.
                log.info("%s of %s: %s; asking for its lists anew", suite, self.name, error)
                self._download_into(part, suite, number, refresh=True)
            sums = {path.name: _sha256(path) for path in sorted(part.iterdir())}
            lines = (f"{sha256}  {name}\n" for name, sha256 in sums.items())
            (part / SUMS).write_text("".join(lines))
            shutil.rmtree(folder, ignore_errors=True)
            part.rename(folder)
        except AptError as error:
            raise UserError(
                f"{' '.join(self._names)} {suite}/{number} cannot be had from {self.name} "
                f"({error}); "
                "nightshift discover --refresh lists what it has"
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
                raise AptError(f"{suite} has no such version now")
            self._download(apt, offered[number], number, part)
        for path in part.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif not self.wanted.fullmatch(path.name):
                path.unlink()

    @contextmanager
    def _suite(self, suite: str, *, refresh: bool) -> Iterator[Apt]:
        """Give a suite, from the first archive that has it; ``refresh`` asks for lists anew.

        Raises AptError where there are no lists of it and none can be had.
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
                        "%s of %s cannot be asked (%s); going on with its older lists",
                        suite,
                        self.name,
                        error,
                    )
                yield apt
                return
        raise AptError(complaint)


def _verified(folder: Path) -> Mapping[str, str] | None:
    """Return names and SHA-256 of a cached folder, or None where it is missing or has changed."""
    if not folder.exists():
        return None
    with contextlib.suppress(OSError, ValueError):
        lines = (folder / SUMS).read_text("ascii").splitlines()
        recorded = {name: sha256 for sha256, name in (line.split("  ") for line in lines)}
        names = {path.name for path in folder.iterdir()} - {SUMS}
        if recorded and recorded == {name: _sha256(folder / name) for name in names}:
            return recorded
    log.warning("%s is damaged; downloading it again", folder)
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
