"""What counts as a change in a series: the settings, more specific rules, the mutes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from changepoint import budget
from pipeline.config import DetectSection, RuleSection
from pipeline.model import Frozen, Pattern, Series, SeriesKey

NIGHTS = 30.0
"""Nights a month in which every series gets a new position, for turning wrong issues a month into a
threshold. Lines that grow less often alarm less often."""

USUAL_ALARMS = 0.5
"""The most ``alarms_per_1000`` that the budget alone gives: a setup of few series could bear more,
and would hardly find more."""


class Watch(Frozen):
    """How one series is watched: see ``[detect]`` and ``[[rule]]`` in docs/configuration.md."""

    min_effect: float = 0.03
    alarms_per_1000: float = USUAL_ALARMS
    direction: Literal["worse", "better", "both"] = "both"
    mute: bool = False

    def tells(self, *, worse: bool) -> bool:
        """Say whether a change for the worse, or for the better, is told."""
        return self.direction in ("both", "worse" if worse else "better")


class Rules:
    """The settings, the rules of the file, and what was muted by verb.

    A mute of the journal mutes whatever the file says: it was given last, and it ends.
    """

    def __init__(
        self,
        settings: DetectSection,
        rules: Sequence[RuleSection] = (),
        muted: Sequence[Pattern] = (),
    ) -> None:
        self._settings, self._muted = settings, muted
        # The most specific one last; of equals, that which stands last in the file.
        self._rules = sorted(rules, key=lambda rule: specificity(rule.pattern))

    def heard(self, series: Sequence[Series]) -> list[Series]:
        """Return the series that are not muted."""
        return [one for one in series if not self.watch(one.key, len(series)).mute]

    def watch(self, key: SeriesKey, series: int) -> Watch:
        """Return how a series is watched that is one of so many."""
        said = {
            "min_effect": self._settings.min_effect,
            "alarms_per_1000": self.alarms_per_1000(series),
        }
        for rule in self._rules:
            if rule.pattern.matches(key):
                settings = rule.model_dump(include=set(Watch.model_fields), exclude_none=True)
                said |= settings
        if any(pattern.matches(key) for pattern in self._muted):
            said["mute"] = True
        return Watch.model_validate(said)

    def alarms_per_1000(self, series: int) -> float:
        """Return the threshold for so many series, where no rule has its own."""
        if self._settings.alarms_per_1000 is not None:
            return self._settings.alarms_per_1000
        wrong = self._settings.wrong_issues_per_month
        return min(budget(max(series, 1), NIGHTS, wrong), USUAL_ALARMS)


def specificity(pattern: Pattern) -> tuple[int, int]:
    """Return how specific a pattern is: how much of a series it names, and by how many letters."""
    named = [text for _, text in pattern if text != "*"]
    return len(named), sum(letter not in "*?[]" for text in named for letter in text)
