"""Check the settings of a GitHub repository: what nightshift needs there, and what is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from pipeline.notify.github.pulls import NAME
from pipeline.notify.github.settings import (
    InstalledWorkflow,
    RegisteredRunner,
    RepositorySettings,
)
from pipeline.notify.github.workflow_files import WorkflowCall, labels_of

HUB = '["self-hosted", "hub"]'
"""The labels of the hub's runner, unless a workflow names others."""

PULL_REQUESTS = '["self-hosted", "nightshift-pull-requests"]'
"""The labels of the runner that measures pull requests, unless a workflow names others."""

SELF_HOSTED = "self-hosted"

LABEL = "nightshift"
"""The label that starts a measurement, unless a workflow names another."""

INACTIVE = timedelta(days=60)
"""The time without activity after which GitHub turns the schedules of a public repository off."""

SOON = timedelta(days=50)
"""The time without activity after which a check warns that GitHub will turn schedules off."""

OLDEST_RUNNER = (2, 329, 0)
"""The oldest version of a runner that GitHub accepts."""

_DISABLED = {
    "disabled_fork": "GitHub turns schedules off in forks",
    "disabled_inactivity": "GitHub turned it off after 60 days without activity",
    "disabled_manually": "somebody turned it off",
}


class SettingState(StrEnum):
    """The result of checking a repository setting: good, worth knowing, or missing."""

    GOOD = "good"
    NOTE = "note"
    MISSING = "missing"


class SettingFinding(NamedTuple):
    """The result of checking one repository setting, in one line, with what to do."""

    name: str
    state: SettingState
    text: str
    remedy: str = ""


Check = Callable[[RepositorySettings, datetime], Iterator[SettingFinding]]


def judge_settings(settings: RepositorySettings, now: datetime) -> list[SettingFinding]:
    """Return the results of checking all repository settings, in a fixed order."""
    return [finding for check in CHECKS for finding in check(settings, now)]


def _good(name: str, text: str) -> SettingFinding:
    return SettingFinding(name, SettingState.GOOD, text)


def _note(name: str, text: str, remedy: str) -> SettingFinding:
    return SettingFinding(name, SettingState.NOTE, text, remedy)


def _missing(name: str, text: str, remedy: str) -> SettingFinding:
    return SettingFinding(name, SettingState.MISSING, text, remedy)


def _calls(settings: RepositorySettings, name: str) -> list[tuple[InstalledWorkflow, WorkflowCall]]:
    """Return which workflows of the repository call one of nightshift's workflows."""
    return [
        (workflow, call)
        for workflow in settings.workflows or ()
        for call in workflow.file.calls_of(name)
    ]


# --- the token, Actions --------------------------------------------------------------


def _token(settings: RepositorySettings, _now: datetime) -> Iterator[SettingFinding]:
    by_permission: dict[str, list[str]] = {}
    for what, permission in settings.unreadable:
        by_permission.setdefault(permission, []).append(what)
    for permission, parts in by_permission.items():
        yield _missing(
            "token",
            f"it may not read {', '.join(parts)}, so these are not checked",
            f"use a token of an administrator with {permission}",
        )
    if not by_permission:
        yield _good("token", "it may read every setting")


def _actions(settings: RepositorySettings, _now: datetime) -> Iterator[SettingFinding]:
    page = f"{settings.page}/settings/actions"
    if settings.archived:
        yield _missing("repository", "it is archived, so no workflow runs", "unarchive it")
    if settings.actions_enabled is False:
        yield _missing("Actions", "they are disabled", f"enable them: {page}")
    elif settings.allowed_actions == "local_only":
        yield _missing(
            "Actions",
            "only actions of this owner are allowed, but the workflows also use actions of GitHub",
            f"allow actions/* and the repository of nightshift: {page}",
        )
    elif settings.allowed_actions == "selected":
        yield _note(
            "Actions",
            "only selected actions are allowed",
            f"check that actions/* and the repository of nightshift are among them: {page}",
        )
    elif settings.actions_enabled:
        yield _good("Actions", "they are enabled")
    if settings.default_permissions == "write":
        yield _missing(
            "workflow permissions",
            "jobs without a list of permissions get a token with write access",
            f"choose Read repository contents: {page}",
        )
    elif settings.default_permissions is not None:
        yield _good("workflow permissions", "a token may only read by default")


