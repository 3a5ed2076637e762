"""Run apt for one release of Debian, with settings of our own.

The machine's own package management stays unchanged; neither root nor installed packages are
needed. The archive's address comes from the machine's apt sources. Signatures are verified with the
keys that the machine trusts for Debian.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.machine.account import contained
from pipeline.model import digest
from pipeline.sources.base.persistence import full_error, locked
from pipeline.text.errors import UserError, first_line

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
"""The file with the keys of all suites, where the package debian-archive-keyring installs it."""
PATIENCE = 3600.0
"""Seconds after which a transfer is aborted."""

_SUITE_AT = re.compile(r"'(\S+)/dists/([^/']+)/InRelease' ")
_ALIASES = ("stable", "oldstable", "testing", "unstable", "sid")
_TARGETS = {"deb": "Packages", "deb-src": "Sources"}

_CONFIGURATION = """\
#clear APT::Update;
#clear DPkg;
APT::Update::Error-Mode "any";
APT::Default-Release "";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
Acquire::Retries "3";
Acquire::AllowReleaseInfoChange "true";
Acquire::GzipIndexes "true";
Dir::Etc::SourceList "{folder}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "{folder}/state";
Dir::State::Status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Cache::PkgCache "pkgcache.bin";
Dir::Cache::SrcPkgCache "srcpkgcache.bin";
"""
"""Settings that apt reads after the machine's own, which provide proxies and certificates.

The machine's hooks are cleared, because they are for its own packages. A suite that becomes
oldstable is accepted. Nothing counts as installed, so that a download includes all dependencies.
"""

_REASONS = (
    (r"[Hh]ash [Ss]um mismatch|unexpected size|BADSIG|clearsigned", "its response is damaged"),
    (r"NO_PUBKEY|Missing key|isn't signed by|not signed", "{key}"),
    (
        r"(does not have|no longer has) a Release file|404 +Not Found|stat \(2: ",
        "it does not exist",
    ),
    (r"resolve|[Cc]onnect|[Tt]imed out|unreachable", "no connection"),
)
_NO_KEY = "its signing key is missing: install or update the package debian-archive-keyring"


class AptError(Exception):
    """An apt command failed; the text says why in a few words."""


class Apt:
    """Debian's tool apt for one release (suite) of Debian.

    ``folder`` keeps its configuration and package lists. ``keyring`` has the trusted keys; if it is
    missing, apt's default keys apply.
    """

    def __init__(
        self, folder: Path, archive: str, suite: str, kind: str, keyring: Path = KEYRING
    ) -> None:
        self._folder = folder / f"{kind}-{suite}-{digest(archive)[:8]}"
        trust = f" signed-by={keyring}" if keyring.exists() else ""
        target = _TARGETS[kind]
        self._line = f"{kind} [target={target}{trust}] {archive} {suite} main\n"

    @property
    def listed(self) -> bool:
        """Whether the lists of packages have been downloaded."""
        return any((self._folder / "state/lists").glob("*_InRelease"))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock apt for several commands in a row."""
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(self._folder):
            for name in ("state/lists/partial", "cache/archives/partial"):
                (self._folder / name).mkdir(parents=True, exist_ok=True)
            # apt downloads as its own user, which must be able to enter.
            self._folder.chmod(0o755)
            (self._folder / "status").touch()
            (self._folder / "sources.list").write_text(self._line)
            (self._folder / "apt.conf").write_text(_CONFIGURATION.format(folder=self._folder))
            yield

    def update(self) -> None:
        """Update the lists of packages; if that fails, the old ones stay."""
        self._run("apt-get", "update")

    def get(self, *arguments: str, folder: Path) -> None:
        """Download packages into ``folder``."""
        archives = f"Dir::Cache::Archives={folder}"
        self._run("apt-get", "--yes", "-o", archives, "--download-only", *arguments, folder=folder)

    def ask(self, *arguments: str) -> str:
        """Return what apt-cache prints."""
        return self._run("apt-cache", *arguments)

    def _run(self, program: str, *arguments: str, folder: Path = Path("/")) -> str:
        return run_apt(program, "-c", f"{self._folder}/apt.conf", *arguments, folder=folder)


def archives() -> tuple[str, ...]:
    """Return the addresses of the Debian archives in this machine's apt sources.

    An archive counts if the sources name the machine's own release there, or an alias such as
    stable. Raises UserError if there is none.
    """
    names = (*_ALIASES, _codename())
    try:
        output = run_apt("apt-get", "update", "--print-uris")
    except AptError as error:
        raise UserError(f"the apt sources of this machine cannot be read: {error}") from error
    found = [address for address, suite in _SUITE_AT.findall(output) if suite in names]
    if not found:
        raise UserError("the apt sources of this machine contain no Debian archive; add one")
    return tuple(dict.fromkeys(found))


def _codename() -> str:
    try:
        return platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    except OSError:
        return ""


def run_apt(program: str, *arguments: str, folder: Path = Path("/")) -> str:
    """Run apt or one of its programs, and return the output.

    Raises AptError if it fails, and UserError if it is not installed or the disk is full.
    """
    if shutil.which(program) is None:
        raise UserError(
            f"{program} is not installed; the source debian needs Debian or a derived system"
        )
    try:
        answer = subprocess.run(
            contained([program, "-q", *arguments]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AptError(f"no answer within {PATIENCE:.0f} s") from error
    if answer.returncode == 0:
        return answer.stdout
    if "No space left" in answer.stderr or "enough free space" in answer.stderr:
        raise full_error(folder, "packages of Debian")
    raise AptError(_reason(answer.stderr))


def _reason(output: str) -> str:
    """Return in a few words why apt failed."""
    for pattern, words in _REASONS:
        if re.search(pattern, output):
            return words.format(key=_NO_KEY)
    lines = [line[2:].strip() for line in output.splitlines() if line.startswith("E:")]
    return lines[0] if lines else first_line(Exception(output))
