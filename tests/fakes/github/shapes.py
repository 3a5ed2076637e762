"""Things of the fake as GitHub's API shows them, complete as its OpenAPI description asks."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from tests.fakes.github.repository import Repository
from tests.fakes.github.things import (
    Artifact,
    Check,
    Comment,
    Event,
    Issue,
    Label,
    Pull,
    Reaction,
    Run,
    Runner,
    Status,
    Workflow,
)

JSON = dict[str, Any]

PAGES = "https://github.test"
"""Where people would see it; nothing is there."""

KEPT = timedelta(days=90)
"""How long artifacts are kept."""

_REPOSITORY_URLS = {
    "archive": "{archive_format}{/ref}",
    "assignees": "assignees{/user}",
    "blobs": "git/blobs{/sha}",
    "branches": "branches{/branch}",
    "collaborators": "collaborators{/collaborator}",
    "comments": "comments{/number}",
    "commits": "commits{/sha}",
    "compare": "compare/{base}...{head}",
    "contents": "contents/{+path}",
    "contributors": "contributors",
    "deployments": "deployments",
    "downloads": "downloads",
    "events": "events",
    "forks": "forks",
    "git_commits": "git/commits{/sha}",
    "git_refs": "git/refs{/sha}",
    "git_tags": "git/tags{/sha}",
    "hooks": "hooks",
    "issue_comment": "issues/comments{/number}",
    "issue_events": "issues/events{/number}",
    "issues": "issues{/number}",
    "keys": "keys{/key_id}",
    "labels": "labels{/name}",
    "languages": "languages",
    "merges": "merges",
    "milestones": "milestones{/number}",
    "notifications": "notifications{?since,all,participating}",
    "pulls": "pulls{/number}",
    "releases": "releases{/id}",
    "stargazers": "stargazers",
    "statuses": "statuses/{sha}",
    "subscribers": "subscribers",
    "subscription": "subscription",
    "tags": "tags",
    "teams": "teams",
    "trees": "git/trees{/sha}",
}

_USER_URLS = {
    "followers": "followers",
    "following": "following{/other_user}",
    "gists": "gists{/gist_id}",
    "starred": "starred{/owner}{/repo}",
    "subscriptions": "subscriptions",
    "organizations": "orgs",
    "repos": "repos",
    "events": "events{/privacy}",
    "received_events": "received_events",
}


def moment(at: datetime) -> str:
    """Write a time as GitHub does."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def identity(name: str) -> int:
    """Make an id of a name that is the same in every process."""
    return zlib.crc32(name.encode())


def node(kind: str, of: object) -> str:
    """Make the id that GraphQL would know a thing by."""
    return base64.b64encode(f"{kind}{of}".encode()).decode()


