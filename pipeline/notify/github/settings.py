"""Read the settings of a GitHub repository that nightshift depends on."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.notify.github.client import Client
from pipeline.notify.github.failures import (
    ForbiddenError,
    GithubRefusedError,
    UnavailableError,
)
from pipeline.notify.github.workflow_files import WorkflowFile, read_workflow
from pipeline.text.errors import UserError


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _RepositoryFacts(_Answer):
    full_name: str
    html_url: str
    private: bool
    fork: bool
    archived: bool = False
    default_branch: str
    pushed_at: datetime | None = None


class _ListedWorkflow(_Answer):
    id: int
    path: str
    name: str
    state: str


class _ScheduledRun(_Answer):
    created_at: datetime


class _Label(_Answer):
    name: str


class _Runner(_Answer):
    name: str
    status: str
    labels: tuple[_Label, ...]
    ephemeral: bool = False
    version: str | None = None


class RegisteredRunner(NamedTuple):
    """A self-hosted runner of the repository; ``version`` is empty before its first job."""

    name: str
    labels: frozenset[str]
    online: bool
    ephemeral: bool
    version: str


class InstalledWorkflow(NamedTuple):
    """A workflow of the repository: its file, its state, its last scheduled run."""

    path: str
    name: str
    state: str
    file: WorkflowFile
    last_scheduled: datetime | None


class RepositorySettings(NamedTuple):
    """Settings of a GitHub repository; a setting that the token may not read is None.

    ``unreadable`` names each such setting with the missing permission of a fine-grained token.
    """

    full_name: str
    page: str
    private: bool
    fork: bool
    archived: bool
    pushed_at: datetime | None
    actions_enabled: bool | None
    allowed_actions: str | None
    default_permissions: str | None
    approval_policy: str | None
    labels: frozenset[str] | None
    required_checks: frozenset[str] | None
    runners: tuple[RegisteredRunner, ...] | None
    workflows: tuple[InstalledWorkflow, ...] | None
    unreadable: tuple[tuple[str, str], ...]


class _SettingReader:
    """Reads settings of a repository, and notes which ones the token may not read."""

    def __init__(self, client: Client, repository: str) -> None:
        self._client, self._root = client, f"/repos/{repository}"
        self.unreadable: dict[str, str] = {}

    def read(self, what: str, permission: str, path: str, **query: Any) -> Any:
        """Return one part of the settings; None if the token may not read it."""
        try:
            return self._client.read(f"{self._root}{path}", **query)
        except (ForbiddenError, GithubRefusedError):
            self.unreadable[what] = permission
            return None

    def listed(
        self, what: str, permission: str, path: str, within: str = "", **query: Any
    ) -> list[Any] | None:
        """Return a list of settings; None if the token may not read it."""
        try:
            return list(self._client.read_all(f"{self._root}{path}", within, **query))
        except (ForbiddenError, GithubRefusedError):
            self.unreadable[what] = permission
            return None


def read_settings(client: Client, repository: str) -> RepositorySettings:
    """Return the settings of a GitHub repository.

    Raises UserError if the repository does not exist for the token, and UnavailableError if GitHub
    does not respond.
    """
    try:
        about = _RepositoryFacts.model_validate(client.read(f"/repos/{repository}"))
        return _read(_SettingReader(client, repository), about)
    except GithubRefusedError as error:
        raise UserError(
            f"{repository} does not exist, or the token may not see it; correct the name, or give "
            "the token access to it"
        ) from error
    except ValidationError as error:
        raise UnavailableError("the response of GitHub lacks documented fields") from error


def _read(reader: _SettingReader, about: _RepositoryFacts) -> RepositorySettings:
    admin = "Administration: read"
    actions = reader.read("Actions permissions", admin, "/actions/permissions")
    token = reader.read("workflow permissions", admin, "/actions/permissions/workflow")
    approval = (
        None
        if about.private
        else reader.read(
            "the approval policy", admin, "/actions/permissions/fork-pr-contributor-approval"
        )
    )
    labels = reader.listed("labels", "Issues: read", "/labels")
    runners = reader.listed("runners", admin, "/actions/runners", "runners")
    return RepositorySettings(
        full_name=about.full_name,
        page=about.html_url,
        private=about.private,
        fork=about.fork,
        archived=about.archived,
        pushed_at=about.pushed_at,
        actions_enabled=None if actions is None else bool(actions["enabled"]),
        allowed_actions=None if actions is None else str(actions.get("allowed_actions", "all")),
        default_permissions=None if token is None else str(token["default_workflow_permissions"]),
        approval_policy=None if approval is None else str(approval["approval_policy"]),
        labels=None if labels is None else frozenset(str(each["name"]).lower() for each in labels),
        required_checks=_required(reader, about.default_branch),
        runners=None if runners is None else tuple(map(_runner, runners)),
        workflows=_workflows(reader),
        unreadable=tuple(reader.unreadable.items()),
    )


def _runner(data: object) -> RegisteredRunner:
    found = _Runner.model_validate(data)
    labels = frozenset(label.name.lower() for label in found.labels)
    return RegisteredRunner(
        found.name, labels, found.status == "online", found.ephemeral, found.version or ""
    )


def _required(reader: _SettingReader, branch: str) -> frozenset[str] | None:
    """Return which checks a branch requires before a merge."""
    name = quote(branch, safe="")
    rules = reader.listed("rules", "Metadata: read", f"/rules/branches/{name}")
    whole = reader.read("the default branch", "Contents: read", f"/branches/{name}")
    if rules is None or whole is None:
        return None
    found: list[str] = []
    for rule in rules:
        if rule["type"] == "required_status_checks":
            checks = (rule.get("parameters") or {}).get("required_status_checks", ())
            found += [str(check["context"]) for check in checks]
    protection = (whole.get("protection") or {}).get("required_status_checks") or {}
    return frozenset([*found, *map(str, protection.get("contexts", ()))])


def _workflows(reader: _SettingReader) -> tuple[InstalledWorkflow, ...] | None:
    listed = reader.listed("workflows", "Actions: read", "/actions/workflows", "workflows")
    if listed is None:
        return None
    return tuple(_installed(reader, map(_ListedWorkflow.model_validate, listed)))


def _installed(
    reader: _SettingReader, workflows: Iterable[_ListedWorkflow]
) -> Iterable[InstalledWorkflow]:
    for each in workflows:
        # Workflows of GitHub itself, such as Dependabot's, have no file.
        if not each.path.startswith(".github/workflows/") or each.state == "deleted":
            continue
        place = f"/contents/{quote(each.path, safe='')}"
        content = reader.read("workflow files", "Contents: read", place)
        file = read_workflow(_decoded(content))
        last = None
        if file.calls and "schedule" in file.triggers:
            runs = reader.read(
                "workflow runs",
                "Actions: read",
                f"/actions/workflows/{each.id}/runs",
                event="schedule",
                per_page=1,
            )
            newest = (runs or {}).get("workflow_runs", ())[:1]
            last = next((_ScheduledRun.model_validate(run).created_at for run in newest), None)
        yield InstalledWorkflow(each.path, each.name, each.state, file, last)


def _decoded(content: Any) -> str:
    if not isinstance(content, dict):
        return ""
    try:
        return base64.b64decode(str(content.get("content", ""))).decode(errors="replace")
    except binascii.Error:
        return ""
