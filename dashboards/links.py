"""Links of a dashboard: to the others, the report page, the trend site, the issues."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import DashboardLink
from grafana_foundation_sdk.models.dashboard import DashboardLinkType

TAG = "nightshift"
OVERVIEW, TREND, STEP, COUNTS, COMPARE, INSERT_BENCHMARK, MACHINES, PIPELINE = (
    f"nightshift-{name}"
    for name in (
        "overview",
        "trend",
        "step",
        "counts",
        "compare",
        "insert-benchmark",
        "machines",
        "pipeline",
    )
)
"""Identifiers of the dashboards: they are part of addresses, and never change."""

SETUP = ("target", "line", "machine_class", "workload", "config", "clients")
"""The variables that choose one line on one machine class."""


def to_others() -> list[DashboardLink]:
    """Return the links at the top: every dashboard, with the same variables and time range."""
    return [
        DashboardLink("Dashboards")
        .type(DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .include_vars(True)
        .keep_time(True),
        *(
            DashboardLink(title)
            .type(DashboardLinkType.LINK)
            .icon("external link")
            .url(f"${{{variable}}}")
            .tooltip(f"The address is the constant {variable}: docs/guide/dashboards.md")
            .target_blank(True)
            for title, variable in (
                ("Report page", "report_url"),
                ("Trend site", "site_url"),
                ("Issues", "issues_url"),
            )
        ),
    ]


def of_series(name: str) -> str:
    """Return the placeholder of a label of the selected series."""
    return f"${{__field.labels.{name}:percentencode}}"


def of_row(name: str) -> str:
    """Return the placeholder of a field of the selected row."""
    return f'${{__data.fields["{name}"]:percentencode}}'


def chosen(name: str) -> str:
    """Return the placeholder of a variable's value."""
    return f"${{{name}:percentencode}}"


def to_dashboard(title: str, uid: str, **variables: str) -> DashboardLink:
    """Return a link to a dashboard in the same time range, with the variables given."""
    given = "".join(f"&var-{name}={value}" for name, value in variables.items())
    return DashboardLink(title).url(f"/d/{uid}?${{__url_time_range}}{given}")


def to_step(step: str) -> DashboardLink:
    """Return a link to the details of a step of the chosen line."""
    return to_dashboard("Step detail", STEP, **{name: chosen(name) for name in SETUP}, step=step)


def to_issue(fingerprint: str) -> DashboardLink:
    """Return a link to the issue of a regression: a search for its fingerprint."""
    return DashboardLink("Issue").url(f"${{issues_url}}?q={fingerprint}").target_blank(True)


def to_report() -> DashboardLink:
    """Return a link to the findings on the report page."""
    return DashboardLink("Report page").url("${report_url}#found").target_blank(True)
