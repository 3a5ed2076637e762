"""What counts as a change, and how it is measured again."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.config.base import Section
from pipeline.model import Pattern
from pipeline.units import Duration, Percent


class DetectSection(Section):
    """What counts as a change."""

    metrics: tuple[str, ...] = Field(
        default=("qps", "cpu_us/o"), min_length=1, description="the metrics that are looked at"
    )
    wrong_issues_per_month: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="the false-alarm budget: issues about nothing that may be filed in a month",
    )
    alarms_per_1000: float | None = Field(
        default=None,
        gt=0,
        lt=100,
        description="false alarms to expect of one series in 1000 nights; if not set, what follows "
        "from the budget, and at most 0.5",
    )
    min_effect: Percent = Field(
        default=0.03,
        description="smallest change worth a word",
        json_schema_extra={"default": "3%"},
    )


class ConfirmSection(Section):
    """How suspected regressions are measured again."""

    smallest_effect: Percent = Field(
        default=0.02,
        gt=0,
        lt=1,
        description="smallest change that is confirmed, and that is excluded to reject",
        json_schema_extra={"default": "2%"},
    )
    budget: Duration = Field(
        default=180.0,
        description="measured time of one regression",
        json_schema_extra={"default": "3m"},
    )
    night: Duration = Field(
        default=300.0,
        description="measured time of all regressions of a night, worst first",
        json_schema_extra={"default": "5m"},
    )
    blocks: int = Field(
        default=40, ge=3, le=200, description="blocks after which it is left undecided"
    )
    figures: int = Field(
        default=6, ge=1, le=50, description="only so many figures, those that changed most"
    )


class BisectSection(Section):
    """How the culprits of confirmed regressions are searched."""

    night: Duration = Field(
        default=1800.0,
        description="measured time of all bisections of a night; 0 for none",
        json_schema_extra={"default": "30m"},
    )


class RuleSection(Section):
    """What counts as a change in some series, where that is not as in [detect].

    Of several rules that say something of a series the most specific one wins.
    """

    target: str = Field(default="*", description="of which targets: a shell pattern")
    line: str = Field(default="*", description="of which lines")
    workload: str = Field(default="*", description="of which workloads")
    step: str = Field(default="*", description='of which steps, as "scan*"')
    metric: str = Field(default="*", description="of which metrics")
    min_effect: Percent | None = Field(default=None, description="smallest change worth a word")
    alarms_per_1000: float | None = Field(
        default=None,
        gt=0,
        lt=100,
        description="false alarms to expect of one series in 1000 nights",
    )
    mute: bool | None = Field(default=None, description="whether nothing is told of them")
    direction: Literal["worse", "better", "both"] | None = Field(
        default=None, description="which changes are told: worse, better or both"
    )

    @property
    def pattern(self) -> Pattern:
        """The series that are meant."""
        return Pattern(**{name: getattr(self, name) for name in Pattern.model_fields})
