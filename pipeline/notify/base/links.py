"""Where what a notice names can be seen: commits, what lies between them, pages of results."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote, urlencode

from pipeline.model import SeriesKey, Supply
from pipeline.notify.base import Link

_ADDRESS = re.compile(
    r"(?:https?://|git://|(?:ssh://)?git@)(?P<host>[A-Za-z0-9.-]+)(?::\d+)?[/:]"
    r"(?P<path>[A-Za-z0-9._~-]+(?:/[A-Za-z0-9._~-]+)+)/?"
)
"""The address of a repository, as git takes it."""


class Forge(NamedTuple):
    """How a site shows repositories: what stands between theirs and the name of a commit."""

    commit: str
    compare: str


GITHUB = Forge("/commit/", "/compare/")
GITLAB = Forge("/-/commit/", "/-/compare/")

FORGES = {"github": GITHUB, "gitlab": GITLAB}
"""By the first part of the name of their host, which is that of the company's sites, too."""


def commit_address(supply: Supply | None, name: str) -> str:
    """Return where a commit or a tag of a repository is shown; nothing where that is not known.

    ``name`` is the hash or the tag, in full or as much as names it.
    """
    found = _repository(supply)
    return f"{found[0]}{found[1].commit}{quote(name, safe='')}" if found and name else ""


def compare_address(supply: Supply | None, good: str, bad: str) -> str:
    """Return where what was changed between two commits or tags of a repository is shown."""
    found = _repository(supply)
    if not found or not good or not bad:
        return ""
    return f"{found[0]}{found[1].compare}{quote(good, safe='')}...{quote(bad, safe='')}"


def _repository(supply: Supply | None) -> tuple[str, Forge] | None:
    """Return the address of a repository that a known site shows, and how."""
    if supply is None or supply.kind not in ("git", "tags"):
        return None
    found = _ADDRESS.fullmatch(supply.coordinates.partition("#")[0])
    forge = FORGES.get(found["host"].lower().partition(".")[0]) if found else None
    if found is None or forge is None:
        return None
    return f"https://{found['host']}/{found['path'].removesuffix('.git')}", forge


class Origin(NamedTuple):
    """Where a revision is from, and what it is called there, which is nothing if nobody knows."""

    supply: Supply | None = None
    name: str = ""


Lookup = Callable[[str], Origin]
"""Says where the revision of a label is from."""


class Between(NamedTuple):
    """Links to the last good and the first bad revision, and to what lies between them.

    Those are empty that there are none for.
    """

    good: str
    bad: str
    compare: str


def between(good: str, bad: str, find: Lookup) -> Between:
    """Return the links for two labels of revisions: those of tags and commits of one repository."""
    one, other = find(good), find(bad)
    return Between(
        good=commit_address(*one),
        bad=commit_address(*other),
        compare=compare_address(one.supply, one.name, other.name)
        if one.supply == other.supply
        else "",
    )


class Pages(NamedTuple):
    """Where results are served, as [hub] says; empty where they are not."""

    report: str = ""
    site: str = ""
    grafana: str = ""

    def links(self, series: SeriesKey) -> list[Link]:
        """Return the pages that show a series, or what was found in all."""
        found = []
        if self.report:
            found.append(Link(name="report", address=f"{self.report}#found"))
        if self.site:
            found.append(Link(name="trends", address=self.site))
        if self.grafana:
            found.append(Link(name="Grafana", address=_dashboard(self.grafana, series)))
        return found


STEP_DASHBOARD = "nightshift-step"
"""The identifier of the dashboard of a step, which never changes (``dashboards/links.py``)."""

VARIABLES = ("target", "line", "machine_class", "workload", "config", "clients", "step")


def _dashboard(grafana: str, series: SeriesKey) -> str:
    chosen = urlencode({f"var-{name}": getattr(series, name) for name in VARIABLES})
    return f"{grafana.rstrip('/')}/d/{STEP_DASHBOARD}?{chosen}"