def _approval(settings: RepositorySettings, _now: datetime) -> Iterator[SettingFinding]:
    policy = settings.approval_policy
    if policy is None:
        return
    if policy == "all_external_contributors" or not _own_runners(settings):
        yield _good("approval policy", policy.replace("_", " "))
        return
    yield _missing(
        "approval policy",
        f"{policy.replace('_', ' ')}: a returning contributor's workflow runs on your own runners "
        "without approval",
        f"require approval for all external contributors: {settings.page}/settings/actions",
    )


def _own_runners(settings: RepositorySettings) -> bool:
    """Whether workflows of this repository may run on self-hosted runners."""
    return bool(settings.runners) or any(
        SELF_HOSTED in labels for labels, _ in _wanted_labels(settings)
    )


# --- workflows -----------------------------------------------------------------------


def _present(settings: RepositorySettings, _now: datetime) -> Iterator[SettingFinding]:
    if settings.workflows is None:
        return
    called = {call.workflow for each in settings.workflows for call in each.file.calls}
    if not called & {"nightly.yml", "pull-request.yml"}:
        yield _missing(
            "workflows",
            "no workflow on the default branch calls nightshift",
            "add the workflows of README.md (section On GitHub) or of docs/guide/github.md",
        )
        return
    gaps = list(_gaps(settings))
    yield from gaps
    if not gaps:
        yield _good("workflows", f"they call {', '.join(sorted(called))}")


def _gaps(settings: RepositorySettings) -> Iterator[SettingFinding]:
    """Yield the missing workflows and triggers without which nothing is reported."""
    publishers = _calls(settings, "pull-request-publish.yml")
    commands = _calls(settings, "pull-request-command.yml")
    for workflow, _ in _calls(settings, "pull-request.yml"):
        name = workflow.path.rpartition("/")[2]
        if not any(workflow.name in each.file.waits_for for each, _ in publishers):
            yield _missing(
                "workflows",
                f"no workflow publishes what {name} measures",
                "add one that calls pull-request-publish.yml, with the trigger workflow_run for "
                f"{workflow.name!r}",
            )
            continue
        if not commands:
            continue
        if "workflow_dispatch" not in workflow.file.triggers:
            yield _missing(
                "workflows",
                f"comments cannot start {name}",
                "add the trigger workflow_dispatch to it, as in docs/guide/github.md",
            )
        by_hand = any("workflow_dispatch" in each.file.triggers for each, _ in publishers)
        if not workflow.file.calls_of("pull-request-ended.yml") or not by_hand:
            yield _missing(
                "workflows",
                "a measurement that a comment starts is never reported: GitHub fires no "
                "workflow_run event for it",
                f"add the job that calls pull-request-ended.yml to {name}, and workflow_dispatch "
                "to the publisher",
            )


def _schedules(settings: RepositorySettings, now: datetime) -> Iterator[SettingFinding]:
    scheduled = []
    for each in settings.workflows or ():
        if not each.file.calls:
            continue
        name = each.path.rpartition("/")[2]
        if each.state in _DISABLED:
            yield _missing(
                "workflows",
                f"{name} is disabled: {_DISABLED[each.state]}",
                f"enable it: {settings.page}/actions/workflows/{name}",
            )
        elif "schedule" in each.file.triggers:
            scheduled.append(each)
            yield from _last_run(settings, each, now)
    quiet = now - settings.pushed_at if settings.pushed_at else timedelta()
    if scheduled and not settings.private and quiet > SOON:
        yield _missing(
            "schedules",
            f"nothing was pushed for {quiet.days} days; GitHub turns schedules off after "
            f"{INACTIVE.days}",
            "push a commit, or start the night by a timer of your own",
        )


def _last_run(
    settings: RepositorySettings, workflow: InstalledWorkflow, now: datetime
) -> Iterator[SettingFinding]:
    name, last = workflow.path.rpartition("/")[2], workflow.last_scheduled
    where = f"{settings.page}/actions/workflows/{name}"
    if last is None:
        yield _note(
            "schedules",
            f"{name} has never run by its schedule",
            f"wait for its scheduled time, then look at {where}",
        )
    elif now - last > INACTIVE:
        yield _missing(
            "schedules",
            f"the last scheduled run of {name} was {(now - last).days} days ago",
            f"disable and enable it, which starts the schedule again: {where}",
        )
    else:
        yield _good("schedules", f"{name} ran {max(0, (now - last).days)} days ago")


# --- labels, checks ------------------------------------------------------------------


def _calls_for_pull_requests(settings: RepositorySettings) -> list[WorkflowCall]:
    """Return the calls that measure pull requests, and not only pushed branches."""
    return [
        call
        for workflow, call in _calls(settings, "pull-request.yml")
        if workflow.file.triggers.keys() != {"push"}
    ]


