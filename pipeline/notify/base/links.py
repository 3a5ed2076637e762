"""Links to commits, to the changes between two of them, and to published results."""

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
"""The address of a repository as git accepts it."""


class Forge(NamedTuple):
    """How a hosting site (GitHub, GitLab, ...) forms the addresses of commits and comparisons."""

    commit: str
    compare: str


GITHUB = Forge("/commit/", "/compare/")
GITLAB = Forge("/-/commit/", "/-/compare/")

FORGES = {"github": GITHUB, "gitlab": GITLAB}
"""Hosting sites by the first part of their host name, such as gitlab for gitlab.example.org."""


def commit_address(supply: Supply | None, name: str) -> str:
    """Return the web page of a commit or tag; empty if the site is unknown.

    ``name`` is the hash or the tag, in full or abbreviated.
    """
    found = _repository(supply)
    return f"{found[0]}{found[1].commit}{quote(name, safe='')}" if found and name else ""


def compare_address(supply: Supply | None, good: str, bad: str) -> str:
    """Return the web page of the changes between two commits or tags."""
    found = _repository(supply)
    if not found or not good or not bad:
        return ""
    return f"{found[0]}{found[1].compare}{quote(good, safe='')}...{quote(bad, safe='')}"


def repository_name(supply: Supply | None) -> str:
    """Return OWNER/NAME of a repository; empty if its site is unknown."""
    found = _repository(supply)
    return found[0].partition("://")[2].partition("/")[2] if found else ""


def _repository(supply: Supply | None) -> tuple[str, Forge] | None:
    """Return a repository's web address and hosting site; None if the site is unknown."""
    if supply is None or supply.kind not in ("git", "tags"):
        return None
    found = _ADDRESS.fullmatch(supply.coordinates.partition("#")[0])
    forge = FORGES.get(found["host"].lower().partition(".")[0]) if found else None
    if found is None or forge is None:
        return None
    return f"https://{found['host']}/{found['path'].removesuffix('.git')}", forge


class RevisionOrigin(NamedTuple):
    """Where a revision comes from, and its name there."""

    supply: Supply | None = None
    name: str = ""


Lookup = Callable[[str], RevisionOrigin]
"""Returns the origin of the revision with a label."""


class Between(NamedTuple):
    """Links to the last good revision, to the first bad one, and to the changes between.

    Links that do not exist are empty.
    """

    good: str
    bad: str
    compare: str


def between(good: str, bad: str, find: Lookup) -> Between:
    """Return the links for two revisions of the same repository."""
    one, other = find(good), find(bad)
    return Between(
        good=commit_address(*one),
        bad=commit_address(*other),
        compare=compare_address(one.supply, one.name, other.name)
        if one.supply == other.supply
        else "",
    )


class Pages(NamedTuple):
    """Web addresses of published results, as set in ``[hub]``; empty if there is no server."""

    report: str = ""
    site: str = ""
    grafana: str = ""

    def links(self, series: SeriesKey) -> list[Link]:
        """Return the links to the published pages that show a series: report, trends, Grafana."""
        found = []
        if self.report:
            found.append(Link(name="report", address=f"{self.report}#found"))
        if self.site:
            found.append(Link(name="trends", address=self.site))
        if self.grafana:
            found.append(Link(name="Grafana", address=_dashboard(self.grafana, series)))
        return found


STEP_DASHBOARD = "nightshift-step"
"""The fixed identifier of the step dashboard (``dashboards/links.py``)."""

VARIABLES = ("target", "line", "machine_class", "workload", "config", "clients", "step")


def _dashboard(grafana: str, series: SeriesKey) -> str:
    chosen = urlencode({f"var-{name}": getattr(series, name) for name in VARIABLES})
    return f"{grafana.rstrip('/')}/d/{STEP_DASHBOARD}?{chosen}"
