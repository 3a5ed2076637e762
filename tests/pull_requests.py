"""A repository on the fake of GitHub whose pull requests all come from a fork."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.github import FakeGithub
from tests.fakes.github.repository import Repository
from tests.fakes.github.things import Check

TOKEN = "ghs_of_the_trusted_workflow"  # noqa: S105 - of the fake

Run = Callable[..., object]
"""Runs the verb of these words."""


@dataclass(frozen=True)
class Hub:
    """Where measurements of pull requests are published, in a folder of its own."""

    fake: FakeGithub
    repository: Repository
    folder: Path
    run: Run
    machine_class: str

    def publish(self, number: int, sha: str, answer: Path, *asked: str) -> Check:
        """Publish what a run left, as the trusted workflow does, and return the check run."""
        run = self.repository.start(
            ".github/workflows/nightshift.yml",
            event="pull_request",
            sha=sha,
            branch=f"topic-{number}",
            head="mallory/db",
        )
        self.repository.finish(run.id)
        about = f"/repos/{self.repository.full_name}"
        event, artifact = self.folder / "event.json", self.folder / "artifact.zip"
        reported = {
            "repository": self._shown(about),
            "workflow_run": self._shown(f"{about}/actions/runs/{run.id}"),
        }
        event.write_text(json.dumps(reported))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(answer.rglob("*")):
                archive.write(path, path.relative_to(answer))
        artifact.write_bytes(packed.getvalue())
        words: Sequence[str] = ("pull-request", "publish", str(artifact), "--event", str(event))
        of = ("--repository", "acme/db", "--target", "sqlite", "--class", self.machine_class)
        with pytest.MonkeyPatch.context() as trusted:
            trusted.setenv("GITHUB_TOKEN", TOKEN)
            self.run(*words, *of, *asked)
        return self.repository.checks.all()[-1]

    def _shown(self, path: str) -> object:
        sent, _ = self.fake.handle("GET", path, {"user-agent": "x"})
        assert sent is not None
        return json.loads(sent.body)


@contextmanager
def serving_hub(
    folder: Path, heads: Mapping[int, str], run: Run, machine_class: str
) -> Iterator[Hub]:
    """Serve a repository with a pull request of each head; nobody's token is in the environment."""
    fake = FakeGithub()
    may = {"checks": "write", "pull_requests": "write", "contents": "read"}
    fake.account(TOKEN, "github-actions[bot]", may, only="acme/db")
    repository = fake.repository("acme/db")
    fake.repository("mallory/db", fork_of="acme/db")
    for number, sha in heads.items():
        pull = repository.open_pull(
            "mallory", "Mine", sha=sha, branch=f"topic-{number}", head="mallory/db"
        )
        assert pull.number == number
    folder.mkdir()
    with fake.serving(), pytest.MonkeyPatch.context() as patched:
        patched.setenv("GITHUB_API_URL", fake.url)
        for name in ("GITHUB_TOKEN", "GH_TOKEN"):
            patched.delenv(name, raising=False)
        yield Hub(fake, repository, folder, run, machine_class)
