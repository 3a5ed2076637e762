"""Report in an issue which resources of the hub differ from their Terraform description."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.fleet.drift import ChangedResource, changed_resources
from pipeline.notify.github.failures import GithubRefusedError, UnavailableError
from pipeline.text.errors import UserError
from pipeline.text.units import plural
from pipeline.use_cases.context import Context
from pipeline.use_cases.github_client import RepositoryClient, github_client

LABEL = "nightshift-drift"
"""The label by which the issue is found again."""

_TITLE = "The servers differ from their Terraform description"


class DriftReport(NamedTuple):
    """The resources that differ, and the address of their issue; empty without one."""

    changed: list[ChangedResource]
    issue: str


def report_drift(context: Context, plan: Path, repository: str) -> DriftReport:
    """Create, update or close the issue about the differences that a plan shows.

    ``plan`` is a file with the output of ``terraform show -json``. There is at most one open issue.
    Raises UserError if the file is no plan, and if GitHub cannot be reached.
    """
    try:
        changed = changed_resources(plan.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{plan} cannot be read; write it with `terraform show -json`") from error
    found = github_client(context, repository, "write access to issues")
    try:
        return DriftReport(changed, _issue(found, changed))
    except (UnavailableError, GithubRefusedError) as error:
        raise UserError(
            f"the issue about the differences was not written: {error}; run the same command again"
        ) from error


def _issue(found: RepositoryClient, changed: Sequence[ChangedResource]) -> str:
    client, repository = found
    issues = f"/repos/{repository}/issues"
    known = next(iter(client.read_all(issues, labels=LABEL, state="open")), None)
    if not changed:
        if known is None:
            return ""
        path = f"{issues}/{known['number']}"
        client.write("POST", f"{path}/comments", {"body": "The servers are as described again."})
        client.write("PATCH", path, {"state": "closed"})
        return str(known["html_url"])
    payload = {"title": _TITLE, "body": _body(changed)}
    if known is None:
        made = client.write("POST", issues, {**payload, "labels": [LABEL]})
    else:
        made = client.write("PATCH", f"{issues}/{known['number']}", payload)
    return str(made["html_url"])


def _body(changed: Sequence[ChangedResource]) -> str:
    rows = "\n".join(f"| `{one.address}` | {', '.join(one.actions)} |" for one in changed)
    return (
        f"Terraform would change {plural(len(changed), 'resource')}. Either somebody changed the "
        "servers by hand, or the description was changed and not applied.\n\n"
        f"| resource | action |\n| --- | --- |\n{rows}\n\n"
        "What to do: run `terraform plan` with the variables of the hub, and apply it or correct "
        "the description. The next weekly plan without a difference closes this issue.\n"
    )
