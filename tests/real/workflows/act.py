"""Runs workflows by act, on this machine and without Docker, with stand-ins for GitHub's actions.

The repositories are folders, and so are the artifacts of a run. GitHub's API is the fake's, where
there is one. act knows no concurrency groups and no permissions: tests read those.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from tests.go_tools import program

ROOT = Path(__file__).parents[3]
STAND_INS = Path(__file__).with_name("actions")
RUNNER = Path(__file__).with_name("runner.py")
NIGHTSHIFT = "OWNER/nightshift"
"""The repository that the workflows are of."""

NETWORK = (
    *("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"),
    *("all_proxy", "https_proxy", "http_proxy", "no_proxy"),
    *("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"),
)
"""Variables that say how a network is reached, and by which certificates it is trusted."""

TOKEN = "ghs-the-token-of-the-workflow"  # noqa: S105 - of a fake
"""What ``github.token`` is."""


def git(folder: Path, *words: str) -> str:
    """Run git in a folder, as somebody."""
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    done = subprocess.run(
        ["git", *who, "-C", str(folder), *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def make_repository(folder: Path, files: Mapping[str, str]) -> Path:
    """Make a repository of one commit with these files."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, files, "begin")
    return folder


def commit(folder: Path, files: Mapping[str, str], subject: str) -> str:
    """Commit these files, and return the commit."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", subject)
    return git(folder, "rev-parse", "HEAD")


def references(text: str) -> set[str]:
    """Return the actions and workflows of others that a workflow or an action uses."""
    found: set[str] = set()

    def look(value: Any) -> None:
        if isinstance(value, dict):
            uses = value.get("uses")
            if isinstance(uses, str) and not uses.startswith("./"):
                found.add(uses)
            for each in value.values():
                look(each)
        elif isinstance(value, list):
            for each in value:
                look(each)

    look(yaml.safe_load(text))
    return found


@dataclass
class Done:
    """A run of a workflow that has ended: what act said, and the result of each job."""

    code: int
    lines: list[dict[str, Any]]

    def results(self) -> dict[str, str]:
        """Return the results of the jobs that were run, by their ids; of a matrix the worst."""
        found: dict[str, str] = {}
        for line in self.lines:
            if "jobResult" in line:
                job = line["jobID"]
                if found.get(job) != "failure":
                    found[job] = line["jobResult"]
        return found

    def said(self, job: str = "") -> str:
        """Return what the steps of a job printed, or of all jobs."""
        return "\n".join(
            line["msg"].rstrip()
            for line in self.lines
            if line.get("raw_output") and job in ("", line.get("jobID"))
        )

    def __repr__(self) -> str:
        return "\n".join(f"[{each.get('job', '')}] {each.get('msg', '')}" for each in self.lines)


@dataclass
class Actions:
    """What GitHub has and its runners have: repositories, artifacts, and what a runner keeps.

    ``environ`` is what the runners' environment has besides, ``secrets`` what the repository has.
    """

    folder: Path
    repositories: dict[str, Path] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "config" / "act").mkdir(parents=True)
        # Without it act asks which image it shall fetch.
        (self.folder / "config" / "act" / "actrc").touch()
        made = self.folder / "nightshift"
        for part in (".github", "infra"):
            # What Terraform left in a working copy is no part of a checkout.
            shutil.copytree(ROOT / part, made / part, ignore=shutil.ignore_patterns(".terraform*"))
        git(made, "init", "--quiet", "--initial-branch=main")
        git(made, "add", "--all")
        git(made, "commit", "--quiet", "--message", "as it is")
        self.repositories[NIGHTSHIFT] = made
        installed = self.folder / "bin"
        installed.mkdir()
        (installed / "nightshift").write_text(f'#!/bin/sh\nexec {sys.executable} {RUNNER} "$@"\n')
        (installed / "nightshift").chmod(0o755)
        self.environ["STAND_INS_MACHINE"] = str(self.folder / "machine")
        self.environ["PYTHONPATH"] = str(ROOT)

    @property
    def home(self) -> Path:
        """Where the runners keep what they keep."""
        return self.folder / "home"

    def artifacts(self, run: int) -> Path:
        """Return the folder with the artifacts of a run."""
        return self.folder / "artifacts" / str(run)

    def run(
        self,
        repository: str,
        workflow: str,
        event: str,
        payload: Mapping[str, Any] = MappingProxyType({}),
        *,
        run: int = 1,
        attempt: int = 1,
        seconds: int = 900,
    ) -> Done:
        """Run a workflow of a repository for an event, to its end."""
        here = self.repositories[repository]
        words = Path(self.folder / "event.json")
        words.write_text(json.dumps(dict(payload)))
        texts = [
            path.read_text()
            for each in {here, self.repositories[NIGHTSHIFT]}
            for path in each.glob(".github/**/*.yml")
            if path.parent.name == "workflows" or path.name == "action.yml"
        ]
        used = sorted(set[str]().union(*map(references, texts)))
        environ = {
            "GITHUB_REPOSITORY": repository,
            "GITHUB_RUN_ID": str(run),
            "GITHUB_RUN_ATTEMPT": str(attempt),
            "NIGHTSHIFT_HOME": str(self.home),
            "NIGHTSHIFT_BIN": str(self.folder / "bin"),
            "STAND_INS": str(STAND_INS),
            "STAND_INS_ARTIFACTS": str(self.folder / "artifacts"),
            "STAND_INS_REPOSITORIES": json.dumps(
                {name: str(place) for name, place in self.repositories.items()}
            ),
            **self.environ,
        }
        command = [
            str(program("act")),
            event,
            *("--directory", str(here)),
            *("--workflows", f".github/workflows/{workflow}"),
            *("--eventpath", str(words)),
            *("--platform", "self-hosted=-self-hosted"),
            *("--platform", "ubuntu-24.04=-self-hosted"),
            *("--container-daemon-socket", "-"),
            *("--action-cache-path", str(self.folder / "cache")),
            *("--concurrent-jobs", "1"),
            "--no-cache-server",
            "--no-skip-checkout",
            "--rm",
            "--json",
            *("--var", f"NIGHTSHIFT_REPOSITORY={NIGHTSHIFT}"),
        ]
        for name, value in environ.items():
            command += ["--env", f"{name}={value}"]
        for name, value in {"GITHUB_TOKEN": TOKEN, **self.secrets}.items():
            command += ["--secret", f"{name}={value}"]
        for each in used:
            command += ["--local-repository", f"{_repository(each)}={self._place(each)}"]
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=seconds,
            # Of this process's environment runners get nothing but this: act hands on all of its.
            env={
                **{name: os.environ[name] for name in NETWORK if name in os.environ},
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder),
                "XDG_CONFIG_HOME": str(self.folder / "config"),
            },
        )
        lines = []
        for line in (done.stdout + done.stderr).splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                lines.append({"msg": line})
        return Done(done.returncode, lines)

    def _place(self, uses: str) -> Path:
        name = _repository(uses).partition("@")[0]
        return self.repositories.get(name) or STAND_INS / name.partition("/")[2]


def _repository(uses: str) -> str:
    """Return OWNER/NAME@REF of what an action or a workflow is used by."""
    path, _, ref = uses.partition("@")
    return "/".join(path.split("/")[:2]) + f"@{ref}"
