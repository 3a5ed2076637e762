from __future__ import annotations

import hashlib
import hmac
import json
import math
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Self

import pytest

from pipeline.config import WebhookSection
from pipeline.model import Regression, RegressionState
from pipeline.notify.base import Cause, Notice, SinkResult
from pipeline.notify.base.http_post import ATTEMPTS, PostClock
from pipeline.notify.base.preview import Preview
from pipeline.notify.base.text import Facts, notice
from pipeline.notify.webhook import WebhookSink, signature
from pipeline.publish.deadline import DEADLINE
from pipeline.text.errors import UserError
from tests.fakes.hook import Fault, Hook
from tests.fakes.site import Sleeps
from tests.notify.samples import OTHER, WORSE, confirmed, regression, stated
from tests.regressions.samples import shift

KEY = "a key of sixteen"
ENVIRON = {"HOOK_KEY": KEY}
NOW = datetime(2026, 3, 1, 4, 30, tzinfo=UTC)


def words(found: Regression, beside: Sequence[Regression]) -> Notice:
    return notice(found, beside, Facts(reproduce="nightshift nightly"))


class Sender:
    """Tells the receiver, each time as a night of its own."""

    def __init__(self, hook: Hook, results: Path, *, signed: bool = True) -> None:
        secret = "HOOK_KEY" if signed else ""
        self.section = WebhookSection(url=f"{hook.base}/here?token=1", secret=secret)
        self.results = results
        self.sleeps = Sleeps()
        self.deadline = DEADLINE
        self.shown: list[Preview] = []

    def report(self, *found: Regression, show: bool = False, suspected: bool = False) -> SinkResult:
        sink = WebhookSink(
            self.section,
            self.results,
            ENVIRON,
            show=self.shown.append if show else None,
            clock=PostClock(
                sleep=self.sleeps, jitter=lambda: 1.0, now=lambda: NOW, deadline=self.deadline
            ),
        )
        assert sink.decisions() == ()
        return sink.report([Cause(regressions=(one,)) for one in found], words, suspected=suspected)


@pytest.fixture
def sender(hook: Hook, tmp_path: Path) -> Sender:
    return Sender(hook, tmp_path / "results")


def test_what_changed_is_sent_as_json(hook: Hook, sender: Sender) -> None:
    (action,) = sender.report(confirmed(WORSE)).actions
    assert (action.fingerprint, action.new, action.changed) == (WORSE.fingerprint, True, True)
    assert action.place == f"{hook.base}/here?..."
    (post,) = hook.taken
    assert post.path == "/here?token=1"
    assert post.headers["Content-Type"] == "application/json"
    sent = post.json
    assert sent["event"] == post.headers["X-Nightshift-Event"] == "confirmed"
    assert sent["id"] == post.headers["X-Nightshift-Delivery"]
    assert sent["version"] == 1
    assert sent["title"] == words(confirmed(WORSE), ()).title
    assert sent["summary"] == words(confirmed(WORSE), ()).summary
    assert sent["fingerprint"] == WORSE.fingerprint
    assert sent["regression"]["first_bad"] == "17.11"
    assert sent["regression"]["series"] == 2
    assert sent["regression"]["shifts"][0]["series"]["step"] == "scan"
    assert (sent["beside"], sent["links"]) == ([], [])
    assert sent["sent_at"] == "2026-03-01T04:30:00+00:00"


def test_it_is_signed_over_its_exact_bytes(hook: Hook, sender: Sender, tmp_path: Path) -> None:
    sender.report(confirmed(WORSE))
    (post,) = hook.taken
    expected = hmac.new(KEY.encode(), post.body, hashlib.sha256).hexdigest()
    assert post.headers["X-Nightshift-Signature-256"] == f"sha256={expected}"
    Sender(hook, tmp_path / "other", signed=False).report(confirmed(WORSE))
    assert "X-Nightshift-Signature-256" not in hook.taken[1].headers


def test_each_change_is_sent_once(hook: Hook, sender: Sender) -> None:
    events = []
    for state in ("confirmed", "acknowledged", "confirmed", "resolved", "resolved", "confirmed"):
        for _ in range(2):
            sender.report(stated(WORSE, RegressionState(state)))
    events = [post.json["event"] for post in hook.taken]
    assert events == ["confirmed", "acknowledged", "reopened", "resolved", "reopened"]
    assert len({post.json["id"] for post in hook.taken}) == len(events)
    (action,) = sender.report(stated(WORSE, RegressionState.CONFIRMED)).actions
    assert (action.new, action.changed) == (False, False)


