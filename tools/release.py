"""Make the files of a release.

    python -m tools.release TAG --commit SHA --repository OWNER/NAME --out FOLDER

It checks that the tag, the version and the changelog agree, and writes into ``--out``:

- ``dist/``: source archive and wheel, the software bill of materials, ``SHA256SUMS``;
- ``notes.md``: the section of the changelog, and the lines of the README with this commit.

Exit code 2, with one line, if something does not agree.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from tools.pasted import ROOT, blocks, filled

TAG = re.compile(r"v(\d+\.\d+\.\d+)(-[0-9A-Za-z.]+)?")
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


class MistakeError(Exception):
    """Something of the release does not agree, in one line with what to do."""


def version_of(tag: str, project: str) -> str:
    """Return the version of a tag. Raises MistakeError unless it is that of the project."""
    found = TAG.fullmatch(tag)
    if found is None:
        raise MistakeError(f"{tag} is no tag of a release; name it v1.2.3, or v1.2.3-rc.1")
    if found[1] != project:
        raise MistakeError(
            f"the tag is {tag} and the version in pyproject.toml is {project}; delete the tag, set "
            "the version, and tag that commit"
        )
    return tag.removeprefix("v")


def section_of(changelog: str, version: str) -> str:
    """Return the section of a version. Raises MistakeError without one that has a date and text."""
    number = version.partition("-")[0]
    head = rf"^## {re.escape(number)} - \d{{4}}-\d\d-\d\d\n"
    found = re.search(head + r"(.*?)(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE)
    if found is None or not found[1].strip():
        raise MistakeError(
            f"CHANGELOG.md has no section '## {number} - YYYY-MM-DD' with text; rename Unreleased"
        )
    return found[1].strip()


def notes_of(section: str, repository: str, commit: str) -> str:
    """Return the text of the release: what changed, the lines to add, how to verify the files."""
    owner = repository.partition("/")[0]
    parts = [section, "## On GitHub", "The lines of the README, pinned to this release:"]
    for path, text in blocks("README.md"):
        parts.append(f"```yaml\n# {path}\n{filled(text, owner, commit)}```")
    parts += [
        "## Verify",
        "Each file has a provenance attestation: "
        f"`gh attestation verify FILE --repo {repository}`. `SHA256SUMS` has their digests, the "
        "`.cdx.json` file every package that nightshift runs with.",
    ]
    return "\n\n".join(parts) + "\n"


def bill_of(lock: str, version: str) -> dict[str, Any]:
    """Return the software bill of materials (CycloneDX 1.5) of a lock file."""
    components: list[dict[str, Any]] = []
    for line in lock.splitlines():
        if pin := PIN.match(line):
            name, number = pin[1].lower(), pin[2]
            purl = f"pkg:pypi/{name}@{number}"
            components.append(
                {"type": "library", "bom-ref": purl, "name": name, "version": number, "purl": purl}
            )
        elif (digest := HASH.search(line)) and components:
            # One for each file of the package; which is installed depends on the machine.
            known = components[-1].setdefault("externalReferences", [])
            known.append(
                {
                    "type": "distribution",
                    "url": components[-1]["purl"],
                    "hashes": [{"alg": "SHA-256", "content": digest[1]}],
                }
            )
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, f'nightshift {version} {lock}')}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "nightshift",
                "name": "nightshift",
                "version": version,
            }
        },
        "components": components,
        "dependencies": [
            {"ref": "nightshift", "dependsOn": [each["bom-ref"] for each in components]}
        ],
    }


def build(folder: Path) -> None:
    """Build the source archive and the wheel with the pinned setuptools."""
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "build", "--quiet", "--offline", "--no-build-isolation"]
    command += ["--python", sys.executable, "--out-dir", str(folder), str(ROOT)]
    made = subprocess.run(command, check=False)
    if made.returncode:
        raise MistakeError("the build failed; see the lines above")
    (folder / ".gitignore").unlink(missing_ok=True)


def checksums(folder: Path) -> str:
    """Return the lines of SHA256SUMS of the files in a folder."""
    files = sorted(each for each in folder.iterdir() if each.name != "SHA256SUMS")
    return "".join(
        f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in files
    )


def make(tag: str, commit: str, repository: str, out: Path) -> None:
    """Make the files of a release. Raises MistakeError."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = version_of(tag, str(project["version"]))
    section = section_of((ROOT / "CHANGELOG.md").read_text(), version)
    dist = out / "dist"
    dist.mkdir(parents=True)
    build(dist)
    bill = bill_of((ROOT / "requirements.lock").read_text(), version)
    (dist / f"nightshift-{version}.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")
    (dist / "SHA256SUMS").write_text(checksums(dist))
    (out / "notes.md").write_text(notes_of(section, repository, commit))


def main() -> int:
    """Run the command line, and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("tag")
    parser.add_argument("--commit", required=True)
    parser.add_argument("--repository", required=True)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    try:
        make(asked.tag, asked.commit, asked.repository, asked.out)
    except MistakeError as mistake:
        sys.stderr.write(f"release: {mistake}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
