"""The most specific rule wins, setting by setting."""

from __future__ import annotations

import pytest

from pipeline.config import DetectSection, RuleSection
from pipeline.model import Pattern
from pipeline.regressions.rules import DetectionSettings, Rules
from tests.regressions.samples import find_shifts, key, series

SETTINGS = DetectSection(alarms_per_1000=0.5)


def rule(**settings: object) -> RuleSection:
    return RuleSection.model_validate(settings)


def test_without_rules_the_settings_hold() -> None:
    assert Rules(SETTINGS).settings_of(key(), 10) == DetectionSettings(
        min_effect=0.03, alarms_per_1000=0.5
    )


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([rule(step="scan", min_effect="5%"), rule(min_effect="9%")], 0.05),
        ([rule(min_effect="9%"), rule(step="scan", min_effect="5%")], 0.05),
        ([rule(step="s*", min_effect="9%"), rule(step="sc*", min_effect="5%")], 0.05),
        ([rule(step="scan", min_effect="9%"), rule(step="s*", line="m*", min_effect="5%")], 0.05),
        ([rule(step="scan", min_effect="9%"), rule(line="mino", min_effect="5%")], 0.09),
        ([rule(step="scan", min_effect="9%"), rule(step="scan", min_effect="5%")], 0.05),
        ([rule(target="mysql", min_effect="9%")], 0.03),
        ([rule(step="scan", mute=True), rule(min_effect="9%")], 0.09),
    ],
)
def test_the_most_specific_rule_wins(rules: list[RuleSection], expected: float) -> None:
    assert Rules(SETTINGS, rules).settings_of(key(), 10).min_effect == pytest.approx(expected)


def test_a_line_can_have_a_method_of_its_own() -> None:
    """Otava's method does not find a level of one position; the default does."""
    dip = series([100.0] * 5 + [80.0] + [100.0] * 5)
    rules = Rules(SETTINGS, [rule(line=dip.key.line, method="hunter")])
    usual = find_shifts(dip, Rules(SETTINGS).settings_of(dip.key, 1))
    assert [shift.position for shift in usual] == [5, 6]
    assert not find_shifts(dip, rules.settings_of(dip.key, 1))
    everywhere = DetectSection(alarms_per_1000=0.5, method="edivisive")
    assert Rules(everywhere).settings_of(dip.key, 1).method == "edivisive"


def test_what_is_muted_is_not_heard() -> None:
    quiet = rule(metric="cpu_us/o", mute=True)
    some = [series([1.0] * 4, "qps"), series([1.0] * 4, "cpu_us/o")]
    assert Rules(SETTINGS, [quiet]).unmuted(some) == some[:1]
    assert (
        Rules(SETTINGS, [quiet, rule(metric="cpu*", step="scan", mute=False)]).unmuted(some) == some
    )
    # What was muted by verb is muted, whatever the file says.
    loud = rule(target="postgres", step="scan", metric="qps", mute=False)
    assert Rules(SETTINGS, [loud], [Pattern(step="sc*")]).unmuted(some) == []


def test_only_the_direction_that_is_watched_is_reported() -> None:
    both = series([100.0] * 6 + [130.0] * 6 + [90.0] * 6)
    for direction, reported in [("both", [False, True]), ("worse", [True]), ("better", [False])]:
        watch = Rules(SETTINGS, [rule(direction=direction)]).settings_of(both.key, 1)
        assert [shift.worse for shift in find_shifts(both, watch)] == reported


def test_the_budget_gives_the_threshold() -> None:
    """4000 series on 30 nights are 120,000 searches."""
    rules = Rules(DetectSection(wrong_issues_per_month=6))
    assert rules.alarms_per_1000(4000) == pytest.approx(0.05)
    assert rules.alarms_per_1000(10) == 0.5, "few series buy no more than is usual"
    assert rules.alarms_per_1000(0) == 0.5
    assert Rules(DetectSection(alarms_per_1000=2)).alarms_per_1000(4000) == 2
    own = Rules(DetectSection(), [rule(step="scan", alarms_per_1000=3)])
    assert own.settings_of(key(), 4000).alarms_per_1000 == 3
    assert own.settings_of(key("other"), 4000).alarms_per_1000 == pytest.approx(1000 / 120_000)