def test_suspicions_are_sent_where_they_are_asked_for(hook: Hook, sender: Sender) -> None:
    assert sender.report(WORSE).actions == ()
    sender.report(WORSE, suspected=True)
    sender.report(confirmed(WORSE))
    assert [post.json["event"] for post in hook.taken] == ["suspected", "confirmed"]


@pytest.mark.parametrize("fault", [Fault(503), Fault(429), Fault(), Fault(408)])
def test_what_may_pass_is_sent_again_as_the_same(hook: Hook, sender: Sender, fault: Fault) -> None:
    hook.faults = [fault] * 2
    result = sender.report(confirmed(WORSE))
    assert (result.left, len(result.actions)) == ((), 1)
    assert len(hook.asked) == 3
    assert len({post.body for post in hook.asked}) == 1
    assert sender.sleeps == [1.0, 2.0]


def test_a_receiver_that_is_busy_is_given_the_time_that_it_asks_for(
    hook: Hook, sender: Sender
) -> None:
    hook.faults = [Fault(429, headers={"Retry-After": "7"})]
    assert sender.report(confirmed(WORSE)).left == ()
    assert sender.sleeps == [7.0]
    hook.faults = [Fault(429, headers={"Retry-After": "3600"})]
    (left,) = sender.report(confirmed(OTHER)).left
    assert "returned 429 Too Many Requests" in left
    assert sender.sleeps == [7.0], "nobody waits for an hour"


def test_what_was_not_delivered_is_the_next_time(hook: Hook, sender: Sender) -> None:
    hook.faults = [Fault(503, "no \x1b[31m room")] * ATTEMPTS
    result = sender.report(confirmed(OTHER), confirmed(WORSE))
    assert result.actions == ()
    assert result.left == (
        f"{hook.base}/here?... returned 503 Service Unavailable (no [31m room); check that it "
        "runs and is reachable from this machine; 2 messages will be sent the next time",
    )
    assert len(hook.asked) == ATTEMPTS, "one that is out of order is not asked for each message"
    assert len(sender.report(confirmed(OTHER), confirmed(WORSE)).actions) == 2
    assert len(hook.taken) == 2
    assert hook.taken[0].json["id"] == json.loads(hook.asked[0].body)["id"]


def test_a_receiver_that_drips_does_not_hold_the_night(hook: Hook, sender: Sender) -> None:
    hook.faults = [Fault(drips=True)]
    sender.deadline = 0.5
    assert sender.report(confirmed(WORSE)).left == ()
    assert len(hook.asked) == 2
    hook.faults = [Fault(drips=True)] * ATTEMPTS
    (left,) = sender.report(confirmed(OTHER)).left
    assert "sent no complete response within 0.5 s" in left


def test_a_message_that_was_taken_before_the_connection_was_cut_has_the_same_id(
    hook: Hook, sender: Sender
) -> None:
    hook.faults = [Fault(taken=True)] * ATTEMPTS
    assert sender.report(confirmed(WORSE)).actions == ()
    sender.report(confirmed(WORSE))
    assert len(hook.taken) == ATTEMPTS + 1
    assert len({post.json["id"] for post in hook.taken}) == 1


def test_a_message_that_is_refused_holds_up_no_other(hook: Hook, sender: Sender) -> None:
    hook.faults = [Fault(413)]
    result = sender.report(confirmed(OTHER), confirmed(WORSE))
    (left,) = result.left
    assert left.startswith(f"{OTHER.fingerprint}: {hook.base}/here?... returned 413")
    assert [action.fingerprint for action in result.actions] == [WORSE.fingerprint]
    assert [
        action.changed for action in sender.report(confirmed(OTHER), confirmed(WORSE)).actions
    ] == [
        True,
        False,
    ]


def test_redirects_are_not_followed(hook: Hook, sender: Sender) -> None:
    hook.faults = [Fault(307, headers={"Location": f"{hook.base}/elsewhere"})]
    (left,) = sender.report(confirmed(WORSE)).left
    assert "returned 307 Temporary Redirect; check url in [webhook]" in left
    assert [post.path for post in hook.asked] == ["/here?token=1"]


