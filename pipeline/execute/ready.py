"""Whether this machine has what a configuration needs before anything can be measured."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from pipeline.config import ConfigFile
from pipeline.errors import UserError
from pipeline.execute.lines import offers_of
from pipeline.execute.needs import needs_of
from pipeline.execute.plan import check_workloads
from pipeline.execute.workspace import Workspace
from pipeline.machine.account import SYSTEM_USER, Account
from pipeline.machine.checks.base import Found, Level, Verdict
from pipeline.machine.ports import check_port
from pipeline.units import counted
from pipeline.workloads import find_family

GROUP = "nightshift"
"""The name of this group of checks."""


def ready(file: ConfigFile) -> Iterator[Found]:
    """Yield what is found of each thing that nightshift needs. Nothing is made or changed.

    Without any of them no night can be done, so each that is bad refuses one.
    """
    account = _account()
    cache, results = file.config.paths.cache_folder, file.config.paths.results
    workspace = Workspace(cache, account)
    yield tried(
        "settings",
        lambda: _settings(file),
        "A night does what nightshift.toml asks for.",
    )
    yield tried(
        "account",
        lambda: _user(account),
        "Postgres and its like refuse to run as root.",
    )
    yield tried(
        "tools",
        lambda: _tools(file, workspace),
        "Processes are kept together and pinned by these, and load is made by them.",
    )
    yield tried(
        "builds",
        lambda: _builds(file),
        "Builds are had, and made, by the tools of their source.",
    )
    yield tried(
        "cache",
        lambda: _writable(cache, "paths.cache", account),
        "Builds, downloads and running servers are there.",
    )
    yield tried(
        "results",
        lambda: _writable(results.absolute(), "paths.results", None),
        "What is measured is kept there.",
    )
    yield tried(
        "port",
        lambda: _port(file.config.machine.port),
        "The servers under test listen on it.",
    )


def tried(name: str, act: Callable[[], str], why: str) -> Found:
    """Return what an attempt shows, as a thing that nightshift needs.

    Of its UserError the first part is the value, and the rest how to mend it.
    """
    verdict, mend = Verdict.GOOD, ""
    try:
        value = act()
    except UserError as error:
        verdict = Verdict.BAD
        value, _, mend = str(error).partition("; ")
    return Found(
        group=GROUP,
        name=name,
        level=Level.REFUSE,
        verdict=verdict,
        value=value,
        why=why,
        mend=mend,
    )


def _account() -> Account:
    """Return the account that servers run as, which root makes at the first night."""
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
                f"there is no user {account.name}, and no useradd to make it; make it by hand, or "
                "run as a user that is not root"
            ) from error
        return f"{account.name}, made at the first night"
    return account.name


def _settings(file: ConfigFile) -> str:
    lines, workloads = file.config.line, file.config.workload
    if not file.path.exists():
        raise UserError(
            f"{file.path} does not exist; run in the folder that holds it or give --config FILE"
        )
    if not lines or not workloads:
        raise UserError(
            f"{file.path} names no line or no workload; add a [[line]] and a [[workload]]"
        )
    check_workloads(file)
    offers_of(file)
    return f"{counted(len(lines), 'line')}, {counted(len(workloads), 'workload')}"


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
        for need in needs_of(offer.target, offer.supply)
    }
    missing = [need for need in needs.values() if not need.version]
    if missing:
        names = ", ".join(f"{need.tool}, which {need.why}," for need in missing)
        packages = " ".join(need.how.removeprefix(_INSTALL) for need in missing)
        raise UserError(f"{names} is missing; {_INSTALL}{packages}")
    return ", ".join(needs) or "no tools are needed"


_INSTALL = "apt-get install "


def _writable(folder: Path, setting: str, account: Account | None) -> str:
    """Refuse a folder that could not be made, written, or entered by the account."""
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise UserError(
            f"{nearest} cannot be written; set {setting} in nightshift.toml to a folder that can"
        )
    if account is not None:
        account.check_reach(folder)
    return str(folder)


def _port(port: int) -> str:
    if port == 0:
        return "any that is free"
    check_port(port)
    return str(port)
