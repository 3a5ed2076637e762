"""Workflows, their runs and artifacts, and self-hosted runners."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from hashlib import sha256

from tests.fakes.github.calls import Answer, Call, Refused, Routes, listing, missing
from tests.fakes.github.shapes import moment
from tests.fakes.github.things import Artifact, Run
from tests.fakes.github.triggers import refused_inputs

routes = Routes()

LABELS = 100
"""Most labels of a runner."""


# --- runs ----------------------------------------------------------------------------


def run_of(call: Call) -> Run:
    """Return the run of the path."""
    run = call.repository.runs.get(call.number("run"))
    if run is None:
        raise Refused(404, "Not Found")
    return run


def _shown(call: Call, run: Run) -> dict[str, object]:
    return call.shapes.run(call.repository, call.repositories.get(run.head), run)


@routes("GET", "/{repo}/actions/runs", "actions:read")
def list_runs(call: Call) -> Answer:
    return _runs(call, call.repository.runs.all(call.until))


@routes("GET", "/{repo}/actions/workflows/{workflow}/runs", "actions:read")
def list_runs_of_workflow(call: Call) -> Answer:
    workflow = call.repository.find_workflow(call.parts["workflow"])
    if workflow is None:
        raise Refused(404, "Not Found")
    runs = call.repository.runs.all(call.until)
    return _runs(call, [run for run in runs if run.workflow.id == workflow.id])


def _runs(call: Call, runs: list[Run]) -> Answer:
    query = call.asked.query
    found = [
        run
        for run in reversed(runs)
        if query.get("event", run.event) == run.event
        and query.get("head_sha", run.sha) == run.sha
        and query.get("branch", run.branch) == run.branch
        and query.get("actor", run.actor) == run.actor
        and query.get("status", run.status) in (run.status, run.conclusion)
    ]
    return listing([_shown(call, run) for run in found], "workflow_runs")


@routes("GET", "/{repo}/actions/runs/{run:int}", "actions:read")
def get_run(call: Call) -> Answer:
    return Answer(200, _shown(call, run_of(call)))


@routes("GET", "/{repo}/actions/runs/{run:int}/jobs", "actions:read")
def list_jobs(call: Call) -> Answer:
    """List the job of a run; there is one, which is skipped if the run's conditions do not hold."""
    return listing([call.shapes.job(call.repository, run_of(call))], "jobs")


@routes("GET", "/{repo}/actions/workflows", "actions:read")
def list_workflows(call: Call) -> Answer:
    found = call.repository.workflows.all(call.until)
    return listing([call.shapes.workflow(call.repository, each) for each in found], "workflows")


@routes("GET", "/{repo}/actions/workflows/{workflow}", "actions:read")
def get_workflow(call: Call) -> Answer:
    workflow = call.repository.find_workflow(call.parts["workflow"])
    if workflow is None:
        raise Refused(404, "Not Found")
    return Answer(200, call.shapes.workflow(call.repository, workflow))


@routes("POST", "/{repo}/actions/workflows/{workflow}/dispatches", "actions:write")
def dispatch(call: Call) -> Answer:
    repository = call.repository
    workflow = repository.find_workflow(call.parts["workflow"])
    if workflow is None:
        raise Refused(404, "Not Found")
    ref = call.required("ref", resource="Dispatch")
    branch = ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
    if branch not in {repository.default_branch, *repository.branches}:
        raise Refused(422, f"No ref found for: {ref}")
    inputs = call.body.get("inputs") or {}
    if not isinstance(inputs, dict):
        raise Refused(422, "Invalid request.\n\ninputs is not an object")
    if refused := refused_inputs(workflow.text, inputs):
        raise Refused(422, refused)
    run = repository.start(
        workflow.path,
        event="workflow_dispatch",
        sha=repository.tip,
        branch=branch,
        actor=call.who.login,
        inputs=inputs,
    )
    if call.body.get("return_run_details"):
        url = f"{call.shapes.url(repository)}/actions/runs/{run.id}"
        page = _shown(call, run)["html_url"]
        return Answer(200, {"workflow_run_id": run.id, "run_url": url, "html_url": page})
    return Answer(204)


# --- artifacts -----------------------------------------------------------------------


def _shown_artifact(call: Call, artifact: Artifact) -> dict[str, object]:
    run = call.repository.runs.get(artifact.run)
    head = call.repositories.get(run.head if run else "", call.repository)
    return call.shapes.artifact(call.repository, artifact, run, head.id)


def _artifacts(call: Call, artifacts: list[Artifact]) -> Answer:
    name = call.asked.query.get("name")
    found = [each for each in reversed(artifacts) if name in (None, each.name)]
    return listing([_shown_artifact(call, each) for each in found], "artifacts")