class Shapes:
    """Shows things, with addresses below that of the API."""

    def __init__(self, api: str) -> None:
        self.api = api

    # --- whom ------------------------------------------------------------------------

    def user(self, login: str) -> JSON:
        """Show somebody."""
        bot = login.endswith("[bot]")
        url = f"{self.api}/users/{quote(login)}"
        return {
            "login": login,
            "id": identity(login),
            "node_id": node("U", login),
            "avatar_url": f"{PAGES}/avatars/{identity(login)}",
            "gravatar_id": "",
            "url": url,
            "html_url": f"{PAGES}/{'apps/' if bot else ''}{quote(login.removesuffix('[bot]'))}",
            "type": "Bot" if bot else "User",
            "user_view_type": "public",
            "site_admin": False,
            **{f"{name}_url": f"{url}/{path}" for name, path in _USER_URLS.items()},
        }

    def myself(self, login: str) -> JSON:
        """Show the person whose token asks."""
        return self.user(login) | {
            "user_view_type": "private",
            "name": login,
            "company": None,
            "blog": "",
            "location": None,
            "email": None,
            "hireable": None,
            "bio": None,
            "public_repos": 1,
            "public_gists": 0,
            "followers": 0,
            "following": 0,
            "created_at": "2020-01-01T00:00:00Z",
            "updated_at": "2020-01-01T00:00:00Z",
            "private_gists": 0,
            "total_private_repos": 0,
            "owned_private_repos": 0,
            "disk_usage": 0,
            "collaborators": 0,
            "two_factor_authentication": True,
        }

    def app(self, login: str) -> JSON:
        """Show the app of a bot."""
        slug = login.removesuffix("[bot]")
        return {
            "id": identity(slug),
            "slug": slug,
            "node_id": node("A", slug),
            "owner": self.user(slug),
            "name": slug,
            "description": None,
            "external_url": f"{PAGES}/apps/{slug}",
            "html_url": f"{PAGES}/apps/{slug}",
            "created_at": "2020-01-01T00:00:00Z",
            "updated_at": "2020-01-01T00:00:00Z",
            "permissions": {"checks": "write", "metadata": "read"},
            "events": [],
        }

    def permission(self, repository: Repository, login: str) -> JSON:
        """Show what somebody may do."""
        role = repository.role(login)
        # What was there before there were the roles between: read and write include them.
        old = {"triage": "read"}.get(role, role)
        return {
            "permission": old,
            "role_name": role,
            "user": self.user(login) | {"role_name": role},
        }

    # --- repositories ----------------------------------------------------------------

    def url(self, repository: Repository) -> str:
        """Return the address of a repository."""
        return f"{self.api}/repos/{repository.full_name}"

    def repository(self, repository: Repository) -> JSON:
        """Show a repository, short."""
        url = self.url(repository)
        return {
            "id": repository.id,
            "node_id": node("R", repository.id),
            "name": repository.full_name.partition("/")[2],
            "full_name": repository.full_name,
            "owner": self.user(repository.owner),
            "private": repository.access.private,
            "html_url": f"{PAGES}/{repository.full_name}",
            "description": None,
            "fork": bool(repository.fork_of),
            "url": url,
            **{f"{name}_url": f"{url}/{path}" for name, path in _REPOSITORY_URLS.items()},
        }

    def whole_repository(self, repository: Repository) -> JSON:
        """Show a repository."""
        page = f"{PAGES}/{repository.full_name}"
        open_issues = sum(issue.state == "open" for issue in repository.listed())
        return self.repository(repository) | {
            "license": None,
            "git_url": f"git://github.test/{repository.full_name}.git",
            "ssh_url": f"git@github.test:{repository.full_name}.git",
            "clone_url": f"{page}.git",
            "svn_url": page,
            "mirror_url": None,
            "homepage": None,
            "language": None,
            "forks": 0,
            "forks_count": 0,
            "stargazers_count": 0,
            "watchers": 0,
            "watchers_count": 0,
            "size": 0,
            "default_branch": repository.default_branch,
            "open_issues": open_issues,
            "open_issues_count": open_issues,
            "has_issues": True,
            "has_projects": False,
            "has_wiki": False,
            "has_pages": False,
            "has_downloads": False,
            "has_discussions": False,
            "archived": repository.settings.archived,
            "disabled": False,
            "visibility": "private" if repository.access.private else "public",
            "pushed_at": moment(repository.pushed),
            "created_at": moment(repository.created),
            "updated_at": moment(repository.created),
            "subscribers_count": 0,
            "network_count": 0,
        }

    # --- issues ----------------------------------------------------------------------

    def label(self, repository: Repository, label: Label) -> JSON:
        """Show a label."""
        return {
            "id": label.id,
            "node_id": node("L", label.id),
            "url": f"{self.url(repository)}/labels/{quote(label.name, safe='')}",
            "name": label.name,
            "color": label.color,
            "default": False,
            "description": label.description,
        }

    def _labels(self, repository: Repository, issue: Issue) -> list[JSON]:
        known = (repository.find_label(name) for name in issue.labels)
        return [self.label(repository, label) for label in known if label is not None]

    def association(self, repository: Repository, login: str) -> str:
        """Return how somebody stands to a repository."""
        if login == repository.owner:
            return "OWNER"
        return "COLLABORATOR" if login in repository.access.roles else "NONE"

    def issue(self, repository: Repository, issue: Issue) -> JSON:
        """Show an issue; a pull request is one, with an address beside."""
        url = f"{self.url(repository)}/issues/{issue.number}"
        kind = "pull" if issue.pull else "issues"
        page = f"{PAGES}/{repository.full_name}/{kind}/{issue.number}"
        shown = {
            "id": issue.id,
            "node_id": node("I", issue.id),
            "url": url,
            "repository_url": self.url(repository),
            "labels_url": f"{url}/labels{{/name}}",
            "comments_url": f"{url}/comments",
            "events_url": f"{url}/events",
            "timeline_url": f"{url}/timeline",
            "html_url": page,
            "number": issue.number,
            "state": issue.state,
            "state_reason": issue.reason,
            "title": issue.title,
            "body": issue.body,
            "user": self.user(issue.user),
            "labels": self._labels(repository, issue),
            "assignee": None,
            "assignees": [],
            "milestone": None,
            "locked": issue.locked,
            "active_lock_reason": None,
            "comments": len(repository.comments_of(issue.number)),
            "closed_at": moment(issue.closed) if issue.closed else None,
            "closed_by": self.user(issue.closed_by) if issue.closed_by else None,
            "created_at": moment(issue.created),
            "updated_at": moment(issue.updated),
            "author_association": self.association(repository, issue.user),
            "performed_via_github_app": None,
        }
        if issue.pull:
            shown["pull_request"] = {
                "url": f"{self.url(repository)}/pulls/{issue.number}",
                "html_url": page,
                "diff_url": f"{page}.diff",
                "patch_url": f"{page}.patch",
                "merged_at": None,
            }
        return shown

    def comment(self, repository: Repository, comment: Comment) -> JSON:
        """Show a comment."""
        page = f"{PAGES}/{repository.full_name}/issues/{comment.number}"
        return {
            "id": comment.id,
            "node_id": node("C", comment.id),
            "url": f"{self.url(repository)}/issues/comments/{comment.id}",
            "html_url": f"{page}#issuecomment-{comment.id}",
            "issue_url": f"{self.url(repository)}/issues/{comment.number}",
            "user": self.user(comment.user),
            "body": comment.body,
            "created_at": moment(comment.created),
            "updated_at": moment(comment.updated),
            "author_association": self.association(repository, comment.user),
            "performed_via_github_app": None,
        }

    def reaction(self, reaction: Reaction) -> JSON:
        """Show a reaction on a comment."""
        return {
            "id": reaction.id,
            "node_id": node("X", reaction.id),
            "user": self.user(reaction.user),
            "content": reaction.content,
            "created_at": moment(reaction.created),
        }

    def event(self, repository: Repository, event: Event) -> JSON:
        """Show what happened to an issue."""
        return {
            "id": event.id,
            "node_id": node("E", event.id),
            "url": f"{self.url(repository)}/issues/events/{event.id}",
            "actor": self.user(event.actor),
            "event": event.kind,
            "commit_id": None,
            "commit_url": None,
            "created_at": moment(event.at),
            "performed_via_github_app": None,
            **event.details,
        }

    # --- pull requests, commits ------------------------------------------------------

    def pull(self, repository: Repository, head: Repository, issue: Issue) -> JSON:
        """Show a pull request as listings do."""
        pull = _pull_of(issue)
        url = f"{self.url(repository)}/pulls/{issue.number}"
        page = f"{PAGES}/{repository.full_name}/pull/{issue.number}"
        aside = f"{self.url(repository)}/issues/{issue.number}"
        addresses = {
            "html": page,
            "issue": aside,
            "comments": f"{aside}/comments",
            "review_comments": f"{url}/comments",
            "review_comment": f"{self.url(repository)}/pulls/comments{{/number}}",
            "commits": f"{url}/commits",
            "statuses": f"{self.url(repository)}/statuses/{pull.sha}",
        }
        closed = moment(issue.closed) if issue.closed else None
        return {
            "url": url,
            "id": issue.id,
            "node_id": node("P", issue.id),
            **{f"{name}_url": where for name, where in addresses.items()},
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "number": issue.number,
            "state": issue.state,
            "locked": issue.locked,
            "title": issue.title,
            "user": self.user(issue.user),
            "body": issue.body,
            "labels": [
                label | {"description": label["description"] or ""}
                for label in self._labels(repository, issue)
            ],
            "milestone": None,
            "created_at": moment(issue.created),
            "updated_at": moment(issue.updated),
            "closed_at": closed,
            "merged_at": closed if pull.merged else None,
            "merge_commit_sha": pull.merge_sha or None,
            "assignee": None,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "draft": pull.draft,
            "head": self._side(head, pull.branch, pull.sha),
            "base": self._side(repository, pull.base_branch, pull.base_sha),
            "_links": {name: {"href": where} for name, where in addresses.items()}
            | {"self": {"href": url}},
            "author_association": self.association(repository, issue.user),
            "auto_merge": None,
        }

    def whole_pull(self, repository: Repository, head: Repository, issue: Issue) -> JSON:
        """Show a pull request."""
        pull = _pull_of(issue)
        return self.pull(repository, head, issue) | {
            "merged": pull.merged,
            "mergeable": True,
            "mergeable_state": "clean",
            "merged_by": None,
            "comments": len(repository.comments_of(issue.number)),
            "review_comments": 0,
            "maintainer_can_modify": False,
            "commits": 1,
            "additions": len(pull.files),
            "deletions": 0,
            "changed_files": len(pull.files),
        }

    def _side(self, repository: Repository, branch: str, sha: str) -> JSON:
        return {
            "label": f"{repository.owner}:{branch}",
            "ref": branch,
            "sha": sha,
            "user": self.user(repository.owner),
            "repo": self.whole_repository(repository),
        }

    def file(self, repository: Repository, pull: Pull, name: str) -> JSON:
        """Show a file that a pull request changes."""
        page = f"{PAGES}/{repository.full_name}"
        return {
            "sha": f"{identity(name):040x}",
            "filename": name,
            "status": "modified",
            "additions": 1,
            "deletions": 0,
            "changes": 1,
            "blob_url": f"{page}/blob/{pull.sha}/{quote(name)}",
            "raw_url": f"{page}/raw/{pull.sha}/{quote(name)}",
            "contents_url": f"{self.url(repository)}/contents/{quote(name)}?ref={pull.sha}",
            "patch": "@@ -1 +1,2 @@\n a\n+b",
        }

    def commit(self, repository: Repository, sha: str) -> JSON:
        """Show a commit."""
        url = f"{self.url(repository)}/commits/{sha}"
        git = f"{self.url(repository)}/git"
        by = {"name": "a", "email": "a@example.org", "date": moment(repository.created)}
        return {
            "url": url,
            "sha": sha,
            "node_id": node("O", sha),
            "html_url": f"{PAGES}/{repository.full_name}/commit/{sha}",
            "comments_url": f"{url}/comments",
            "commit": {
                "url": f"{git}/commits/{sha}",
                "author": by,
                "committer": by,
                "message": "a commit",
                "comment_count": 0,
                "tree": {"sha": sha, "url": f"{git}/trees/{sha}"},
            },
            "author": self.user(repository.owner),
            "committer": self.user(repository.owner),
            "parents": [],
        }

    # --- checks ----------------------------------------------------------------------

    def check(self, repository: Repository, check: Check) -> JSON:
        """Show a check run."""
        url = f"{self.url(repository)}/check-runs/{check.id}"
        return {
            "id": check.id,
            "name": check.name,
            "node_id": node("K", check.id),
            "head_sha": check.sha,
            "external_id": check.external_id,
            "url": url,
            "html_url": f"{PAGES}/{repository.full_name}/runs/{check.id}",
            "details_url": check.details_url,
            "status": check.status,
            "conclusion": check.conclusion,
            "started_at": check.started,
            "completed_at": check.completed,
            "output": {
                "title": check.title,
                "summary": check.summary,
                "text": check.text,
                "annotations_count": len(check.annotations),
                "annotations_url": f"{url}/annotations",
            },
            "check_suite": {"id": identity(check.app + check.sha)},
            "app": self.app(check.app),
            "pull_requests": [],
        }

    def annotation(self, repository: Repository, check: Check, said: Mapping[str, Any]) -> JSON:
        """Show an annotation of a check run."""
        page = f"{PAGES}/{repository.full_name}"
        return {
            "path": said["path"],
            "blob_href": f"{page}/blob/{check.sha}/{quote(said['path'])}",
            "start_line": said["start_line"],
            "end_line": said["end_line"],
            "start_column": said.get("start_column"),
            "end_column": said.get("end_column"),
            "annotation_level": said["annotation_level"],
            "title": said.get("title"),
            "message": said["message"],
            "raw_details": said.get("raw_details"),
        }

    def status(self, repository: Repository, status: Status) -> JSON:
        """Show a status of a commit."""
        return {
            "url": f"{self.url(repository)}/statuses/{status.sha}",
            "avatar_url": None,
            "id": status.id,
            "node_id": node("S", status.id),
            "state": status.state,
            "description": status.description,
            "target_url": status.target_url,
            "context": status.context,
            "created_at": moment(status.created),
            "updated_at": moment(status.created),
            "creator": self.user(status.user),
        }

    # --- workflows -------------------------------------------------------------------

    def workflow(self, repository: Repository, workflow: Workflow) -> JSON:
        """Show a workflow."""
        page = f"{PAGES}/{repository.full_name}"
        return {
            "id": workflow.id,
            "node_id": node("W", workflow.id),
            "name": workflow.name,
            "path": workflow.path,
            "state": workflow.state,
            "created_at": moment(repository.created),
            "updated_at": moment(repository.created),
            "url": f"{self.url(repository)}/actions/workflows/{workflow.id}",
            "html_url": f"{page}/blob/{repository.default_branch}/{workflow.path}",
            "badge_url": f"{page}/workflows/{quote(workflow.name)}/badge.svg",
        }

    def job(self, repository: Repository, run: Run) -> JSON:
        """Show the one job of a run."""
        url = f"{self.url(repository)}/actions"
        number = identity(f"job of {run.id}")
        done = run.skipped or run.status == "completed"
        return {
            "id": number,
            "run_id": run.id,
            "run_url": f"{url}/runs/{run.id}",
            "run_attempt": run.attempt,
            "node_id": node("J", number),
            "head_sha": run.sha,
            "head_branch": run.branch,
            "url": f"{url}/jobs/{number}",
            "html_url": f"{PAGES}/{repository.full_name}/actions/runs/{run.id}/job/{number}",
            "status": "completed" if done else run.status,
            "conclusion": "skipped" if run.skipped else run.conclusion,
            "created_at": moment(run.created),
            "started_at": moment(run.created),
            "completed_at": moment(run.created) if done else None,
            "name": "measure / measure",
            "check_run_url": f"{self.url(repository)}/check-runs/{number}",
            "labels": [],
            "runner_id": None,
            "runner_name": None,
            "runner_group_id": None,
            "runner_group_name": None,
            "workflow_name": run.workflow.name,
        }

    def run(self, repository: Repository, head: Repository | None, run: Run) -> JSON:
        """Show a run of a workflow.

        Its pull requests are never said for one from a fork, and GitHub promises them for no
        other: they are left out. ``head`` is None for a fork that was deleted.
        """
        url = f"{self.url(repository)}/actions/runs/{run.id}"
        by = {"name": "a", "email": "a@example.org"}
        return {
            "id": run.id,
            "name": run.workflow.name,
            "node_id": node("G", run.id),
            "head_branch": run.branch,
            "head_sha": run.sha,
            "path": run.workflow.path,
            "display_title": run.title,
            "run_number": run.number,
            "run_attempt": run.attempt,
            "event": run.event,
            "status": run.status,
            "conclusion": run.conclusion,
            "workflow_id": run.workflow.id,
            "check_suite_id": identity(str(run.id)),
            "check_suite_node_id": node("Q", run.id),
            "url": url,
            "html_url": f"{PAGES}/{repository.full_name}/actions/runs/{run.id}",
            "pull_requests": [],
            "created_at": moment(run.created),
            "updated_at": moment(run.created),
            "run_started_at": moment(run.created),
            "actor": self.user(run.actor),
            "triggering_actor": self.user(run.actor),
            "jobs_url": f"{url}/jobs",
            "logs_url": f"{url}/logs",
            "check_suite_url": f"{self.url(repository)}/check-suites/{identity(str(run.id))}",
            "artifacts_url": f"{url}/artifacts",
            "cancel_url": f"{url}/cancel",
            "rerun_url": f"{url}/rerun",
            "previous_attempt_url": None,
            "workflow_url": f"{self.url(repository)}/actions/workflows/{run.workflow.id}",
            "head_commit": {
                "id": run.sha,
                "tree_id": run.sha,
                "message": "a commit",
                "timestamp": moment(run.created),
                "author": by,
                "committer": by,
            },
            "repository": self.repository(repository),
            "head_repository": self.repository(head) if head else None,
        }

    def artifact(
        self, repository: Repository, artifact: Artifact, run: Run | None, head: int
    ) -> JSON:
        """Show an artifact of a run; ``head`` is the id of the repository whose code ran."""
        url = f"{self.url(repository)}/actions/artifacts/{artifact.id}"
        return {
            "id": artifact.id,
            "node_id": node("F", artifact.id),
            "name": artifact.name,
            "size_in_bytes": len(artifact.content),
            "url": url,
            "archive_download_url": f"{url}/zip",
            "expired": artifact.expired,
            "created_at": moment(artifact.created),
            "updated_at": moment(artifact.created),
            "expires_at": moment(artifact.created + KEPT),
            "workflow_run": None
            if run is None
            else {
                "id": run.id,
                "repository_id": repository.id,
                "head_repository_id": head,
                "head_branch": run.branch,
                "head_sha": run.sha,
            },
        }

    def runner(self, runner: Runner) -> JSON:
        """Show a self-hosted runner."""
        return {
            "id": runner.id,
            "name": runner.name,
            "os": "linux",
            "status": runner.status,
            "busy": runner.busy,
            "ephemeral": runner.ephemeral,
            "version": runner.version,
            "labels": [
                {"id": identity(name), "name": name, "type": "custom"} for name in runner.labels
            ],
        }


def _pull_of(issue: Issue) -> Pull:
    assert issue.pull is not None
    return issue.pull
