"""The texts of check run, comment and issue for eight outcomes, as files to read.

``NIGHTSHIFT_GOLDEN=write pytest tests/notify/github/test_golden.py`` writes the files again.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pipeline.model import Regression, RegressionState
from pipeline.notify.base import Cause, Notice
from pipeline.notify.base.text import Facts, by_label, notice
from tests.notify.answers import levels, measured, not_measured
from tests.notify.github import test_command, test_pulls
from tests.notify.github.test_command import Say
from tests.notify.github.test_pulls import BOT, Hub, Publish
from tests.notify.github.world import World
from tests.notify.samples import WORSE, stated

hub, publish, say = test_pulls.hub, test_pulls.publish, test_command.say

FOLDER = Path(__file__).parent / "golden"

SCAN = levels("scan_range=100", "qps", 0.001)
SLOWER = measured(SCAN, levels(change=0.1))
SUSPECTED, CONFIRMED, ACKNOWLEDGED, RESOLVED = (
    RegressionState.SUSPECTED,
    RegressionState.CONFIRMED,
    RegressionState.ACKNOWLEDGED,
    RegressionState.RESOLVED,
)


class Golden(NamedTuple):
    """An outcome: the answer of a pull request, and the states of a night's regression."""

    answer: Any = None
    states: tuple[RegressionState, ...] = ()
    accepted: bool = False


OUTCOMES = {
    "no-change": Golden(measured(SCAN, levels())),
    "regression": Golden(SLOWER, (CONFIRMED,)),
    "improvement": Golden(measured(SCAN, levels(change=-0.2)), (CONFIRMED, RESOLVED)),
    "could-not-build": Golden(
        not_measured(
            "sqlite3.c:17: error: expected ';'",
            "build",
        )
    ),
    "infrastructure-trouble": Golden(not_measured("the measurement was stopped")),
    "undecided": Golden(measured(SCAN, levels(change=0.1, control=0.1)), (SUSPECTED,)),
    "waiting": Golden(),
    "accepted": Golden(SLOWER, (CONFIRMED, ACKNOWLEDGED), accepted=True),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_what_people_read_for_an_outcome(
    hub: Hub, publish: Publish, say: Say, world: World, name: str
) -> None:
    wanted = OUTCOMES[name]
    text = "\n\n".join([*_pull_request(hub, publish, say, wanted), *_issue(world, wanted)])
    text = _same_each_time(text) + "\n"
    file = FOLDER / f"{name}.md"
    if os.environ.get("NIGHTSHIFT_GOLDEN") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert file.read_text() == text


def _pull_request(hub: Hub, publish: Publish, say: Say, wanted: Golden) -> list[str]:
    """Return the check run, and the comment of a pull request that had a regression before."""
    if wanted.answer is None:
        say("/nightshift")
        comments = []
    else:
        publish(SLOWER, "--target", "sqlite", "--class", "small", of=hub.measure())
        publish(wanted.answer, "--target", "sqlite", "--class", "small", of=hub.measure())
        if wanted.accepted:
            say("/nightshift accept checksums of pages are worth it")
        comments = [each.body for each in hub.comments if each.user == BOT]
    check = hub.checks[-1]
    shown = f"{check.name}: {check.conclusion or check.status}"
    return [
        f"# CHECK RUN {shown}",
        f"**{check.title}**",
        check.summary or "",
        "# COMMENT" + ("" if comments else ": none"),
        *comments,
    ]


def _issue(world: World, wanted: Golden) -> list[str]:
    """Return the issue and its comments after nights in which a regression had these states."""
    for state in wanted.states:
        world.times.pass_by(days=1)
        cause = Cause(regressions=(stated(WORSE, state),))
        sink = world.sink()
        list(sink.decisions())
        sink.report([cause], _words, suspected=False)
    issues = world.repository.listed()
    if not issues:
        return ["# ISSUE: none"]
    (issue,) = issues
    comments = [each.body for each in world.repository.comments_of(issue.number)]
    labels = ", ".join(issue.labels)
    return [
        f"# ISSUE, {issue.state}, labels {labels}",
        f"**{issue.title}**",
        issue.body or "",
        *(f"## COMMENT ON THE ISSUE\n\n{each}" for each in comments),
    ]


def _words(regression: Regression, beside: Any) -> Notice:
    facts = Facts(
        reproduce="nightshift compare postgres:17.10 postgres:17.11 --step scan",
        decide=by_label("acknowledged", regression.state),
    )
    return notice(regression, beside, facts)


def _same_each_time(text: str) -> str:
    """Return the text without the port of the fake and identities."""
    text = re.sub(r"https?://127\.0\.0\.1:\d+", "https://github.com", text)
    return re.sub(r"(runs/|check-runs/|issuecomment-)\d+", r"\g<1>N", text)
