from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import SlackSection
from pipeline.model import Culprit, Regression
from pipeline.notify.base import Cause, Link, Notice, SinkResult
from pipeline.notify.base.deliver import ChangeKind, Message, RegressionChange
from pipeline.notify.base.http_post import ATTEMPTS, PostClock
from pipeline.notify.base.preview import Preview
from pipeline.notify.base.text import Facts, notice
from pipeline.notify.slack import HEADER, ROWS, SECTION, SlackSink, escape, payload_of
from pipeline.text.errors import UserError
from pipeline.text.markdown import BREAK
from tests.fakes.hook import Fault, Hook
from tests.fakes.site import Sleeps
from tests.notify.samples import OTHER, WORSE, confirmed, regression
from tests.regressions.samples import shift
from tests.text.test_markdown import ACTS, HOSTILE

PATH = "services/T000/B000/secret"
VARIABLE = "NIGHTSHIFT_SLACK_URL"


def words(found: Regression, beside: Sequence[Regression]) -> Notice:
    text = notice(found, beside, Facts(reproduce="nightshift nightly"))
    link = Link(name="report", address="https://x.example/r.html?a=1&b=2")
    return text.model_copy(update={"links": (link,)})


def message(found: Regression, kind: ChangeKind = ChangeKind.CONFIRMED) -> dict[str, Any]:
    return payload_of(Message("id", RegressionChange(kind, found), words(found, ())))


def report(
    hook: Hook, results: Path, *found: Regression, shown: list[Preview] | None = None
) -> SinkResult:
    sink = SlackSink(
        SlackSection(),
        results,
        {VARIABLE: f"{hook.base}/{PATH}"},
        show=shown.append if shown is not None else None,
        clock=PostClock(sleep=Sleeps(), jitter=lambda: 1.0),
    )
    assert sink.decisions() == ()
    return sink.report([Cause(regressions=(one,)) for one in found], words, suspected=False)


def test_a_change_is_sent_to_the_channel_once(hook: Hook, tmp_path: Path) -> None:
    for changed in (True, False):
        (action,) = report(hook, tmp_path, confirmed(WORSE)).actions
        assert (action.place, action.changed) == ("Slack", changed)
    (post,) = hook.taken
    assert post.path == f"/{PATH}"
    assert post.json == message(confirmed(WORSE))


def test_the_worst_comes_first_and_the_links_last() -> None:
    found = regression(*(shift(11, -0.1 - each / 100, step=f"s{each}") for each in range(ROWS + 2)))
    sent = message(confirmed(found))
    header, rows, about = (block["text"]["text"] for block in sent["blocks"])
    assert header == "Confirmed regression in postgres 17.11: s6 -16.0% qps"
    assert rows.splitlines()[0] == "• s6: -16.0% qps (100 to 84)"
    assert rows.splitlines()[-1] == "and 2 more"
    assert about.splitlines()[-1] == "<https://x.example/r.html?a=1&amp;b=2|report>"
    for part in (header, *rows.splitlines(), *about.splitlines()):
        assert part in sent["text"], "others than Slack show the text alone"


def test_a_culprit_is_called_so() -> None:
    named = Culprit(
        revision="c0ffee", parent="b0ffee", probability=1.0, confirmed=True, subject="<!here> & @me"
    )
    sent = message(confirmed(OTHER).model_copy(update={"culprit": named}), ChangeKind.CULPRIT)
    assert sent["blocks"][0]["text"]["text"].endswith(" (culprit found)")
    assert f"&lt;{BREAK}!here&gt; &amp; @{BREAK}me" in sent["text"]


def test_what_happened_to_another_of_the_same_cause_is_said() -> None:
    change = RegressionChange(ChangeKind.RESOLVED, OTHER)
    sent = payload_of(Message("id", change, words(confirmed(WORSE), (OTHER,))))
    assert "(a regression with the same cause is resolved)" in sent["text"]


@given(HOSTILE)
def test_text_from_elsewhere_mentions_nobody_and_links_nowhere(text: str) -> None:
    made = escape(text)
    assert not ACTS.search(made)
    assert not set("<>") & set(made)
    assert "](" not in made


@given(st.text(max_size=50).map(lambda text: text * 100))
def test_a_message_is_as_large_as_slack_takes_it(text: str) -> None:
    found = regression(*(shift(11, step=f"{each}{text}", metric=text) for each in range(9)))
    sent = message(confirmed(found))
    assert len(sent["blocks"][0]["text"]["text"]) <= HEADER
    assert all(0 < len(block["text"]["text"]) <= SECTION for block in sent["blocks"])


@pytest.mark.parametrize(
    "fault",
    [Fault(403, f"{PATH} is not allowed"), Fault(302, headers={"Location": "/x"}), Fault(400)],
)
def test_the_address_is_never_shown(hook: Hook, tmp_path: Path, fault: Fault) -> None:
    hook.faults = [fault]
    (left,) = report(hook, tmp_path, confirmed(WORSE)).left
    assert "Slack returned" in left
    assert PATH not in left
    assert str(hook.server_port) not in left


def test_the_address_is_not_shown_where_nobody_answers(tmp_path: Path) -> None:
    hook = Hook()
    hook.server_close()
    (left,) = report(hook, tmp_path, confirmed(WORSE)).left
    assert left.startswith("Slack cannot be reached; ")
    with_fault = Hook()
    with with_fault.serving():
        with_fault.faults = [Fault()] * ATTEMPTS
        (left,) = report(with_fault, tmp_path, confirmed(WORSE)).left
    assert "secret" not in left


def test_what_would_be_sent_is_shown_without_the_address(hook: Hook, tmp_path: Path) -> None:
    shown: list[Preview] = []
    report(hook, tmp_path, confirmed(WORSE), shown=shown)
    (preview,) = shown
    assert preview.place == f"the address in {VARIABLE}"
    assert preview.payload == message(confirmed(WORSE))
    assert (hook.asked, list(tmp_path.iterdir())) == ([], [])


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("", f"variable {VARIABLE} is not set"),
        ("http://10.0.0.1/secret", f"the address in {VARIABLE} is not encrypted"),
        (
            "https://me:secret@x.example/",
            f"the address in {VARIABLE} contains a user or a password; remove them",
        ),
        ("secret", f"the address in {VARIABLE} is not the address of a receiver"),
        ("https://[secret", f"the address in {VARIABLE} is not the address of a receiver"),
    ],
)
def test_a_mistake_is_one_line_that_does_not_repeat_it(
    tmp_path: Path, address: str, said: str
) -> None:
    with pytest.raises(UserError) as error:
        SlackSink(SlackSection(), tmp_path, {VARIABLE: address})
    assert said in str(error.value)
    assert "secret" not in str(error.value)
