"""The settings for detection, confirmation and bisection: what counts as a change."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.config.base import Section
from pipeline.model import Mode, Pattern
from pipeline.text.units import Duration, Percent

Method = Literal["default", "edivisive", "hunter"]
"""The methods of detection that a user can choose."""


class DetectSection(Section):
    """The table ``[detect]``: which changes are reported, and the budget of false alarms."""

    metrics: tuple[str, ...] = Field(
        default=("qps", "cpu_us/o"),
        min_length=1,
        description="metrics in which detection searches for changes",
    )
    wrong_issues_per_month: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="false-alarm budget: the expected number of wrong issues in a month",
    )
    alarms_per_1000: float | None = Field(
        default=None,
        gt=0,
        lt=100,
        description=(
            "expected false alarms of one series in 1000 nights; by default derived from the "
            "budget, at most 0.5"
        ),
    )
    min_effect: Percent = Field(
        default="3%", validate_default=True, description="smallest change that is reported"
    )
    min_effect_counted: Percent = Field(
        default="0.5%",
        validate_default=True,
        description="smallest change that is reported in series of mode count",
    )
    method: Method = Field(
        default="default",
        description=(
            "how timed series are searched: default, edivisive (permutation tests alone) or hunter "
            "(Apache Otava's method)"
        ),
    )
    creep: Percent = Field(
        default="5%",
        validate_default=True,
        lt=1,
        description=(
            "smallest creep that is reported: a cumulative change against the anchor that no "
            "single step shows; 0% disables the search"
        ),
    )
    creep_since: str = Field(
        default="",
        description=(
            "anchor of creep: a revision, or a date (YYYY-MM-DD) whose first later revision "
            "counts; by default the first revision of a line"
        ),
    )

    def smallest(self, mode: Mode) -> float:
        """Return the smallest relative change to report, for timed or counted series."""
        return self.min_effect_counted if mode is Mode.COUNT else self.min_effect


class ConfirmSection(Section):
    """The table ``[confirm]``: how suspected regressions are measured again."""

    smallest_effect: Percent = Field(
        default="2%",
        validate_default=True,
        gt=0,
        lt=1,
        description=(
            "smallest change of interest: a regression is confirmed above it, and rejected if "
            "it is excluded"
        ),
    )
    smallest_effect_counted: Percent = Field(
        default="0.3%",
        validate_default=True,
        gt=0,
        lt=1,
        description=(
            "smallest change of interest where instructions are counted: as min_effect, for "
            "regressions that counts confirm"
        ),
    )
    budget: Duration = Field(
        default="3m", validate_default=True, description="maximum measured time for one regression"
    )
    night: Duration = Field(
        default="5m",
        validate_default=True,
        description="maximum measured time for all regressions of a night, worst first",
    )
    blocks: int = Field(
        default=40,
        ge=3,
        le=200,
        description=(
            "maximum number of blocks of runs; a regression without a clear result by then is left "
            "undecided"
        ),
    )
    figures: int = Field(
        default=6,
        ge=1,
        le=50,
        description=(
            "maximum number of figures (metrics of steps) that are compared: those that changed "
            "most"
        ),
    )

    def smallest(self, mode: Mode) -> float:
        """Return the smallest relative change that matters, for timed or counted steps."""
        return self.smallest_effect_counted if mode is Mode.COUNT else self.smallest_effect


class BisectSection(Section):
    """The table ``[bisect]``: the time limit of bisecting confirmed regressions."""

    night: Duration = Field(
        default="30m",
        validate_default=True,
        description="maximum measured time for all bisections of a night; 0 disables them",
    )


class RuleSection(Section):
    """A table ``[[rule]]``: detection settings for some series, which override ``[detect]``.

    If several rules apply to a series, the most specific one wins.
    """

    target: str = Field(
        default="*", description="shell pattern: the targets that this rule applies to"
    )
    line: str = Field(default="*", description="shell pattern: the lines that this rule applies to")
    workload: str = Field(
        default="*", description="shell pattern: the workloads that this rule applies to"
    )
    step: str = Field(
        default="*",
        description='shell pattern: the steps that this rule applies to, for example "scan*"',
    )
    metric: str = Field(
        default="*", description="shell pattern: the metrics that this rule applies to"
    )
    min_effect: Percent | None = Field(default=None, description="smallest change that is reported")
    creep: Percent | None = Field(
        default=None, lt=1, description="smallest creep that is reported; 0% disables the search"
    )
    alarms_per_1000: float | None = Field(
        default=None,
        gt=0,
        lt=100,
        description="expected false alarms of one series in 1000 nights",
    )
    method: Method | None = Field(default=None, description="how timed series are searched")
    mute: bool | None = Field(default=None, description="exclude these series from detection")
    direction: Literal["worse", "better", "both"] | None = Field(
        default=None, description="changes that are reported: worse, better or both"
    )

    @property
    def pattern(self) -> Pattern:
        """The pattern of the series that the rule applies to."""
        return Pattern(**{name: getattr(self, name) for name in Pattern.model_fields})
