"""What starts a workflow: the part of its file that the fake needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

WORKFLOW_TOKEN = "github-actions[bot]"  # noqa: S105 - a login
"""Whom a workflow's own token is of."""


def name_in(text: str) -> str:
    """Return the name that a workflow's file gives it, if any."""
    return str((_read(text)).get("name") or "")


def triggers(text: str) -> Mapping[str, Any]:
    """Return the events that start a workflow, each with what its file says of it."""
    # "on" is a truth value to YAML 1.1.
    whole = _read(text)
    on = whole.get("on", whole.get(True))
    if isinstance(on, str):
        return {on: {}}
    if isinstance(on, list):
        return {each: {} for each in on}
    return {name: said or {} for name, said in (on or {}).items()}


def refused_inputs(text: str, inputs: Mapping[str, Any]) -> str:
    """Return why GitHub refuses to start a workflow by hand with these inputs, "" if it does not.

    https://docs.github.com/rest/actions/workflows#create-a-workflow-dispatch-event; the words are
    those of github.com/cli/cli issues and of programs that handle them.
    """
    if not text:
        return ""
    by_hand = triggers(text).get("workflow_dispatch")
    if by_hand is None:
        return "Workflow does not have 'workflow_dispatch' trigger"
    declared: Mapping[str, Any] = by_hand.get("inputs") or {}
    if unknown := [name for name in inputs if name not in declared]:
        words = ", ".join(f'"{name}"' for name in unknown)
        return f"Unexpected inputs provided: [{words}]"
    for name, said in declared.items():
        if (said or {}).get("required") and name not in inputs and "default" not in said:
            return f"Required input '{name}' not provided"
    return ""


RUN_ACTIVITIES = ("requested", "in_progress", "completed")
"""What a run does that other workflows may wait for; all of it, unless ``types`` says less."""


def waits_for(text: str, name: str, activity: str) -> bool:
    """Return whether an activity of a run of the workflow ``name`` starts this one."""
    said = triggers(text).get("workflow_run") if text else None
    return (
        said is not None
        and name in said.get("workflows", ())
        and activity in said.get("types", RUN_ACTIVITIES)
    )


def _read(text: str) -> Mapping[Any, Any]:
    found = yaml.safe_load(text) if text else None
    return found if isinstance(found, dict) else {}
