"""Check that this machine has what ``nightshift.toml`` needs, before a night begins."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from pipeline.config import ConfigFile
from pipeline.machine.account import SYSTEM_USER, Account
from pipeline.machine.checks.base import CheckResult, Severity, Verdict
from pipeline.machine.ports import check_port
from pipeline.measure.discover import offers_of
from pipeline.measure.plan import check_workloads
from pipeline.measure.prerequisites import prerequisites_of
from pipeline.measure.workspace import Workspace
from pipeline.text.errors import UserError
from pipeline.text.units import plural
from pipeline.workloads import find_family

GROUP = "nightshift"
"""The name of the group that these checks belong to."""


def ready(file: ConfigFile) -> Iterator[CheckResult]:
    """Yield the result of each check of this machine. Nothing is created or changed.

    A night needs everything that these checks look for, so each bad result refuses the night.
    """
    account = _account()
    cache, results = file.config.paths.cache_folder, file.config.paths.results
    workspace = Workspace(cache, account)
    yield check_by_trying(
        "settings",
        lambda: _settings(file),
        "nightshift.toml describes what a night measures.",
    )
    yield check_by_trying(
        "account",
        lambda: _user(account),
        "DBMS servers such as Postgres refuse to run as root.",
    )
    yield check_by_trying(
        "tools",
        lambda: _tools(file, workspace),
        "These tools contain and pin processes, and generate the load.",
    )
    yield check_by_trying(
        "builds",
        lambda: _builds(file),
        "These tools download and compile builds.",
    )
    yield check_by_trying(
        "cache",
        lambda: _writable(cache, "paths.cache", account),
        "This folder holds builds, downloads and running servers.",
    )
    yield check_by_trying(
        "results",
        lambda: _writable(results.absolute(), "paths.results", None),
        "This folder holds all results.",
    )
    yield check_by_trying(
        "port",
        lambda: _port(file.config.machine.port),
        "The servers under test listen on this port.",
    )


def check_by_trying(name: str, act: Callable[[], str], why: str) -> CheckResult:
    """Run ``act``, which raises UserError if something is wrong, as a check of this machine.

    If it raises UserError, the finding is bad: the text of the error before the first "; " is the
    value, the text after it the remedy.
    """
    verdict, remedy = Verdict.GOOD, ""
    try:
        value = act()
    except UserError as error:
        verdict = Verdict.BAD
        value, _, remedy = str(error).partition("; ")
    return CheckResult(
        group=GROUP,
        name=name,
        level=Severity.REFUSE,
        verdict=verdict,
        value=value,
        why=why,
        remedy=remedy,
    )


def _account() -> Account:
    """Return the unprivileged account that servers run as."""
    uid = os.geteuid()
    if uid != 0:
        return Account(name=pwd.getpwuid(uid).pw_name, uid=uid, gid=os.getegid(), switch=False)
    return Account(name=SYSTEM_USER, uid=uid, gid=os.getegid(), switch=True)


def _user(account: Account) -> str:
    if not account.switch:
        return account.name
    try:
        pwd.getpwnam(account.name)
    except KeyError as error:
        if shutil.which("useradd", path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
            raise UserError(
                f"the user {account.name} does not exist, and useradd, which would create it, "
                "is not installed; create the user by hand, or run nightshift as another user "
                "than root"
            ) from error
        return f"{account.name}, created in the first night"
    return account.name


def _settings(file: ConfigFile) -> str:
    lines, workloads = file.config.line, file.config.workload
    if not file.path.exists():
        raise UserError(
            f"{file.path} does not exist; change to the folder that holds it, or give --config FILE"
        )
    if not lines or not workloads:
        raise UserError(f"{file.path} has no [[line]] or no [[workload]]; add what is missing")
    check_workloads(file)
    offers_of(file)
    return f"{plural(len(lines), 'line')}, {plural(len(workloads), 'workload')}"


def _tools(file: ConfigFile, workspace: Workspace) -> str:
    workspace.check_tools()
    check_workloads(file)
    families = dict.fromkeys(workload.family for workload in file.config.workload)
    versions: dict[str, str] = {}
    for family in families:
        versions |= find_family(family).tools()
    return ", ".join(["util-linux", *versions.values()])


def _builds(file: ConfigFile) -> str:
    needs = {
        need.tool: need
        for offer in offers_of(file)
        for need in prerequisites_of(offer.target, offer.supply)
    }
    missing = [need for need in needs.values() if not need.version]
    if missing:
        names = ", ".join(f"{need.tool} ({need.why})" for need in missing)
        packages = " ".join(need.how.removeprefix(_INSTALL) for need in missing)
        raise UserError(f"missing tools: {names}; {_INSTALL}{packages}")
    return ", ".join(needs) or "no tools are needed"


_INSTALL = "apt-get install "


def _writable(folder: Path, setting: str, account: Account | None) -> str:
    """Return the folder's path; raise UserError if nightshift or the account cannot write to it."""
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise UserError(
            f"{nearest} cannot be written; set {setting} in nightshift.toml to a writable folder"
        )
    if account is not None:
        account.check_reach(folder)
    return str(folder)


def _port(port: int) -> str:
    if port == 0:
        return "any free port"
    check_port(port)
    return str(port)
