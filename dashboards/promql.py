"""PromQL expressions for points that are days apart, each with an explicit time range.

The default range of 5 minutes would find nothing. A corrected value is published a millisecond
after the first, so ``last_over_time`` returns the corrected one.
"""

from __future__ import annotations

from pipeline.model.metrics import METRICS, Direction
from pipeline.publish.names import (
    COMPARED,
    FIGURES,
    OTHERS,
    RELATIVE,
    REVISION,
    SERIES_LABELS,
    VERSION,
    full_name,
)

SETUP = (
    'target="$target",line="$line",machine_class="$machine_class",'
    'workload="$workload",config="$config",clients="$clients"'
)
"""Matchers of the chosen line and machine class."""

STEPS = f'{SETUP},group=~"$group",step=~"$step"'
"""The same, limited to the chosen steps."""

_LINE = (
    'target="$target",line="$line",machine_class="$machine_class",config="$config",'
    'group=~"$group",step=~"$step"'
)

COUNTED = f'{_LINE},mode="count"'
"""Matchers of the counted steps of the chosen line, whatever their workload."""

TIMED = f'{_LINE},mode=""'
"""The same of the timed steps."""

EITHER = "${view}"
"""The chosen view: by time of the run, or of the revision."""

_SERIES = ", ".join(SERIES_LABELS)

_NOW = "@ end() offset -$__interval"
"""The end of the time range; the end of Grafana's axis may be days earlier."""


def figure(view: str, metric: str, matchers: str = STEPS) -> str:
    """Return the selector of a metric of the store in a view."""
    published = FIGURES[metric]
    labels = "".join(f',{label}="{value}"' for label, value in published.labels.items())
    return f"{full_name(view, published)}{{{matchers}{labels}}}"


def other(name: str, matchers: str = "") -> str:
    """Return the selector of a metric in OTHERS, which is not measured in steps."""
    return f"{OTHERS[name].name}{{{matchers}}}"


def relative(stat: str = "median", matchers: str = STEPS) -> str:
    """Return the selector of the relative QPS of revisions."""
    return other(f"{REVISION}_{RELATIVE}", f'{matchers},stat="{stat}"')


def newest(selector: str) -> str:
    """Return the last value of each series in the time range of the dashboard."""
    return f"last_over_time({selector}[$__range])"


def ever(selector: str) -> str:
    """Return the last value of each series, in the time range or before, because a state lasts."""
    return f"last_over_time({selector}{EVER})"


def points(selector: str) -> str:
    """Return the values of each series, each once, anywhere in the time range.

    Each place of the axis shows the last value between itself and the next place. Only by looking
    forward the newest value is visible: Grafana's axis ends at a whole interval, which may be a
    week before now.
    """
    return f"last_over_time({selector}[$__interval] offset -$__interval)"


def over_its_mean(selector: str) -> str:
    """Return the values of each series divided by its mean in the time range; 0 if all are 0."""
    mean = f"avg_over_time({selector}[$__range] {_NOW})"
    return f"{points(selector)} / clamp_min({mean}, 1e-9)"


def age(selector: str) -> str:
    """Return the seconds since the newest of the published times, by pipeline."""
    return f"time() - max by (pipeline) ({newest(selector)})"


def median(labels: str, expression: str) -> str:
    """Return the median of the series that share the labels."""
    return f"quantile by ({labels}) (0.5, {expression})"


def over_base(view: str, metric: str, matchers: str = STEPS) -> str:
    """Return a metric in a view over the median of the base revision's runs."""
    base = figure(VERSION, metric, f'{matchers},revision="$base"')
    return (
        f"{points(figure(view, metric, matchers))} / on ({_SERIES}) group_left () "
        f"last_over_time({base}{EVER} {_NOW})"
    )


def newest_version_over_base(metric: str, matchers: str) -> str:
    """Return a metric of each step in the revision with the last place over that of the base."""
    base = last(figure(VERSION, metric, f'{matchers},revision="$base"'))
    places = last(other("version_position", 'target="$target",line="$line"'))
    return (
        f"({last(figure(VERSION, metric, matchers))} "
        f"and on (target, line, revision) topk(1, {places})) / on ({_SERIES}) {base}"
    )


def versions_over_base(metric: str, matchers: str) -> str:
    """Return a metric of every version over that of the base."""
    base = last(figure(VERSION, metric, f'{matchers},revision="$base"'))
    of_versions = last(figure(VERSION, metric, matchers))
    return _in_order(f"{of_versions} / on ({_SERIES}) group_left () {base}")


def change_points(view: str, matchers: str) -> str:
    """Return 1 for each current change point, with its effect in percent as the label ``percent``.

    An annotation has only labels, no value; a change point that is no longer found is published as
    0.
    """
    name = OTHERS["revision_change_point_effect_ratio"].name.replace(REVISION, view, 1)
    held = points(f"{name}{{{matchers}}}")
    return (
        "count_values by (line, step, metric, kind, worse, fingerprint) "
        f'("percent", round(100 * {held}) != 0)'
    )


# --- versions against each other --------------------------------------------------------

EVER = "[20y]"
"""Every revision of a line, whatever the time range: a base may be older than the shown range."""

_COSTS = "|".join(
    full_name(VERSION, FIGURES[metric])
    for metric in COMPARED
    if METRICS[metric].direction is Direction.LESS_IS_BETTER
)


def versions_of(metric: str) -> str:
    """Return one metric of every version, in base units, of the chosen steps."""
    return _in_order(last(figure(VERSION, metric)))


def version_values() -> str:
    """Return the chosen metric of every version, in base units."""
    return _in_order(_chosen())


def version_ratios() -> str:
    """Return the chosen metric of every version relative to the base.

    For costs the ratio is inverted: below 1 is worse in every metric.
    """
    base = _chosen(',revision="$base"')
    more, less = _chosen(f',__name__!~"{_COSTS}"'), _chosen(f',__name__=~"{_COSTS}"')
    return _in_order(
        f"{more} / on ({_SERIES}) group_left () {base} "
        f"or {base} / on ({_SERIES}) group_right () {less}"
    )


def newest_over_first(matchers: str) -> str:
    """Return the throughput of the newest revision of each step over that of the first.

    Revisions are ordered by position, because releases of one day have no order in time.
    """
    ends = (last(other(f"{end}_operations_per_second", matchers)) for end in ("newest", "first"))
    return " / ".join(ends)


def newest_over_base(matchers: str = STEPS) -> str:
    """Return the throughput of the newest revision of each step over that of the base."""
    base = last(figure(VERSION, "qps", f'{matchers},revision="$base"'))
    newest_ones = last(other("newest_operations_per_second", matchers))
    return f"{newest_ones} / on ({_SERIES}) {base}"


def last(selector: str) -> str:
    """Return the last value of each series, of any age."""
    return f"last_over_time({selector}{EVER})"


def _chosen(more: str = "") -> str:
    selector = f'{{__name__="$metric",{STEPS},workload_version="$workload_version"{more}}}'
    return last(selector)


def _in_order(expression: str) -> str:
    """Keep the newest versions and the base, with their position as the label ``place``.

    Positions have seven digits, so that they are in order as text.
    """
    line = 'target="$target",line="$line"'
    places, base = (
        last(other("version_position", matchers)) for matchers in (line, f'{line},revision="$base"')
    )
    return (
        f"({expression}) * on (target, line, revision) group_left (place) "
        'count_values by (target, line, revision) ("place", 1000000 + '
        f"(topk($newest, {places}) or {base}))"
    )
