"""The files of a release, and how they are published, with a stand-in for GitHub's command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import jsonschema
import pytest
import yaml

from tools import release
from tools.pasted import ROOT
from tools.release import (
    MistakeError,
    bill_of,
    checksums,
    notes_of,
    section_of,
    version_of,
)

COMMIT = "c" * 40
PUBLISH = ROOT / ".github/actions/publish-release"
MOVE = ROOT / ".github/actions/move-major-tag"
CHANGELOG = """# Changelog

## Unreleased

## 1.2.3 - 2026-12-01

### Added

- A thing.

## 1.2.2 - 2026-11-01

- Another.
"""


def test_the_tag_is_that_of_the_version() -> None:
    assert version_of("v1.2.3", "1.2.3") == "1.2.3"
    assert version_of("v1.2.3-rc.1", "1.2.3") == "1.2.3-rc.1"
    with pytest.raises(MistakeError, match=r"the version in pyproject.toml is 1\.2\.2; delete"):
        version_of("v1.2.3", "1.2.2")
    for tag in ("1.2.3", "v1.2", "v1.2.3;id", "v1.2.3 -x"):
        with pytest.raises(MistakeError, match="is no tag of a release"):
            version_of(tag, "1.2.3")


def test_the_section_of_the_changelog_is_that_of_the_version() -> None:
    assert section_of(CHANGELOG, "1.2.3") == "### Added\n\n- A thing."
    assert section_of(CHANGELOG, "1.2.3-rc.1") == "### Added\n\n- A thing."
    assert section_of(CHANGELOG, "1.2.2") == "- Another."
    for version in ("1.2.4", "1.2"):
        with pytest.raises(MistakeError, match=r"CHANGELOG.md has no section"):
            section_of(CHANGELOG, version)


def test_the_version_is_written_once_and_again_the_same() -> None:
    from pipeline import __version__

    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text()


def test_the_notes_have_the_lines_of_the_readme_with_this_commit() -> None:
    notes = notes_of("- A thing.", "acme/nightshift", COMMIT)
    assert notes.startswith("- A thing.\n")
    assert (
        f"uses: acme/nightshift/.github/workflows/pull-request-publish.yml@{COMMIT} # v1" in notes
    )
    assert "OWNER" not in notes and "COMMIT" not in notes
    assert "gh attestation verify FILE --repo acme/nightshift" in notes


def test_the_bill_has_every_package_of_the_lock() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    bill = bill_of(lock, "1.2.3")
    names = [each["name"] for each in bill["components"]]
    assert len(names) == len(set(names)) == sum("==" in line for line in lock.splitlines())
    numpy = next(each for each in bill["components"] if each["name"] == "numpy")
    assert numpy["purl"] == f"pkg:pypi/numpy@{numpy['version']}"
    digests = [each["hashes"][0]["content"] for each in numpy["externalReferences"]]
    assert digests and all(f"--hash=sha256:{digest}" in lock for digest in digests)
    assert bill["dependencies"][0]["dependsOn"] == [each["purl"] for each in bill["components"]]
    assert bill == bill_of(lock, "1.2.3"), "the same lock has the same bill"
    jsonschema.validate(bill, SCHEMA)


SCHEMA = {
    "type": "object",
    "required": ["bomFormat", "specVersion", "version", "serialNumber", "components"],
    "properties": {
        "bomFormat": {"const": "CycloneDX"},
        "specVersion": {"const": "1.5"},
        "serialNumber": {"pattern": "^urn:uuid:[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$"},
        "components": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "name"],
                "properties": {
                    "type": {"enum": ["library", "application"]},
                    "externalReferences": {
                        "items": {
                            "required": ["url", "type"],
                            "properties": {
                                "type": {"const": "distribution"},
                                "hashes": {"items": {"required": ["alg", "content"]}},
                            },
                        }
                    },
                },
            },
        },
    },
}
"""What of CycloneDX 1.5 (cyclonedx.org/docs/1.5/json) the bill uses."""


def test_the_files_of_a_release_are_made_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Source archive and wheel are built without a network."""
    monkeypatch.setattr(release, "section_of", lambda *_: "- A thing.")
    release.make("v0.1.0", COMMIT, "acme/nightshift", tmp_path / "out")
    dist = tmp_path / "out/dist"
    assert sorted(each.name for each in dist.iterdir()) == [
        "SHA256SUMS",
        "nightshift-0.1.0-py3-none-any.whl",
        "nightshift-0.1.0.cdx.json",
        "nightshift-0.1.0.tar.gz",
    ]
    assert (dist / "SHA256SUMS").read_text() == checksums(dist)
    with zipfile.ZipFile(dist / "nightshift-0.1.0-py3-none-any.whl") as wheel:
        names = wheel.namelist()
    assert "pipeline/cli/app.py" in names
    assert "pipeline/workloads/base/lua/report.lua" in names
    assert not [name for name in names if name.startswith(("tests/", "tools/"))]
    assert json.loads((dist / "nightshift-0.1.0.cdx.json").read_text())["components"]


