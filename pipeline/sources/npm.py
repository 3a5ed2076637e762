"""The npm registry as a source: every version is a tar file.

The npm client knows the registry's address. No code of a package is run.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from pipeline.sources.base import Fetched
from pipeline.sources.base.persistence import keep, kept, storage_error
from pipeline.text.errors import UserError, first_line

PATIENCE = 1800.0
"""Seconds after which a download is aborted."""
CHUNK = 1 << 20

_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]*")
_OPTIONS = (
    "--json",
    "--ignore-scripts",
    "--no-update-notifier",
    "--logs-max=0",
    "--loglevel=silent",
    # The same number of attempts and the same timeout as for other sources.
    "--fetch-retries=2",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=2000",
    "--fetch-timeout=60000",
)
_UNKNOWN = ("E404", "ETARGET")


class NpmSource:
    """The versions of one npm package, and their tar files."""

    name = "npm"

    def __init__(self, package: str, cache: Path) -> None:
        """Use ``package``; npm keeps its own cache below ``cache``."""
        self._package = package
        self._own = cache / "npm"

    def versions(self) -> tuple[str, ...]:
        """Return every version of the package, ordered by number."""
        listed = self._ask("view", self._package, "versions")
        # For a package with a single version it prints a text, not a list.
        versions = (listed,) if isinstance(listed, str) else tuple(listed or ())
        if not versions or not all(isinstance(version, str) for version in versions):
            raise UserError(f"npm lists no versions of {self._package}; run again later")
        return versions

    def fetch(self, version: str, cache: Path) -> Fetched:
        """Download the tar file of a version, unless the cache has it."""
        if not _VERSION.fullmatch(version):
            raise UserError(
                f"{version!r} is not a version; `nightshift discover` lists the versions"
            )
        package = f"{self._package}@{version}"
        path = cache / f"{package.lstrip('@').replace('/', '-').replace('@', '-')}.tgz"
        sha256 = kept(path, lambda: self._download(package, path))
        return Fetched(path=path, locator=package, sha256=sha256)

    def _download(self, package: str, path: Path) -> str:
        published = self._integrity(package)
        folder = path.with_name(f".{path.name}.part")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            self._ask("pack", package, f"--pack-destination={folder}")
            packed = [part for part in folder.iterdir() if part.suffix == ".tgz"]
            if len(packed) != 1:
                raise UserError(f"npm did not write the tarball of {package}; run again later")
            sha512, sha256 = _digests(packed[0])
            if sha512 != published:
                raise UserError(
                    f"npm downloaded a damaged {package} (its sha512 differs from the published "
                    "one); run again later"
                )
            keep(packed[0], path, sha256)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return sha256

    def _integrity(self, package: str) -> bytes:
        """Return the SHA-512 that npm publishes for a tar file."""
        listed = self._ask("view", package, "dist")
        if not isinstance(listed, dict):
            raise _unknown(package)
        for each in str(listed.get("integrity", "")).split():
            kind, _, digest = each.partition("-")
            if kind == "sha512":
                return base64.b64decode(digest)
        raise UserError(
            f"the npm registry publishes no sha512 of {package}, so the download cannot be "
            "verified; leave this version out"
        )

    def _ask(self, verb: str, package: str, *arguments: str) -> Any:
        """Run npm and return its answer. Raises UserError with npm's reason."""
        try:
            self._own.mkdir(parents=True, exist_ok=True)
            answer = subprocess.run(
                ["npm", verb, package, *arguments, *_OPTIONS, f"--cache={self._own}"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                # A folder without a package.json or settings of a project.
                cwd=self._own,
                timeout=PATIENCE,
                check=False,
            )
        except FileNotFoundError as error:
            raise UserError("npm is not installed; install the package npm") from error
        except OSError as error:
            raise storage_error(error, self._own, package) from error
        except subprocess.TimeoutExpired as error:
            raise UserError(
                f"npm did not answer for {package} within {PATIENCE:.0f} s; run again later"
            ) from error
        try:
            # Before npm 9 the error object is on standard error.
            response = json.loads(answer.stdout.strip() or answer.stderr.strip() or "null")
        except ValueError:
            response = None
        if answer.returncode:
            raise self._complaint(package, response, answer.stderr)
        return response

    def _complaint(self, package: str, response: Any, stderr: str) -> UserError:
        """Return the error for a failed npm, from what it printed."""
        error = response.get("error", {}) if isinstance(response, dict) else {}
        code = str(error.get("code") or "")
        if code in _UNKNOWN:
            return _unknown(package)
        if code == "EINTEGRITY":
            return UserError(f"npm downloaded a damaged {package}; run again later")
        number = getattr(errno, code, None)
        if number in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
            return storage_error(OSError(number, os.strerror(number)), self._own.parent, package)
        reason = code or first_line(Exception(stderr.strip() or "no reason given"))
        return UserError(
            f"the npm registry cannot be reached for {package} ({reason}); check the network and "
            "run again"
        )


def _unknown(package: str) -> UserError:
    return UserError(
        f"the npm registry has no {package}; `nightshift discover --refresh` lists its versions"
    )


def _digests(path: Path) -> tuple[bytes, str]:
    """Return the SHA-512 and SHA-256 of a file, and sync the file to the disk."""
    sha512, sha256 = hashlib.sha512(), hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            sha512.update(chunk)
            sha256.update(chunk)
        os.fsync(file.fileno())
    return sha512.digest(), sha256.hexdigest()
