"""Nights with everything that happens to a night, in a random order that a seed decides.

Regressions appear, grow, are resolved and come back; people label, close, open again, comment and
write into issues; others open issues and pull requests. GitHub answers errors before or after it
did what was asked, limits, cuts connections, does late what it seemed not to do, and lists what was
a while ago. nightshift is killed at any step, and its record is lost.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pipeline.files.atomic_write import write_durably
from pipeline.model import RegressionState
from pipeline.notify.base import Cause, DecisionKind, PersonDecision, SinkResult
from pipeline.notify.github import comments, record
from pipeline.notify.github.failures import CutError
from pipeline.notify.github.issue_text import fingerprint_in, ours
from pipeline.notify.github.responses import Comment
from pipeline.notify.github.transport import GithubResponse
from pipeline.regressions.states import AS_MEASURED, TRANSITIONS
from pipeline.storage.journal import EventKind
from tests.fakes.github import (
    Asked,
    Fault,
    cut,
    failing,
    primary_limit,
    secondary_limit,
)
from tests.fakes.github.things import Issue
from tests.notify.github.world import BOT, CONFIRMED, RESOLVED, World, regression, words

AT_MOST = 3
MOST = 15
"""Regressions of a world."""


def _makes(method: str, path: str) -> bool:
    """Say whether a request makes an issue."""
    return method == "POST" and path.endswith("/issues")


class Killed(BaseException):
    """The process is gone, in the middle of something."""


class Replay:
    """One world, and what should be true of it."""

    def __init__(self, seed: int, results: Path, *, loses: bool) -> None:
        self.chance = random.Random(seed)
        self.world = World(results)
        self.world.section = self.world.section.model_copy(update={"at_most": AT_MOST})
        self.send = self.world.transport
        self.world.transport = self._send
        self.world.fake.fault = self._fault
        self.world.fake.behind = self._behind
        self.loses = loses
        self.states: dict[str, RegressionState] = {}
        self.series: Counter[str] = Counter()
        self.culprits: dict[str, str] = {}
        self.deleted: set[str] = set()
        self.decided: list[PersonDecision] = []
        self.received: list[PersonDecision] = []
        self.faulty = False
        self.kills = False
        self.late: list[tuple[datetime, tuple[Any, ...]]] = []
        self.met: Counter[str] = Counter()

    # --- what goes wrong -------------------------------------------------------------

    def step(self) -> None:
        """Be killed here, now and then."""
        if self.kills and self.chance.random() < 0.02:
            self.met["killed"] += 1
            raise Killed

    def write_durably(self, path: Path, text: str) -> None:
        """Write the record, or be killed before it or after it."""
        self.step()
        write_durably(path, text)
        self.step()

    def _send(
        self, method: str, path: str, query: Mapping[str, Any], payload: Any
    ) -> GithubResponse:
        self.step()
        self._do_late()
        likely = 0.2 if _makes(method, path) else 0.03
        if self.faulty and method != "GET" and self.chance.random() < likely:
            self.met["late"] += 1
            due = self.world.times.now + timedelta(seconds=self.chance.randint(5, 100))
            self.late.append((due, (method, path, query, payload)))
            raise CutError("the connection was cut, and the write is on its way")
        answer = self.send(method, path, query, payload)
        self.step()
        return answer

    def _do_late(self) -> None:
        times, now = self.world.times, self.world.times.now
        due = [each for each in self.late if each[0] <= now]
        self.late = [each for each in self.late if each[0] > now]
        faulty, self.faulty = self.faulty, False
        for at, request in due:
            times.now = at
            self.send(*request)
        times.now, self.faulty = now, faulty

    def _fault(self, asked: Asked) -> Fault | None:
        likely = 0.4 if _makes(asked.method, asked.path) else 0.1
        if not self.faulty or self.chance.random() > likely:
            return None
        soon = int(self.world.times.now.timestamp()) + self.chance.randint(1, 900)
        fault = self.chance.choice(
            [
                failing(500),
                failing(502, done=True),
                failing(503),
                secondary_limit(self.chance.choice([5, 60, 900])),
                secondary_limit(None, status=429),
                primary_limit(soon),
                cut(),
                cut(done=True),
            ]
        )
        self.met[f"{fault.status}{' after' if fault.done else ''}"] += 1
        return fault

    def _behind(self, asked: Asked) -> timedelta | int:
        if not self.faulty or self.chance.random() > 0.8:
            return 0
        self.met["behind"] += 1
        # What lies below one issue is behind by no more than moments.
        return timedelta(minutes=50 if asked.path.endswith("/bench/issues") else 2)

    # --- what happens ----------------------------------------------------------------

    def day(self) -> None:
        """Let a day pass, or only minutes, and run a night that reports its regressions."""
        whole = self.chance.random() < 0.5
        self._measure()
        if whole:
            self.world.times.pass_by(hours=12)
            self._do_late()
            for _ in range(self.chance.randint(0, 3)):
                self._people()
            self.world.times.pass_by(hours=12)
        else:
            self.world.times.pass_by(minutes=self.chance.randint(3, 30))
            self._do_late()
        if self.loses and self.chance.random() < 0.1:
            self.met["lost"] += 1
            (self.world.results / record.FILE).unlink(missing_ok=True)
        self.faulty = self.chance.random() < 0.6
        self.kills = self.faulty and self.chance.random() < 0.4
        before = len(self.world.repository.issues.all())
        try:
            result = self._night()
        except Killed:
            result = None
        made = self.world.repository.issues.all()[before:]
        assert sum(issue.user == BOT for issue in made) <= AT_MOST
        self.check_always()
        if result is not None and whole and not self.faulty:
            self.check_reported(result)
        self.faulty = self.kills = False

    def _night(self) -> SinkResult:
        sink = self.world.sink()
        for decision in sink.decisions():
            self._take(decision)
        causes = [
            Cause(
                regressions=(
                    regression(
                        name,
                        state,
                        culprit=self.culprits.get(name, ""),
                        series=1 + self.series[name] % 5,
                    ),
                )
            )
            for name, state in self.states.items()
        ]
        return sink.report(causes, words, suspected=False)

    def _take(self, decision: PersonDecision) -> None:
        """Write a decision into the journal, as the verb does: once, and if it is allowed."""
        if decision in self.received:
            return
        self.received.append(decision)
        state = self.states[decision.fingerprint]
        step = (state, EventKind(decision.kind.value))
        if step in TRANSITIONS:
            after = TRANSITIONS[step]
            self.states[decision.fingerprint] = CONFIRMED if after is AS_MEASURED else after

    def _measure(self) -> None:
        if len(self.states) < MOST and self.chance.random() < 0.5:
            self.states[f"f{len(self.states):03}"] = CONFIRMED
        for name, state in list(self.states.items()):
            at = self.chance.random()
            if state is RESOLVED:
                self.states[name] = CONFIRMED if at < 0.15 else state
            elif at < 0.08:
                self.states[name] = RESOLVED
            if self.chance.random() < 0.1:
                self.series[name] += 1
            if self.chance.random() < 0.03:
                self.culprits.setdefault(name, f"{self.chance.getrandbits(64):016x}")

    def _people(self) -> None:
        """Let somebody do something, to an issue of ours or beside them."""
        repository, chance = self.world.repository, self.chance
        self.world.times.pass_by(minutes=7)
        issues = [issue for issue in self.ours() if not issue.gone]
        if not issues or chance.random() < 0.3:
            forged = ours(chance.choice([*self.states, "none"]), "It is nothing.")
            repository.open("mallory", "Me too", forged)
            repository.open_pull("bob", "A fix", sha="1" * 40, body=forged, labels=["nightshift"])
            return
        issue = chance.choice(issues)
        number, who = issue.number, chance.choice(["alice", "bob"])
        match chance.choice(["comment", "edit", "lock", "delete", *["decide"] * 4]):
            case "comment":
                repository.comment(who, number, "Interesting.")
            case "edit":
                repository.edit(who, number, body=f"Note.\r\n\r\n{issue.body}\r\n\r\nEnd.")
            case "lock" if chance.random() < 0.3:
                repository.lock(who, number)
            case "delete" if chance.random() < 0.2 and number in self._known():
                repository.delete(number)
                self.deleted.add(fingerprint_in(issue.body))
            case "decide":
                self._decide(issue, who)

    def _known(self) -> set[int]:
        """Return the issues that the record knows, and will always know."""
        repository = self.world.repository.id
        if self.loses:
            return set()
        entries = record.IssueRecords(self.world.results, repository).entries
        return {entry.number for entry in entries.values()}

    def _decide(self, issue: Issue, who: str) -> None:
        repository = self.world.repository
        acknowledged = "acknowledged" in issue.labels
        kind: DecisionKind
        if issue.state == "closed":
            repository.reopen(who, issue.number)
            kind, note = DecisionKind.REOPENED, "reopened"
        elif self.chance.random() < 0.5:
            reason = self.chance.choice(["completed", "not_planned", "duplicate"])
            repository.close(who, issue.number, reason)
            kind = DecisionKind.ACKNOWLEDGED
            if reason == "not_planned":
                kind = DecisionKind.WONT_FIX
            note = f"closed as {reason.replace('_', ' ')}"
        elif acknowledged:
            repository.unlabel(who, issue.number, "acknowledged")
            kind, note = DecisionKind.REOPENED, "label removed"
        else:
            repository.label(who, issue.number, "acknowledged")
            kind, note = DecisionKind.ACKNOWLEDGED, "labelled"
        place = f"https://github.test/acme/bench/issues/{issue.number}"
        self.decided.append(
            PersonDecision(
                fingerprint=fingerprint_in(issue.body),
                kind=kind,
                by=who,
                at=self.world.times.now.replace(microsecond=0),
                note=f"{note}, {place}",
            )
        )

    # --- what has to be true ---------------------------------------------------------

    def ours(self) -> list[Issue]:
        """Return all issues that we ever made, deleted ones too."""
        return [issue for issue in self.world.repository.issues.all() if issue.user == BOT]

    def check_always(self) -> None:
        """Never two for one, nothing said twice, nothing closed over people, nothing invented."""
        issues = self.ours()
        made = Counter(fingerprint_in(issue.body) for issue in issues)
        assert max(made.values(), default=1) == 1, made
        assert set(made) <= set(self.states)
        for issue in issues:
            self._check_comments(issue)
            self._check_closings(issue)
        known = {self._plain(one) for one in self.decided}
        assert {self._plain(one) for one in self.received} <= known

    def _check_comments(self, issue: Issue) -> None:
        ours = [one for one in self.world.repository.comments_of(issue.number) if one.user == BOT]
        said = Counter(comments.key_of(Comment(body=one.body)) for one in ours)
        assert "" not in said
        assert max(said.values(), default=1) == 1, said

    def _check_closings(self, issue: Issue) -> None:
        events = self.world.repository.events_of(issue.number)
        theirs = self._theirs(issue)
        for event in events:
            if event.kind == "closed" and event.actor == BOT:
                assert all(at > event.at for at in theirs), "closed over what people said"
            if event.kind == "reopened" and event.actor == BOT:
                last = [one for one in events if one.kind == "closed" and one.id < event.id][-1]
                assert last.actor == BOT, "opened what people had closed"

    def check_reported(self, result: SinkResult) -> None:
        """After a night without failures every regression is reported, with its state."""
        waiting = [line for line in result.left if "more issues wait for the next night" in line]
        assert list(result.left) == waiting
        made = {fingerprint_in(issue.body): issue for issue in self.ours()}
        lost = {
            name for name, state in self.states.items() if state is CONFIRMED and name not in made
        }
        assert not lost or waiting
        for name, issue in made.items():
            if name not in self.deleted:
                self._check_issue(name, issue)
        if not self.loses:
            gone = {one.fingerprint for one in self.decided} & self.deleted
            expected = {self._plain(one) for one in self.decided if one.fingerprint not in gone}
            assert expected <= {self._plain(one) for one in self.received}

    def _check_issue(self, name: str, issue: Issue) -> None:
        state = self.states[name]
        found = regression(
            name, state, culprit=self.culprits.get(name, ""), series=1 + self.series[name] % 5
        )
        assert ours(name, words(found, ()).body) in str(issue.body)
        assert issue.title == words(found, ()).title
        if issue.locked:
            return
        if state is RESOLVED and issue.state == "open":
            assert self._theirs(issue), "left open although nobody wanted it so"
        if state is CONFIRMED and issue.state == "closed":
            assert issue.closed_by != BOT, "closed by us, and the regression is there"

    def _theirs(self, issue: Issue) -> list[datetime]:
        """Return when people said that an issue is in their hands."""
        comments = self.world.repository.comments_of(issue.number)
        events = self.world.repository.events_of(issue.number)
        opened = [one.at for one in events if one.kind == "reopened" and one.actor != BOT]
        return [*(one.created for one in comments if one.user != BOT), *opened]

    @staticmethod
    def _plain(decision: PersonDecision) -> tuple[str, str, str, datetime]:
        return decision.fingerprint, decision.kind.value, decision.by, decision.at
