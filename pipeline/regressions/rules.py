"""Detection rules: thresholds and mutes that decide which changes are reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from changepoint import budget
from pipeline.config import DetectSection, RuleSection
from pipeline.config.analyse import Method
from pipeline.model import Frozen, Pattern, SeriesKey
from pipeline.regressions.counted import is_counted
from pipeline.storage.series import Series

NIGHTS = 30.0
"""Assumed number of nights a month in which every series gets a new position. It converts the
number of wrong issues a month into a threshold; lines that grow less often raise fewer alarms."""

USUAL_ALARMS = 0.5
"""The largest ``alarms_per_1000`` derived from the budget. A setup with few series could afford
more alarms, but would find hardly anything more."""


class DetectionSettings(Frozen):
    """The detection settings of one series: ``[detect]`` and ``[[rule]]`` in the configuration."""

    min_effect: float = 0.03
    creep: float = 0.05
    alarms_per_1000: float = USUAL_ALARMS
    direction: Literal["worse", "better", "both"] = "both"
    method: Method = "default"
    mute: bool = False

    def reports(self, *, worse: bool) -> bool:
        """Whether a change in this direction is reported."""
        return self.direction in ("both", "worse" if worse else "better")


class Rules:
    """The thresholds and mutes that decide which changes of a series are reported.

    A mute in the journal overrides the configuration file: it is more recent, and it expires.
    """

    def __init__(
        self,
        settings: DetectSection,
        rules: Sequence[RuleSection] = (),
        muted: Sequence[Pattern] = (),
    ) -> None:
        self._settings, self._muted = settings, muted
        # The most specific rule applies last; of equals, the last in the file.
        self._rules = sorted(rules, key=lambda rule: specificity(rule.pattern))

    def unmuted(self, series: Sequence[Series]) -> list[Series]:
        """Return the series that are not muted."""
        return [one for one in series if not self.settings_of(one.key, len(series)).mute]

    def settings_of(self, key: SeriesKey, series: int) -> DetectionSettings:
        """Return the detection settings of one series. More timed series mean stricter limits.

        A counted series raises no false alarms, so it takes no part in the budget.
        """
        chosen = {
            "min_effect": self._settings.smallest(key.mode),
            "creep": self._settings.creep,
            "alarms_per_1000": self.alarms_per_1000(series),
            "method": self._settings.method,
        }
        for rule in self._rules:
            if rule.pattern.matches(key):
                settings = rule.model_dump(
                    include=set(DetectionSettings.model_fields), exclude_none=True
                )
                chosen |= settings
        if any(pattern.matches(key) for pattern in self._muted):
            chosen["mute"] = True
        if is_counted(key):
            chosen["alarms_per_1000"] = 0.0
        return DetectionSettings.model_validate(chosen)

    def alarms_per_1000(self, series: int) -> float:
        """Return the default false-alarm rate per 1000 nights for this many timed series."""
        if self._settings.alarms_per_1000 is not None:
            return self._settings.alarms_per_1000
        wrong = self._settings.wrong_issues_per_month
        return min(budget(max(series, 1), NIGHTS, wrong), USUAL_ALARMS)


def specificity(pattern: Pattern) -> tuple[int, int]:
    """Return how specific the pattern of a rule is; the most specific rule wins."""
    named = [text for _, text in pattern if text != "*"]
    return len(named), sum(letter not in "*?[]" for text in named for letter in text)
