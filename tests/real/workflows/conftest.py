"""GitHub and Hetzner on loopback, and a repository whose workflows are ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.machine.paths import RUN
from tests.fakes.github.server import GithubServer
from tests.fakes.hetzner import FakeHetzner
from tests.fakes.hetzner.server import TOKEN as CLOUD_TOKEN
from tests.real.workflows.act import NIGHTSHIFT, TOKEN, Actions, make_repository

DATABASE = "example/db"
"""The repository whose workflows call ours."""

ADMINISTRATOR = "ghp-may-administer"
"""A token that may register runners."""


def caller(workflow: str, on: str, with_secrets: str = "") -> str:
    """Return a workflow that calls one of ours."""
    uses = f"    uses: {NIGHTSHIFT}/.github/workflows/{workflow}@v1\n"
    return f"on: {on}\njobs:\n  call:\n{uses}{with_secrets}"


@pytest.fixture
def own_cache(server_folder: Path, cache: Path) -> Path:
    """A cache whose archives are those of the other tests."""
    own = server_folder / "cache"
    own.mkdir()
    for shared in ("downloads", "versions"):
        (cache / shared).mkdir(parents=True, exist_ok=True)
        (own / shared).symlink_to(cache / shared)
    return own


@pytest.fixture
def github() -> Iterator[GithubServer]:
    """GitHub's API, where the workflow's token is known and may do whatever one could."""
    fake = GithubServer()
    with fake.serving():
        fake.repository(DATABASE)
        fake.account(TOKEN, "github-actions[bot]", only=DATABASE)
        fake.account(ADMINISTRATOR, "example")
        yield fake


@pytest.fixture
def hetzner() -> Iterator[FakeHetzner]:
    """A project of Hetzner Cloud."""
    fake = FakeHetzner()
    with fake.serving():
        yield fake


@pytest.fixture
def actions(tmp_path: Path, own_cache: Path, github: GithubServer, hetzner: FakeHetzner) -> Actions:
    """Runners of a repository that is empty yet."""
    made = Actions(
        tmp_path / "actions",
        environ={
            "NIGHTSHIFT_CACHE": str(own_cache),
            RUN: os.environ[RUN],
            "GITHUB_API_URL": github.url,
            "HCLOUD_ENDPOINT": hetzner.url,
        },
        secrets={"hcloud_token": CLOUD_TOKEN, "runner_token": ADMINISTRATOR},
    )
    made.repositories[DATABASE] = make_repository(tmp_path / "db", {"README.md": "a database\n"})
    return made