def _labels(settings: RepositorySettings, _now: datetime) -> Iterator[SettingFinding]:
    if settings.labels is None:
        return
    wanted = dict.fromkeys(
        call.inputs.get("label", LABEL) for call in _calls_for_pull_requests(settings)
    )
    for label in wanted:
        if label.lower() in settings.labels:
            yield _good("label", label)
        else:
            yield _missing(
                "label",
                f"there is no label {label!r}, which starts a measurement",
                f"create it: {settings.page}/labels",
            )


def _required(settings: RepositorySettings, _now: datetime) -> Iterator[SettingFinding]:
    if settings.required_checks is None or not _calls_for_pull_requests(settings):
        return
    rules = f"{settings.page}/settings/rules"
    ours = sorted(name for name in settings.required_checks if name.startswith(f"{NAME} / "))
    jobs = sorted(name for name in settings.required_checks if name.endswith(" / measure"))
    for name in jobs:
        yield _missing(
            "required checks",
            f"{name!r} is the job that measures; it also succeeds if there is a regression",
            f"require the check run of nightshift instead, as 'nightshift / TARGET on CLASS': "
            f"{rules}",
        )
    for name in ours:
        yield _note(
            "required checks",
            f"{name!r} is required, but a pull request without the label never gets it",
            "label every pull request, or do not require it",
        )
    if not ours and not jobs:
        yield _note(
            "required checks",
            "no check of nightshift is required, so a regression does not block a merge",
            f"require 'nightshift / TARGET on CLASS' if it should: {rules}",
        )


# --- runners -------------------------------------------------------------------------


def _wanted_labels(settings: RepositorySettings) -> list[tuple[frozenset[str], bool]]:
    """Return the labels of each runner that is needed, and whether it runs untrusted code."""
    found = [
        (labels_of(call.inputs.get("runner", PULL_REQUESTS)), True)
        for _, call in _calls(settings, "pull-request.yml")
    ]
    found += [
        (labels_of(call.inputs.get("hub", HUB)), False)
        for name in ("nightly.yml", "releases.yml")
        for _, call in _calls(settings, name)
    ]
    return list(dict.fromkeys(found))


def _runners(settings: RepositorySettings, _now: datetime) -> Iterator[SettingFinding]:
    if settings.runners is None:
        return
    page = f"{settings.page}/settings/actions/runners"
    for labels, strangers in _wanted_labels(settings):
        if SELF_HOSTED not in labels or any("${{" in label for label in labels):
            continue
        lower = frozenset(label.lower() for label in labels)
        fitting = [runner for runner in settings.runners if lower <= runner.labels]
        words = ", ".join(sorted(labels, key=lambda label: (label != SELF_HOSTED, label)))
        if not fitting:
            yield _missing(
                "runner",
                f"no runner has the labels {words}, so jobs wait forever",
                f"register one: {page}/new",
            )
        elif not any(runner.online for runner in fitting):
            names = ", ".join(runner.name for runner in fitting)
            yield _missing(
                "runner",
                f"{names} ({words}) is offline",
                "start its service on its machine: sudo ./svc.sh start",
            )
        else:
            yield _good("runner", f"{words}: {sum(each.online for each in fitting)} online")
        if strangers:
            yield from _kept(fitting, settings)
    yield from _versions(settings.runners)


def _kept(
    runners: Sequence[RegisteredRunner], settings: RepositorySettings
) -> Iterator[SettingFinding]:
    for runner in runners:
        if not runner.ephemeral and not settings.private:
            yield _note(
                "runner",
                f"{runner.name} runs code of pull requests and is not ephemeral, so files of one "
                "job remain for the next",
                "register it with --ephemeral, on a machine that is deleted afterwards",
            )


def _versions(runners: Sequence[RegisteredRunner]) -> Iterator[SettingFinding]:
    oldest = ".".join(map(str, OLDEST_RUNNER))
    for runner in runners:
        found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", runner.version)
        if found and tuple(map(int, found.groups())) < OLDEST_RUNNER:
            yield _missing(
                "runner",
                f"{runner.name} has version {runner.version}, but GitHub refuses versions before "
                f"{oldest}",
                "install the newest runner, and keep its automatic updates on",
            )


CHECKS: tuple[Check, ...] = (
    _token,
    _actions,
    _approval,
    _present,
    _schedules,
    _labels,
    _required,
    _runners,
)
"""Every check, in the order of the report."""