@routes("GET", "/{repo}/actions/artifacts", "actions:read")
def list_artifacts(call: Call) -> Answer:
    return _artifacts(call, call.repository.artifacts.all(call.until))


@routes("GET", "/{repo}/actions/runs/{run:int}/artifacts", "actions:read")
def list_artifacts_of_run(call: Call) -> Answer:
    run = run_of(call)
    found = call.repository.artifacts.all(call.until)
    return _artifacts(call, [each for each in found if each.run == run.id])


def artifact_of(call: Call) -> Artifact:
    """Return the artifact of the path."""
    artifact = call.repository.artifacts.get(call.number("artifact"))
    if artifact is None:
        raise Refused(404, "Not Found")
    return artifact


@routes("GET", "/{repo}/actions/artifacts/{artifact:int}", "actions:read")
def get_artifact(call: Call) -> Answer:
    return Answer(200, _shown_artifact(call, artifact_of(call)))


@routes("GET", "/{repo}/actions/artifacts/{artifact:int}/zip", "token actions:read")
def download_artifact(call: Call) -> Answer:
    """Send to where it lies: another host, which must not be shown the token."""
    artifact = artifact_of(call)
    if artifact.expired:
        raise Refused(410, "Artifact has expired")
    place = f"{call.storage}/{call.repository.full_name}/{artifact.id}?sig=signed"
    return Answer(302, headers={"Location": place})


@routes("DELETE", "/{repo}/actions/artifacts/{artifact:int}", "actions:write")
def delete_artifact(call: Call) -> Answer:
    call.repository.delete_artifact(artifact_of(call).id)
    return Answer(204)


# --- runners -------------------------------------------------------------------------


@routes("GET", "/{repo}/actions/runners", "token administration:read")
def list_runners(call: Call) -> Answer:
    name = call.asked.query.get("name")
    found = [each for each in call.repository.runners.all(call.until) if name in (None, each.name)]
    return listing([call.shapes.runner(each) for each in found], "runners")


@routes("GET", "/{repo}/actions/runners/downloads", "token administration:read")
def list_programs(call: Call) -> Answer:
    """Return the address of the runner program."""
    return Answer(
        200,
        [
            {
                "os": system,
                "architecture": kind,
                "download_url": f"https://github.example/actions-runner-{system}-{kind}.tar.gz",
                "filename": f"actions-runner-{system}-{kind}.tar.gz",
                "sha256_checksum": sha256(f"{system}-{kind}".encode()).hexdigest(),
            }
            for system, kind in (("osx", "x64"), ("linux", "arm64"), ("linux", "x64"))
        ],
    )


@routes("GET", "/{repo}/actions/runners/{runner:int}", "token administration:read")
def get_runner(call: Call) -> Answer:
    runner = call.repository.runners.get(call.number("runner"))
    if runner is None:
        raise Refused(404, "Not Found")
    return Answer(200, call.shapes.runner(runner))


@routes("POST", "/{repo}/actions/runners/generate-jitconfig", "administration:write")
def register_once(call: Call) -> Answer:
    """Register a runner for one job; what is answered is its whole configuration, and a secret."""
    name = call.required("name", resource="Runner", longest=64)
    labels = call.names("labels")
    if not 1 <= len(labels) <= LABELS:
        raise Refused(422, f"Invalid request.\n\nlabels: 1 to {LABELS}")
    if not isinstance(call.body.get("runner_group_id"), int):
        raise missing("runner_group_id")
    if any(runner.name == name for runner in call.repository.runners.all()):
        raise Refused(409, f"Already exists - A runner with the name {name} already exists.")
    # Its machine is not part of this: it is there as soon as it is known.
    runner = call.repository.add_runner(name, labels, "online")
    config = base64.b64encode(json.dumps({"runner": runner.id, "name": name}).encode()).decode()
    return Answer(201, {"runner": call.shapes.runner(runner), "encoded_jit_config": config})


@routes("DELETE", "/{repo}/actions/runners/{runner:int}", "administration:write")
def delete_runner(call: Call) -> Answer:
    runner = call.repository.runners.get(call.number("runner"))
    if runner is None:
        raise Refused(404, "Not Found")
    call.repository.remove_runner(runner.id)
    return Answer(204)


@routes("POST", "/{repo}/actions/runners/registration-token", "administration:write")
def registration_token(call: Call) -> Answer:
    until = call.now + timedelta(hours=1)
    return Answer(201, {"token": f"REGISTER{call.next_id()}", "expires_at": moment(until)})
