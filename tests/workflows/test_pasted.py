"""The workflow files of the documentation are what a careful maintainer may paste.

Each is checked by zizmor and actionlint as it is pasted: with an owner in place of OWNER, and the
commit of a release in place of COMMIT.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.go_tools import program
from tools.pasted import ROOT, blocks, filled

DOCUMENTS = [
    "README.md",
    *sorted(str(each.relative_to(ROOT)) for each in ROOT.glob("docs/**/*.md")),
]
OURS = "OWNER/nightshift/"


def pasted_files() -> Iterator[Any]:
    for document in DOCUMENTS:
        for index, (path, text) in enumerate(blocks(document)):
            yield pytest.param(path, text, id=f"{document}-{index}-{Path(path).stem}")


FILES = list(pasted_files())


def put(folder: Path, path: str, text: str) -> Path:
    """Write a file as somebody who pastes it does."""
    file = folder / path
    file.parent.mkdir(parents=True)
    file.write_text(filled(text, "acme", "a" * 40))
    return file


def test_every_workflow_in_a_document_names_its_file() -> None:
    """A block without the name of its file would not be checked here."""
    assert len(FILES) >= 7
    for document in DOCUMENTS:
        found = (ROOT / document).read_text().count("```yaml\n")
        assert found == len(blocks(document)), document


@pytest.mark.parametrize(("path", "text"), FILES)
def test_zizmor_has_nothing_to_say(tmp_path: Path, path: str, text: str) -> None:
    put(tmp_path, path, text)
    zizmor = Path(sys.executable).with_name("zizmor")
    if not zizmor.exists():
        pytest.skip("zizmor is not installed; tools/setup check installs it")
    ran = subprocess.run(
        [zizmor, "--offline", "--no-progress", "--color", "never", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "No findings to report" in ran.stdout


@pytest.mark.parametrize(("path", "text"), FILES)
def test_actionlint_has_nothing_to_say(tmp_path: Path, path: str, text: str) -> None:
    file = put(tmp_path, path, text)
    ran = subprocess.run(
        [program("actionlint"), "-no-color", "-shellcheck=", "-pyflakes=", file],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (ran.returncode, ran.stdout) == (0, "")


@pytest.mark.parametrize(("path", "text"), FILES)
def test_a_call_grants_what_is_needed_and_no_more(path: str, text: str) -> None:
    """GitHub does not start a run whose called workflow wants more than its caller grants:
    https://docs.github.com/actions/reference/workflows-and-actions/reusing-workflow-configurations
    """
    del path
    whole = yaml.safe_load(text)
    for job in whole["jobs"].values():
        name, _, ref = job["uses"].removeprefix(OURS).partition("@")
        assert ref == "COMMIT"
        called = yaml.safe_load((ROOT / name).read_text())
        needed: dict[str, str] = {}
        for each in called["jobs"].values():
            for permission, level in each["permissions"].items():
                needed[permission] = max(level, needed.get(permission, ""))
        assert granted(whole, job) == needed
        accepted = called[True]["workflow_call"]
        assert job.get("with", {}).keys() <= accepted.get("inputs", {}).keys()
        assert job.get("secrets", {}).keys() <= accepted.get("secrets", {}).keys()


def granted(whole: Mapping[str, Any], job: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the permissions of a job: its own, or else those of its workflow."""
    found: Mapping[str, str] = job.get("permissions", whole.get("permissions", {}))
    return found
