"""The program apt, with a configuration of its own for one suite of an archive.

Nothing of the machine's own package management is changed, and neither root nor an installed
package is needed. The archive's address is that of the machine's own apt sources, and signatures
are verified with the keys that the machine trusts for Debian.
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

from pipeline.errors import UserError, first_line
from pipeline.machine.account import contained
from pipeline.model import digest
from pipeline.sources.base.kept import full_error, locked

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
"""The keys of all suites, where the package debian-archive-keyring puts them."""
PATIENCE = 3600.0
"""Seconds after which an archive that still sends is given up."""

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
"""Read after the machine's own, of which it keeps what is said of proxies and certificates.

The hooks of that are for its own packages. A suite that becomes oldstable is still the same one.
Nothing counts as installed, so that a package comes with all that it depends on.
"""

_REASONS = (
    (r"[Hh]ash [Ss]um mismatch|unexpected size|BADSIG|clearsigned", "what it sent is damaged"),
    (r"NO_PUBKEY|Missing key|isn't signed by|not signed", "{key}"),
    (r"(does not have|no longer has) a Release file|404 +Not Found|stat \(2: ", "it is not there"),
    (r"resolve|[Cc]onnect|[Tt]imed out|unreachable", "no connection"),
)
_NO_KEY = (
    "the key that signs it is not on this machine: install or update the package "
    "debian-archive-keyring"
)


class AptError(Exception):
    """What apt was asked for failed; the text is the reason in a few words."""


class Apt:
    """One suite of the ``archive`` at an address, asked for ``deb`` or ``deb-src`` packages.

    ``folder`` keeps its configuration and package lists, ``keyring`` holds the trusted keys;
    where it is missing, those count that apt trusts by itself.
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
        """Whether its package lists are here."""
        return any((self._folder / "state/lists").glob("*_InRelease"))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep every other process off, while it is asked several things that belong together."""
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(self._folder):
            for name in ("state/lists/partial", "cache/archives/partial"):
                (self._folder / name).mkdir(parents=True, exist_ok=True)
            # apt does its downloads as a user of its own, which must get in.
            self._folder.chmod(0o755)
            (self._folder / "status").touch()
            (self._folder / "sources.list").write_text(self._line)
            (self._folder / "apt.conf").write_text(_CONFIGURATION.format(folder=self._folder))
            yield

    def update(self) -> None:
        """Bring the package lists up to date. Those there were stay if that fails."""
        self._run("apt-get", "update")

    def get(self, *arguments: str, folder: Path) -> None:
        """Have apt-get download into ``folder``, which exists."""
        archives = f"Dir::Cache::Archives={folder}"
        self._run("apt-get", "--yes", "-o", archives, "--download-only", *arguments, folder=folder)

    def ask(self, *arguments: str) -> str:
        """Return what apt-cache says of the package lists."""
        return self._run("apt-cache", *arguments)

    def _run(self, program: str, *arguments: str, folder: Path = Path("/")) -> str:
        return run_apt(program, "-c", f"{self._folder}/apt.conf", *arguments, folder=folder)


def archives() -> tuple[str, ...]:
    """Return the addresses of this machine's apt sources that may be archives of Debian.

    Those that have the machine's own release are. Raises UserError when there is none.
    """
    names = (*_ALIASES, _codename())
    try:
        said = run_apt("apt-get", "update", "--print-uris")
    except AptError as error:
        raise UserError(f"the apt sources of this machine cannot be read: {error}") from error
    found = [address for address, suite in _SUITE_AT.findall(said) if suite in names]
    if not found:
        raise UserError("the apt sources of this machine name no archive of Debian; add one")
    return tuple(dict.fromkeys(found))


def _codename() -> str:
    try:
        return platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    except OSError:
        return ""


def run_apt(program: str, *arguments: str, folder: Path = Path("/")) -> str:
    """Run a program of apt in ``folder`` and return what it says.

    Raises AptError where it fails, and UserError where it cannot be run or the disk is full.
    """
    if shutil.which(program) is None:
        raise UserError(f"{program} is not installed; Debian's packages need a system that has it")
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
        raise AptError(f"it did not answer within {PATIENCE:.0f} s") from error
    if answer.returncode == 0:
        return answer.stdout
    if "No space left" in answer.stderr or "enough free space" in answer.stderr:
        raise full_error(folder, "packages of Debian")
    raise AptError(_reason(answer.stderr))


def _reason(said: str) -> str:
    """Say in a few words why apt failed; it says so in many, with addresses."""
    for pattern, words in _REASONS:
        if re.search(pattern, said):
            return words.format(key=_NO_KEY)
    lines = [line[2:].strip() for line in said.splitlines() if line.startswith("E:")]
    return lines[0] if lines else first_line(Exception(said))
