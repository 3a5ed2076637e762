"""Kinds of panels, with the same look on every dashboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grafana_foundation_sdk.builders import common as build
from grafana_foundation_sdk.builders.dashboard import (
    DashboardLink,
    FieldColor,
    ThresholdsConfig,
)
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.builders.stat import Panel as Stat
from grafana_foundation_sdk.builders.table import Panel as Table
from grafana_foundation_sdk.builders.timeseries import Panel as TimeSeries
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    GraphDrawStyle,
    GraphGradientMode,
    GraphThresholdsStyleMode,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    StackingMode,
    TableCellBackgroundDisplayMode,
    TableColoredBackgroundCellOptions,
    TooltipDisplayMode,
    VisibilityMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColorModeId,
    ValueMapping,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards import look
from dashboards.variables import SOURCE

VALUE = "Value"
"""Grafana's name of the value column for one query; for several queries it is ``Value #A``."""


def chart(
    title: str,
    description: str,
    queries: Mapping[str, str],
    *,
    unit: str,
    link: DashboardLink | None = None,
    thresholds: ThresholdsConfig | None = None,
    one_color_each: bool = True,
) -> TimeSeries:
    """Return a chart over time of expressions, by their legends.

    Measured points are drawn as points and connected. Each query has its own colour, except for a
    single query with many series.
    """
    panel = (
        TimeSeries()
        .title(title)
        .description(description)
        .unit(unit)
        .datasource(SOURCE)
        .draw_style(GraphDrawStyle.LINE)
        .line_width(1)
        .fill_opacity(0)
        .gradient_mode(GraphGradientMode.NONE)
        .show_points(VisibilityMode.ALWAYS)
        .point_size(5)
        .span_nulls(True)
        .tooltip(build.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.ASCENDING))
        .legend(
            build.VizLegendOptions()
            .display_mode(LegendDisplayMode.LIST)
            .placement(LegendPlacement.BOTTOM)
            .show_legend(True)
        )
        .thresholds(thresholds or look.no_limits())
        .color_scheme(FieldColor().mode(FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
    )
    if thresholds is not None:
        panel.thresholds_style(
            build.GraphThresholdsStyleConfig().mode(GraphThresholdsStyleMode.DASHED)
        )
    if link is not None:
        panel.data_links([link])
    for place, (legend, expression) in enumerate(queries.items()):
        name = chr(ord("A") + place)
        panel.with_target(Dataquery().expr(expression).legend_format(legend).range().ref_id(name))
        if one_color_each:
            color = {"mode": "fixed", "fixedColor": look.CYCLE[place % len(look.CYCLE)]}
            panel.override_by_query(name, [DynamicConfigValue("color", color)])
    return panel


def bars(panel: TimeSeries, *, stacked: bool = False) -> TimeSeries:
    """Draw a chart as bars, for counted values."""
    panel.draw_style(GraphDrawStyle.BARS).fill_opacity(80)
    if stacked:
        panel.stacking(build.StackingConfig().mode(StackingMode.NORMAL).group("A"))
    return panel


def stat(
    title: str,
    description: str,
    expression: str,
    *,
    unit: str,
    thresholds: ThresholdsConfig,
    legend: str = "{{pipeline}}",
    decimals: int | None = None,
    mappings: Sequence[ValueMapping] = (),
) -> Stat:
    """Return a panel with one value for each series of an expression, at the end of the range."""
    panel = (
        Stat()
        .title(title)
        .description(description)
        .unit(unit)
        .datasource(SOURCE)
        .thresholds(thresholds)
        .color_scheme(FieldColor().mode(FieldColorModeId.THRESHOLDS))
        .color_mode(BigValueColorMode.VALUE)
        .reduce_options(build.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .mappings(list(mappings))
        .no_value("none")
        .with_target(Dataquery().expr(expression).legend_format(legend).instant().ref_id("A"))
    )
    return panel if decimals is None else panel.decimals(decimals)


class TableColumn:
    """The display of a table's field: title, unit, limits, link."""

    def __init__(
        self,
        title: str,
        *,
        unit: str | None = None,
        decimals: int | None = None,
        thresholds: ThresholdsConfig | None = None,
        links: Sequence[DashboardLink] = (),
        width: int | None = None,
        mappings: Sequence[ValueMapping] = (),
    ) -> None:
        self.title = title
        properties = {
            "unit": unit,
            "decimals": decimals,
            "thresholds": thresholds and thresholds.build(),
            "custom.cellOptions": thresholds and _colored(),
            "links": [link.build() for link in links] or None,
            "custom.width": width,
            "mappings": list(mappings) or None,
        }
        self.properties = [
            DynamicConfigValue(name, value)
            for name, value in properties.items()
            if value is not None
        ]


def relative_column(title: str) -> TableColumn:
    """Return the column of a relative QPS."""
    return TableColumn(
        title, unit=look.RATIO, decimals=3, thresholds=look.relative_limits(), width=90
    )


def table(
    title: str,
    description: str,
    queries: Sequence[str],
    columns: Mapping[str, TableColumn],
    *,
    by: str,
    descending: bool = False,
) -> Table:
    """Return a table of the newest values, a row for each set of labels, worst first.

    ``columns`` are the shown fields, in order; fields are labels and ``Value``, or ``Value #A`` ...
    with several queries, whose rows are joined by equal labels. Rows are sorted by the field
    ``by``, which need not be shown.
    """
    panel = _table(title, description, queries)
    if len(queries) > 1:
        panel.with_transformation(DataTransformerConfig("merge", options={}))
    panel.with_transformation(
        DataTransformerConfig(
            "sortBy", options={"fields": {}, "sort": [{"field": by, "desc": descending}]}
        )
    )
    shown = dict.fromkeys(columns, True)
    panel.with_transformation(
        DataTransformerConfig("filterFieldsByName", options={"include": {"names": list(shown)}})
    )
    panel.with_transformation(
        DataTransformerConfig(
            "organize",
            options={
                "excludeByName": {},
                "indexByName": {name: place for place, name in enumerate(columns)},
                "renameByName": {name: column.title for name, column in columns.items()},
            },
        )
    )
    for column in columns.values():
        panel.override_by_name(column.title, column.properties)
    return panel


def grid(
    title: str,
    description: str,
    expression: str,
    *,
    unit: str,
    decimals: int | None,
    thresholds: ThresholdsConfig | None,
    link: DashboardLink,
) -> Table:
    """Return a heat map of steps by versions: a coloured table with the value in each cell.

    The expression has the labels ``step``, ``revision`` and ``place``, which orders the versions.
    """
    corner = "step\\revision"  # as Grafana names the first column
    panel = _table(title, description, [expression]).unit(unit)
    if decimals is not None:
        panel.decimals(decimals)
    if thresholds is not None:
        panel.thresholds(thresholds).cell_options(_colored())
    for transformation in (
        DataTransformerConfig("sortBy", options={"fields": {}, "sort": [{"field": "place"}]}),
        DataTransformerConfig(
            "groupingToMatrix",
            options={
                "columnField": "revision",
                "rowField": "step",
                "valueField": VALUE,
                "emptyValue": "null",
            },
        ),
        DataTransformerConfig("sortBy", options={"fields": {}, "sort": [{"field": corner}]}),
        DataTransformerConfig(
            "organize",
            options={"excludeByName": {}, "indexByName": {}, "renameByName": {corner: "step"}},
        ),
    ):
        panel.with_transformation(transformation)
    return panel.override_by_name(
        "step",
        [
            DynamicConfigValue("links", [link.build()]),
            DynamicConfigValue("custom.cellOptions", {"type": "auto"}),
            DynamicConfigValue("custom.width", 260),
        ],
    )


def _table(title: str, description: str, queries: Sequence[str]) -> Table:
    panel = (
        Table()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .thresholds(look.no_limits())
        .color_scheme(FieldColor().mode(FieldColorModeId.THRESHOLDS))
        .filterable(True)
    )
    for place, expression in enumerate(queries):
        panel.with_target(
            Dataquery()
            .expr(expression)
            .instant()
            .format(PromQueryFormat.TABLE)
            .ref_id(chr(ord("A") + place))
        )
    return panel


def _colored() -> TableColoredBackgroundCellOptions:
    return TableColoredBackgroundCellOptions(mode=TableCellBackgroundDisplayMode.BASIC)
