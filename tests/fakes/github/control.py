"""What is no part of GitHub: setting the fake up, looking at it and uploading by HTTP.

    POST /_seed                                   accounts and repositories (class Seed), as JSON
    POST /_artifact?repository=R&run=ID&name=N    an artifact of a run; the body is its archive
    GET  /_artifact?repository=R&run=ID&name=N    the archive back
    GET  /_state                                  everything there is and was asked

Runs of workflows in a process of their own use it, where tests call the fake itself.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, ConfigDict

from tests.fakes.github.things import Role

if TYPE_CHECKING:
    from tests.fakes.github.fake import FakeGithub


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SeedAccount(_Part):
    """A token and whose it is, as ``FakeGithub.account`` takes it."""

    token: str
    login: str
    permissions: dict[str, str] | None = None
    only: str = ""


class SeedPull(_Part):
    """A pull request, as ``Repository.open_pull`` takes it."""

    user: str
    title: str
    sha: str
    branch: str = "topic"
    head: str = ""
    base_sha: str = ""
    files: tuple[str, ...] = ()
    body: str | None = None
    labels: tuple[str, ...] = ()


class SeedRun(_Part):
    """A run of a workflow, as ``Repository.start`` takes it."""

    workflow: str
    event: str
    sha: str
    branch: str = ""
    head: str = ""
    actor: str = ""
    title: str = ""
    status: str = "queued"
    conclusion: str | None = None


class SeedRepository(_Part):
    """A repository, and what is in it. One that is there already gets what is new."""

    name: str
    fork_of: str = ""
    private: bool = False
    roles: dict[str, Role] = {}
    commits: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()
    pulls: tuple[SeedPull, ...] = ()
    runs: tuple[SeedRun, ...] = ()


class Seed(_Part):
    """What the fake starts with, or gets besides. Forks come before what is opened from them."""

    accounts: tuple[SeedAccount, ...] = ()
    repositories: tuple[SeedRepository, ...] = ()


def sow(fake: FakeGithub, seed: Seed) -> dict[str, list[int]]:
    """Have what is wanted; return the numbers of the pull requests and the ids of the runs."""
    made: dict[str, list[int]] = {"pulls": [], "runs": []}
    for account in seed.accounts:
        fake.account(
            account.token, account.login, permissions=account.permissions, only=account.only
        )
    for wanted in seed.repositories:
        repository = fake.repository(wanted.name, fork_of=wanted.fork_of, private=wanted.private)
        repository.access.roles |= wanted.roles
        repository.push(*wanted.commits)
        for path in wanted.workflows:
            if repository.find_workflow(path) is None:
                repository.add_workflow(path)
        for pull in wanted.pulls:
            made["pulls"].append(repository.open_pull(**dict(pull)).number)
        for run in wanted.runs:
            made["runs"].append(repository.start(**dict(run)).id)
    return made


def control(fake: FakeGithub, method: str, target: str, body: bytes) -> tuple[int, bytes]:
    """Answer a request that is no part of GitHub: a status and a body."""
    address = urlsplit(target)
    if (method, address.path) == ("GET", "/_state"):
        return 200, _json(fake.state())
    if (method, address.path) == ("POST", "/_seed"):
        return 201, _json(sow(fake, Seed.model_validate_json(body)))
    if address.path == "/_artifact":
        query = dict(parse_qsl(address.query))
        repository = fake.repository(query["repository"])
        run = int(query["run"])
        if method == "POST":
            artifact = repository.upload(run, query["name"], body)
            return 201, _json({"id": artifact.id})
        for artifact in reversed(repository.artifacts.all()):
            if (artifact.run, artifact.name) == (run, query["name"]):
                return 200, artifact.content
    return 404, b""


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()
