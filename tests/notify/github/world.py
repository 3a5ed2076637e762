"""A repository on a fake GitHub, nights that report regressions to it, and a clock for both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from pipeline.config import GithubSection
from pipeline.model import Culprit, Regression, RegressionState
from pipeline.notify.base import Cause, Notice, PersonDecision, SinkResult
from pipeline.notify.base.preview import Show
from pipeline.notify.github.client import GithubClock
from pipeline.notify.github.failures import CutError
from pipeline.notify.github.sink import GithubSink
from pipeline.notify.github.transport import GithubResponse, Transport
from tests.fakes.github import FakeGithub
from tests.notify.samples import regression as grouped
from tests.regressions.samples import shift

TOKEN = "ghs_" + 36 * "x"
BOT = "github-actions[bot]"
NAME = "acme/bench"

CONFIRMED, RESOLVED = RegressionState.CONFIRMED, RegressionState.RESOLVED

SAMPLES = [grouped(*(shift(11, -0.2, step=f"s{n}") for n in range(size))) for size in range(1, 6)]
"""Regressions of one series, of two and so on."""


class Times:
    """A clock that only sleeping and tests move on."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 2, 0, tzinfo=UTC)
        self.slept: list[float] = []

    def pass_by(self, **much: float) -> None:
        self.now += timedelta(**much)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)

    def seconds(self) -> float:
        return self.now.timestamp()

    def clock(self) -> GithubClock:
        return GithubClock(
            monotonic=self.seconds,
            sleep=self.sleep,
            jitter=lambda: 0.5,
            now=lambda: self.now,
        )


def through(fake: FakeGithub, token: str = TOKEN) -> Transport:
    """Send to a fake without a network between, as :func:`pygithub` would."""

    def send(method: str, path: str, query: Mapping[str, Any], payload: Any) -> GithubResponse:
        target = path.removeprefix(fake.base)
        if query:
            target += f"?{urlencode(query)}"
        headers = {"user-agent": "nightshift", "authorization": f"token {token}"}
        body = b"" if payload is None else json.dumps(payload).encode()
        sent, _ = fake.handle(method, target, headers, body)
        if sent is None:
            raise CutError("the connection was cut")
        said = {name.lower(): value for name, value in sent.headers.items()}
        if sent.status == 301:
            return send(method, said["location"], {}, payload)
        return GithubResponse(sent.status, said, json.loads(sent.body) if sent.body else None)

    return send


def regression(
    name: str, state: RegressionState = CONFIRMED, *, culprit: str = "", series: int = 1
) -> Regression:
    """Return a regression of which ``series`` series changed; ``name`` is its fingerprint."""
    named = Culprit(revision=culprit, parent="17.9", probability=1.0, confirmed=True)
    return SAMPLES[series - 1].model_copy(
        update={"fingerprint": name, "state": state, "culprit": named if culprit else None}
    )


def words(regression: Regression, beside: Sequence[Regression]) -> Notice:
    """Word a regression so that everything of it that can change is in the text."""
    named = f"culprit {regression.culprit.revision}\n" if regression.culprit else ""
    return Notice(
        regression=regression,
        title=f"{regression.state.value.capitalize()} regression {regression.fingerprint}",
        body=f"**It is {regression.state.value}.**\n\n{len(regression.shifts)} series\n{named}"
        + "".join(f"- {one.fingerprint} {one.state.value}\n" for one in beside),
        summary=f"{regression.fingerprint} is slower",
        beside=tuple(beside),
    )


@dataclass
class World:
    """A fake GitHub with one repository, and the results folder of a nightshift."""

    results: Path
    times: Times = field(default_factory=Times)
    section: GithubSection = field(default_factory=lambda: GithubSection(repository=NAME))

    def __post_init__(self) -> None:
        self.fake = FakeGithub(lambda: self.times.now)
        self.repository = self.fake.repository(NAME)
        self.repository.access.roles["alice"] = "write"
        self.fake.account(TOKEN, BOT)
        self.transport = through(self.fake)

    def sink(self, show: Show | None = None) -> GithubSink:
        return GithubSink(
            self.section,
            self.results,
            TOKEN,
            show=show,
            clock=self.times.clock(),
            transport=self.transport,
        )

    def night(self, *regressions: Regression, suspected: bool = False) -> SinkResult:
        """Tell regressions, each a cause of its own, a day after the last night."""
        return self.asked_night(*regressions, suspected=suspected)[1]

    def asked_night(
        self, *regressions: Regression, suspected: bool = False
    ) -> tuple[list[PersonDecision], SinkResult]:
        """Return what people decided, too."""
        self.times.pass_by(days=1)
        sink = self.sink()
        decided = list(sink.decisions())
        causes = [Cause(regressions=(one,)) for one in regressions]
        return decided, sink.report(causes, words, suspected=suspected)

    def writes(self) -> list[str]:
        """Return what was sent to be written since this was asked last, as PATCH /issues/1."""
        at = f"/repos/{NAME}"
        sent = [
            f"{each.method} {each.path.removeprefix(at)}" for each in self.fake.asked if each.writes
        ]
        self.fake.asked.clear()
        return sent

    def bodies(self, number: int) -> list[str]:
        """Return the comments on an issue."""
        return [comment.body for comment in self.repository.comments_of(number)]
