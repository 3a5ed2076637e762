"""The variables at the top of a dashboard. Each choice limits the following ones."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import (
    ConstantVariable,
    CustomVariable,
    DatasourceVariable,
    QueryVariable,
)
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from dashboards.links import SETUP
from pipeline.publish.names import (
    FIGURES,
    OTHERS,
    PREFIX,
    REVISION,
    RUN,
    VERSION,
    full_name,
)

SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
"""The Prometheus that all queries use."""

THROUGHPUT = full_name(VERSION, FIGURES["qps"])
"""A metric that every line has, also a line whose revisions have no known time."""

_COUNTED = 'mode="count"'

_ALL = VariableOption(selected=True, text="All", value="$__all")


def source() -> DatasourceVariable:
    """Return the variable of the Prometheus data source; by default the provisioned one."""
    return DatasourceVariable("datasource").label("Prometheus").type("prometheus").regex("")


def addresses(report: str, site: str, issues: str) -> list[ConstantVariable]:
    """Return constants with the addresses of links out of Grafana; empty if there is none."""
    given = {"report_url": report, "site_url": site, "issues_url": issues}
    return [ConstantVariable(name).value(value) for name, value in given.items()]


def label(
    name: str,
    metric: str = THROUGHPUT,
    *,
    among: tuple[str, ...] = (),
    several: bool = False,
    only: str = "",
    variable: str = "",
) -> QueryVariable:
    """Return the variable of a label's value, limited by the previous variables.

    With ``several`` any number of values can be chosen, initially all. ``only`` are further
    matchers. The variable has the name of its label, or the name ``variable``.
    """
    built = (
        QueryVariable(variable or name)
        .label((variable or name).replace("_", " ").capitalize())
        .datasource(SOURCE)
        .query(f"label_values({metric}{{{_with(among, only)}}}, {name})")
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.NATURAL_ASC)
    )
    if several:
        built = built.multi(True).include_all(True).all_value(".*").current(_ALL)
    return built


def _with(names: tuple[str, ...], only: str = "") -> str:
    several = ("group",)
    chosen = (f'{name}{"=~" if name in several else "="}"${name}"' for name in names)
    return ",".join((*chosen, only) if only else chosen)


def setup(metric: str = THROUGHPUT) -> list[QueryVariable]:
    """Return the variable of a line on a machine class."""
    return [label(name, metric, among=SETUP[:place]) for place, name in enumerate(SETUP)]


def groups_and_steps(metric: str = THROUGHPUT) -> list[QueryVariable]:
    """Return the variables of groups of steps and of steps, initially all."""
    return [
        label("group", metric, among=SETUP, several=True),
        label("step", metric, among=(*SETUP, "group"), several=True),
    ]


def counted_steps() -> list[QueryVariable]:
    """Return the variables of a line's counted steps: the line, groups, steps and the base."""
    metric = full_name(VERSION, FIGURES["instructions/o"])
    names = ("target", "line", "machine_class", "config")
    return [
        *(
            label(name, metric, among=names[:place], only=_COUNTED)
            for place, name in enumerate(names)
        ),
        label("group", metric, among=names, several=True, only=_COUNTED),
        label("step", metric, among=(*names, "group"), several=True, only=_COUNTED),
        label("revision", metric, among=names, only=_COUNTED, variable="base"),
    ]


def step() -> QueryVariable:
    """Return the variable of a single step."""
    return label("step", among=SETUP)


def activity() -> QueryVariable:
    """Return the variable of the DBMS activity."""
    return label("activity", OTHERS["activity"].name, among=(*SETUP, "step"), several=True)


def base() -> QueryVariable:
    """Return the variable of the revision to compare with."""
    return (
        QueryVariable("base")
        .label("Base")
        .datasource(SOURCE)
        .query(f"label_values({THROUGHPUT}{{{_with(SETUP)}}}, revision)")
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.NATURAL_ASC)
    )


def compared_metric() -> QueryVariable:
    """Return the variable of the metric to compare between versions."""
    prefix = f"{PREFIX}{VERSION}_"
    return (
        QueryVariable("metric")
        .label("Metric")
        .datasource(SOURCE)
        .query(f'label_values({{__name__=~"{prefix}.+",step!="",{_with(SETUP)}}}, __name__)')
        .regex(f"/(?<value>{prefix}(?<text>.+))/")
        .current(VariableOption(selected=True, text="operations_per_second", value=THROUGHPUT))
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
    )


def how_many() -> CustomVariable:
    """Return the variable of the number of shown versions."""
    return (
        CustomVariable("newest")
        .label("Newest versions")
        .values("12,25,50,1000")
        .current(VariableOption(selected=True, text="12", value="12"))
    )


def view() -> CustomVariable:
    """Return the variable of the time of values: of the run, or of the revision."""
    return (
        CustomVariable("view")
        .label("By time of")
        .values(f"{REVISION},{RUN}")
        .current(VariableOption(selected=True, text=REVISION, value=REVISION))
    )


def workload_version() -> QueryVariable:
    """Return the variable of the workload's version."""
    return label("workload_version", among=SETUP)


def pipeline() -> QueryVariable:
    """Return the variable of pipelines."""
    return label("pipeline", OTHERS["night_timestamp_seconds"].name, several=True)