def test_one_that_repeats_the_key_does_not_show_it(hook: Hook, sender: Sender) -> None:
    hook.faults = [Fault(403, f"{KEY} is wrong")]
    (left,) = sender.report(confirmed(WORSE)).left
    assert "(*** is wrong)" in left


def test_nobody_there_is_one_line(tmp_path: Path) -> None:
    hook = Hook()
    hook.server_close()
    (left,) = Sender(hook, tmp_path).report(confirmed(WORSE)).left
    assert left == (
        f"{hook.base}/here?... cannot be reached; check that it runs and is reachable from this "
        "machine; 1 message will be sent the next time"
    )


@pytest.mark.parametrize("said", ["no POST /here?key=abcdefgh12", "abcdefgh12 is no key"])
def test_the_secret_in_the_address_is_not_shown(hook: Hook, sender: Sender, said: str) -> None:
    sender.section = WebhookSection(url=f"{hook.base}/here?key=abcdefgh12")
    hook.faults = [Fault(403, said)]
    (left,) = sender.report(confirmed(WORSE)).left
    assert "returned 403" in left and "***" in left
    assert "abcdefgh12" not in left


def test_what_would_be_sent_is_shown_without_secrets(hook: Hook, sender: Sender) -> None:
    assert len(sender.report(confirmed(WORSE), show=True).actions) == 1
    (shown,) = sender.shown
    assert (shown.sink, shown.method) == ("webhook", "POST")
    assert shown.place == f"{hook.base}/here?..."
    assert shown.headers["X-Nightshift-Signature-256"] == "sha256=..."
    assert KEY not in shown.model_dump_json()
    assert (hook.asked, sender.results.exists()) == ([], False)
    sender.report(confirmed(WORSE))
    (post,) = hook.taken
    without_time = {name: value for name, value in post.json.items() if name != "sent_at"}
    assert without_time == {
        name: value for name, value in shown.payload.items() if name != "sent_at"
    }


def test_what_came_from_nothing_is_json_too(hook: Hook, sender: Sender) -> None:
    sender.report(confirmed(regression(shift(11, math.inf, metric="stall_s"))))
    (sent,) = hook.taken
    assert sent.json["regression"]["shifts"][0]["effect"] == "Infinity"


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (
            {},
            ("the sink webhook has no address; set [webhook] url"),
        ),
        ({"url": "http://10.0.0.1/"}, "url in [webhook] is not encrypted"),
        ({"url": "http://localhost.example/"}, "url in [webhook] is not encrypted"),
        ({"url": "https://x.example:port/"}, "is not the address of a receiver"),
        (
            {"url": "https://x.example/", "secret": "NOT_SET"},
            "variable NOT_SET ([webhook] secret) is not set; set it to the key that signs messages",
        ),
    ],
)
def test_a_mistake_of_the_configuration_is_one_line(
    tmp_path: Path, section: dict[str, str], said: str
) -> None:
    with pytest.raises(UserError) as error:
        WebhookSink(WebhookSection(**section), tmp_path, {})
    assert said in str(error.value)
    assert "\n" not in str(error.value)


class Later(datetime):
    """The clock of a receiver that reads what was sent nine minutes before."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls.fromisoformat(NOW.isoformat()) + timedelta(minutes=9)


def test_the_documented_receiver_takes_what_is_sent_once_and_nothing_else(
    hook: Hook, sender: Sender
) -> None:
    documented = Path("docs/guide/notify.md").read_text(encoding="utf-8")
    snippet = documented.partition("    import hashlib, hmac")[2].partition("### Slack")[0]
    names: dict[str, Any] = {}
    exec(textwrap.dedent("    import hashlib, hmac" + snippet), names)  # noqa: S102
    verified = names["verified"]
    names["datetime"] = Later
    sender.report(confirmed(WORSE))
    (post,) = hook.taken
    header = post.headers["X-Nightshift-Signature-256"]
    seen: set[str] = set()
    assert verified(KEY.encode(), post.body, header, seen)["event"] == "confirmed"
    for key, body, said in (
        (KEY.encode(), post.body, "known already"),
        (KEY.encode(), post.body + b" ", "not signed by us"),
        (b"another", post.body, "not signed by us"),
    ):
        with pytest.raises(ValueError, match=said):
            verified(key, body, header, seen)
    old = json.dumps({**post.json, "sent_at": "2026-03-01T04:28:00+00:00"}).encode()
    with pytest.raises(ValueError, match="replayed"):
        verified(KEY.encode(), old, signature(old, KEY.encode()), set())
