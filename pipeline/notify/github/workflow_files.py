"""Read the workflow files of a repository: when they run, and what they call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml

_OURS = re.compile(r"[^/@]+/[^/@]+/\.github/workflows/([a-z-]+\.yml)@(.+)")

FILES = frozenset(
    (
        "nightly.yml",
        "pull-request.yml",
        "pull-request-command.yml",
        "pull-request-ended.yml",
        "pull-request-publish.yml",
        "reap.yml",
        "releases.yml",
    )
)
"""The reusable workflows of nightshift."""

LONGEST = 200_000
"""Maximum length of a workflow file that is read, in characters."""


class WorkflowCall(NamedTuple):
    """A job in a workflow file that calls a workflow of nightshift."""

    workflow: str
    ref: str
    inputs: Mapping[str, str]


class WorkflowFile(NamedTuple):
    """What a workflow file contains: its triggers, and the jobs that call our workflows."""

    name: str = ""
    triggers: Mapping[str, Any] = {}
    calls: tuple[WorkflowCall, ...] = ()

    def calls_of(self, workflow: str) -> list[WorkflowCall]:
        """Return the jobs that call one of nightshift's workflows."""
        return [call for call in self.calls if call.workflow == workflow]

    @property
    def waits_for(self) -> frozenset[str]:
        """The names of the workflows whose end starts this workflow."""
        found = self.triggers.get("workflow_run")
        names = found.get("workflows") if isinstance(found, dict) else None
        return frozenset(map(str, names)) if isinstance(names, list) else frozenset()


def read_workflow(text: str) -> WorkflowFile:
    """Parse a workflow file."""
    try:
        whole = yaml.safe_load(text) if len(text) <= LONGEST else None
    except yaml.YAMLError:
        whole = None
    if not isinstance(whole, dict):
        return WorkflowFile()
    # "on" is a truth value to YAML 1.1.
    on = whole.get("on", whole.get(True))
    return WorkflowFile(str(whole.get("name") or ""), _triggers(on), tuple(_calls(whole)))


def labels_of(text: str) -> frozenset[str]:
    """Return the runner labels in a workflow input, which is one label or a JSON list of labels."""
    try:
        found = json.loads(text)
    except ValueError:
        found = text
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset((str(found),))


def _triggers(on: object) -> Mapping[str, Any]:
    if isinstance(on, dict):
        return {str(name): value or {} for name, value in on.items()}
    names = on if isinstance(on, list) else [on] if on else []
    return {str(name): {} for name in names}


def _calls(whole: Mapping[Any, Any]) -> Iterator[WorkflowCall]:
    jobs = whole.get("jobs")
    for job in jobs.values() if isinstance(jobs, dict) else ():
        uses = job.get("uses") if isinstance(job, dict) else None
        found = _OURS.fullmatch(uses) if isinstance(uses, str) else None
        if found and found[1] in FILES:
            given = job.get("with")
            inputs = given if isinstance(given, dict) else {}
            yield WorkflowCall(
                found[1], found[2], {str(name): str(value) for name, value in inputs.items()}
            )
