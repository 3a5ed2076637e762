"""Settings of a repository: what Actions may do, required checks, and files of workflows."""

from __future__ import annotations

import base64

from tests.fakes.github.calls import Answer, Call, Refused, Routes, listing
from tests.fakes.github.shapes import identity

routes = Routes()


@routes("GET", "/{repo}/actions/permissions", "token administration:read")
def get_actions(call: Call) -> Answer:
    settings = call.repository.settings
    shown: dict[str, object] = {"enabled": settings.actions_enabled}
    if settings.actions_enabled:
        shown["allowed_actions"] = settings.allowed_actions
    return Answer(200, shown)


@routes("GET", "/{repo}/actions/permissions/workflow", "token administration:read")
def get_workflow_permissions(call: Call) -> Answer:
    return Answer(
        200,
        {
            "default_workflow_permissions": call.repository.settings.default_permissions,
            "can_approve_pull_request_reviews": False,
        },
    )


@routes(
    "GET",
    "/{repo}/actions/permissions/fork-pr-contributor-approval",
    "token administration:read",
)
def get_approval(call: Call) -> Answer:
    if call.repository.access.private:
        raise Refused(404, "Not Found")
    return Answer(200, {"approval_policy": call.repository.settings.approval_policy})


@routes("GET", "/{repo}/rules/branches/{branch}", "metadata:read")
def list_rules(call: Call) -> Answer:
    checks = call.repository.settings.rules_require
    if not checks:
        return listing([])
    return listing(
        [
            {
                "type": "required_status_checks",
                "parameters": {
                    "required_status_checks": [{"context": name} for name in checks],
                    "strict_required_status_checks_policy": False,
                },
                "ruleset_source_type": "Repository",
                "ruleset_source": call.repository.full_name,
                "ruleset_id": identity(call.repository.full_name),
            }
        ]
    )


@routes("GET", "/{repo}/branches/{branch}", "contents:read")
def get_branch(call: Call) -> Answer:
    repository = call.repository
    if call.parts["branch"] != repository.default_branch:
        raise Refused(404, "Branch not found")
    contexts = list(repository.settings.protection_requires)
    url = f"{call.shapes.url(repository)}/branches/{repository.default_branch}"
    return Answer(
        200,
        {
            "name": repository.default_branch,
            "commit": call.shapes.commit(repository, repository.tip),
            "_links": {"html": url, "self": url},
            "protected": bool(contexts),
            "protection": {
                "enabled": bool(contexts),
                "required_status_checks": {
                    "enforcement_level": "non_admins" if contexts else "off",
                    "contexts": contexts,
                    "checks": [{"context": name, "app_id": None} for name in contexts],
                },
            },
            "protection_url": f"{url}/protection",
        },
    )


@routes("GET", "/{repo}/contents/{path}", "contents:read")
def get_content(call: Call) -> Answer:
    """Show the file of a workflow; the repository has no others."""
    workflow = call.repository.find_workflow(call.parts["path"])
    if workflow is None or workflow.path != call.parts["path"]:
        raise Refused(404, "Not Found")
    text = workflow.text.encode()
    url = f"{call.shapes.url(call.repository)}/contents/{workflow.path}"
    return Answer(
        200,
        {
            "type": "file",
            "encoding": "base64",
            "size": len(text),
            "name": workflow.path.rpartition("/")[2],
            "path": workflow.path,
            "content": base64.encodebytes(text).decode(),
            "sha": f"{identity(workflow.text):040x}",
            "url": url,
            "git_url": url,
            "html_url": url,
            "download_url": url,
            "_links": {"git": url, "self": url, "html": url},
        },
    )
