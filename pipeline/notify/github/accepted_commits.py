"""Find the pull requests whose regressions maintainers accepted before the merge.

The time, the author and the reason come from the comment on GitHub. Nothing is taken from the
artifact of the measurement, whose author is not trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import AwareDatetime, BaseModel, ConfigDict, TypeAdapter

from pipeline.notify.base import DecisionKind, PersonDecision, RegressedCommit
from pipeline.notify.github.client import Client
from pipeline.notify.github.command import AcceptCommand, is_command, may_ask, parse_command
from pipeline.notify.github.failures import GithubRefusedError
from pipeline.notify.github.pulls import NAME, is_accepted
from pipeline.text.errors import UserError


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _MergedHead(_Read):
    sha: str


class _Merged(_Read):
    number: int
    merged_at: AwareDatetime | None = None
    head: _MergedHead


class _Author(_Read):
    login: str


class _AcceptingComment(_Read):
    body: str | None = None
    created_at: AwareDatetime
    html_url: str = ""
    user: _Author | None = None


_MERGED = TypeAdapter(list[_Merged])


def accepted_regressions(
    client: Client, repository: str, commits: Mapping[str, RegressedCommit]
) -> list[PersonDecision]:
    """Return an acknowledgement for each regression that was accepted before its commit was merged.

    ``commits`` has the commit of each regression, by fingerprint. A regression counts as accepted
    under two conditions: the newest check run of its target on the merged head shows the
    acceptance, and somebody who may write to the repository commented ``/nightshift accept REASON``
    before the merge. Raises UnavailableError if GitHub does not answer.
    """
    found = []
    for fingerprint, commit in commits.items():
        try:
            decided = next(_decisions(client, repository, fingerprint, commit), None)
        except GithubRefusedError:
            # The commit is not on GitHub, or the token may not read it.
            continue
        if decided is not None:
            found.append(decided)
    return found


def _decisions(
    client: Client, repository: str, fingerprint: str, commit: RegressedCommit
) -> Iterator[PersonDecision]:
    place = f"/repos/{repository}"
    for pull in _MERGED.validate_python(client.read(f"{place}/commits/{commit.sha}/pulls")):
        if pull.merged_at is None or not _accepted(client, place, pull.head.sha, commit.target):
            continue
        listed = client.read_all(f"{place}/issues/{pull.number}/comments")
        for comment in reversed([_AcceptingComment.model_validate(each) for each in listed]):
            reason = _reason(comment.body or "")
            if not reason or comment.user is None or comment.created_at > pull.merged_at:
                continue
            if may_ask(client, repository, comment.user.login):
                yield PersonDecision(
                    fingerprint=fingerprint,
                    kind=DecisionKind.ACKNOWLEDGED,
                    by=comment.user.login,
                    at=comment.created_at,
                    note=f"accepted in #{pull.number}: {reason}, {comment.html_url}",
                )


def _accepted(client: Client, place: str, sha: str, target: str) -> bool:
    """Whether one of the newest check runs of a target on a commit shows an accepted regression."""
    listed = client.read_all(f"{place}/commits/{sha}/check-runs", "check_runs", filter="latest")
    return any(
        str(each["external_id"]).startswith(f"{NAME} ")
        and str(each["name"]).startswith(f"{NAME} / {target} ")
        and is_accepted(each)
        for each in listed
    )


def _reason(text: str) -> str:
    """Return the reason in a comment that accepts a regression; empty for other comments."""
    if not is_command(text):
        return ""
    try:
        command = parse_command(text)
    except UserError:
        return ""
    return command.reason if isinstance(command, AcceptCommand) else ""