def test_what_does_not_agree_is_one_line(tmp_path: Path) -> None:
    words = ["v9.9.9", "--commit", COMMIT, "--repository", "acme/nightshift"]
    ran = subprocess.run(
        [sys.executable, "-m", "tools.release", *words, "--out", tmp_path / "out"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith("release: the tag is v9.9.9 and the version in pyproject.toml is")
    assert not (tmp_path / "out").exists()


GH = """#!/bin/sh
printf '%s\\n' "$*" >>"$GH_SAID"
for there in $GH_THERE; do
  case "$*" in *"$there"*) exit 0 ;; esac
done
case "$*" in
"release view"* | *git/ref/tags/v1 | "$GH_REFUSES"*) exit 1 ;;
esac
"""


def github_cli(
    tmp_path: Path, *words: str, there: str = "", refuses: str = "nothing", code: int = 0
) -> list[str]:
    """Run a script with a stand-in for gh, and return what gh is asked to change.

    What is ``there`` is found; what begins with ``refuses`` fails.
    """
    gh, said = tmp_path / "bin/gh", tmp_path / "said"
    gh.parent.mkdir()
    gh.write_text(GH)
    gh.chmod(0o755)
    environ = {
        "PATH": f"{gh.parent}:{os.environ['PATH']}",
        "GITHUB_REPOSITORY": "acme/nightshift",
        "GH_SAID": str(said),
        "GH_THERE": there,
        "GH_REFUSES": refuses,
    }
    ran = subprocess.run(["bash", *words], check=False, env=environ, capture_output=True, text=True)
    assert ran.returncode == code, ran.stderr
    if code:
        return ran.stdout.splitlines()
    return [
        line.replace(str(tmp_path), "")
        for line in said.read_text().splitlines()
        if not line.startswith(("release view", "api repos"))
    ]


def publish(tmp_path: Path, tag: str, there: str = "") -> list[str]:
    """Publish a release of one file."""
    dist = tmp_path / "release/dist"
    dist.mkdir(parents=True)
    (dist / "a.whl").touch()
    (tmp_path / "release/notes.md").write_text("- A thing.\n")
    return github_cli(tmp_path, str(PUBLISH), str(tmp_path / "release"), tag, there=there)


CREATED = (
    "release create v1.2.3 /release/dist/a.whl --verify-tag --title nightshift 1.2.3 "
    "--notes-file /release/notes.md"
)
REFS = "repos/acme/nightshift/git/refs"


def test_a_release_has_the_files_and_the_notes(tmp_path: Path) -> None:
    assert publish(tmp_path, "v1.2.3") == [CREATED]


def test_a_pre_release_is_called_one(tmp_path: Path) -> None:
    (created,) = publish(tmp_path, "v1.2.3-rc.1")
    assert created.endswith("--prerelease")


def test_published_again_its_files_are_replaced(tmp_path: Path) -> None:
    again = "release upload v1.2.3 /release/dist/a.whl --clobber"
    assert publish(tmp_path, "v1.2.3", there="view") == [again]


def test_the_first_release_of_a_major_version_makes_its_tag(tmp_path: Path) -> None:
    made = f"api --method POST {REFS} --raw-field ref=refs/tags/v1 --raw-field sha={COMMIT}"
    assert github_cli(tmp_path, str(MOVE), "v1.2.3", COMMIT) == [made]


def test_the_next_one_moves_it(tmp_path: Path) -> None:
    moved = f"api --method PATCH {REFS}/tags/v1 --raw-field sha={COMMIT} --field force=true"
    assert github_cli(tmp_path, str(MOVE), "v1.2.3", COMMIT, there="ref/tags/v1") == [moved]


def test_a_tag_that_may_not_be_moved_is_one_line_with_what_to_do(tmp_path: Path) -> None:
    """GitHub refuses the workflow's own token where workflow files differ."""
    words = (str(MOVE), "v1.2.3", COMMIT)
    (said,) = github_cli(tmp_path, *words, refuses="api --method", code=1)
    assert said.startswith("::error::v1 was not moved to v1.2.3; set the secret RELEASE_TOKEN")


def test_only_jobs_that_run_no_code_may_write() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    assert jobs["build"]["permissions"] == {"contents": "read"}
    assert (jobs["publish"]["needs"], jobs["major"]["needs"]) == ("build", "publish")
    for job, script in (("publish", "publish-release"), ("major", "move-major-tag")):
        scripts = [step["run"] for step in jobs[job]["steps"] if "run" in step]
        assert [each.split()[:2] for each in scripts] == [["bash", f".github/actions/{script}"]]
    assert "'-'" in jobs["major"]["if"], "a pre-release moves nothing"
