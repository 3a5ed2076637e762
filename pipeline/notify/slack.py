"""A message for each change to a channel of Slack, or of whatever takes the same."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.analyse.regressions import size
from pipeline.config import SlackSection
from pipeline.errors import UserError
from pipeline.markdown import BREAK, inert
from pipeline.metrics import change
from pipeline.model import Shift
from pipeline.notify.base import Cause, Decision, Result, Words
from pipeline.notify.base.changes import ChangeKind
from pipeline.notify.base.deliver import Deliveries, Message
from pipeline.notify.base.post import Clock, Receiver, check_address
from pipeline.notify.base.preview import Preview, Show
from pipeline.units import show_figure

ROWS = 5
"""Figures that are told, worst first."""

HEADER = 150
"""Characters that Slack takes in a header."""

SECTION = 3000
"""Characters that Slack takes in a section."""

_PLACE = "Slack"

_HAPPENED = {
    ChangeKind.CULPRIT: "culprit found",
    ChangeKind.JOINED: "another of the same cause",
    ChangeKind.REOPENED: "reopened",
}
"""What a title does not say itself by the state of the regression."""


class SlackSink:
    """Posts to the address of an incoming webhook, which ``environ`` holds as a secret.

    Raises UserError where it is not set, or is no address.
    """

    name = "slack"

    def __init__(
        self,
        section: SlackSection,
        results: Path,
        environ: Mapping[str, str] = os.environ,
        show: Show | None = None,
        clock: Clock | None = None,
    ) -> None:
        address = environ.get(section.secret, "").strip()
        if not address:
            raise UserError(
                f"the environment variable {section.secret or 'that [slack] secret names'} is not "
                "set; set it to the address of the incoming webhook"
            )
        where = f"the address in {section.secret}"
        check_address(address, where)
        self._where = where
        self._show = show
        self._deliveries = Deliveries(self.name, results)
        # The path is what is secret of it.
        path = address.split("//", 1)[1].partition("/")[2]
        secrets = (address, path) if path else (address,)
        self._receiver = Receiver(address, _PLACE, where, secrets=secrets, clock=clock)

    def decisions(self) -> Sequence[Decision]:
        """Return nothing: what is sent is not answered."""
        return ()

    def tell(self, causes: Sequence[Cause], words: Words, *, suspected: bool) -> Result:
        """Send what changed, each change once."""
        return self._deliveries.deliver(
            causes,
            words,
            self._send,
            suspected=suspected,
            place=_PLACE,
            note=self._show is None,
        )

    def _send(self, message: Message) -> None:
        payload = payload_of(message)
        if self._show is not None:
            self._show(Preview(sink=self.name, method="POST", place=self._where, payload=payload))
            return
        self._receiver.post(json.dumps(payload, allow_nan=False).encode(), {})


def payload_of(message: Message) -> dict[str, Any]:
    """Return the message of a change.

    ``text`` says it all: it is what others than Slack show, and what Slack shows where there is no
    room for the blocks.
    """
    notice, kind = message.notice, message.change.kind
    happened = _HAPPENED.get(kind, "")
    if message.change.regression is not notice.regression and not happened:
        happened = f"one of the same cause is {kind.value}"
    title = f"{notice.title} ({happened})" if happened else notice.title
    shifts = sorted(notice.regression.shifts, key=lambda shift: -size(shift))
    rows = [_row(shift) for shift in shifts[:ROWS]]
    if len(shifts) > ROWS:
        rows.append(f"and {len(shifts) - ROWS} more")
    links = " | ".join(f"<{_escaped(each.address)}|{each.name}>" for each in notice.links)
    about = f"{escape(notice.summary)} ({notice.fingerprint})"
    text = "\n".join([escape(title), about, *rows, *([links] if links else [])])
    return {
        "text": _cut(text, SECTION),
        "blocks": [
            {
                "type": "header",
                "text": {"type": "plain_text", "text": _cut(inert(title), HEADER), "emoji": False},
            },
            _section("\n".join(rows)),
            _section("\n".join([about, *([links] if links else [])])),
        ],
        # Nobody is to ask the linked pages for what they show.
        "unfurl_links": False,
        "unfurl_media": False,
    }


def escape(text: str) -> str:
    """Return text from elsewhere as a chat shows it: it mentions nobody, and links nowhere."""
    return _escaped(inert(text)).replace("](", f"]{BREAK}(")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _row(shift: Shift) -> str:
    key = shift.series
    return (
        f"• {escape(key.step)}: {escape(change(shift))} {escape(key.metric)} "
        f"({show_figure(shift.before)} to {show_figure(shift.after)})"
    )


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": _cut(text, SECTION)}}


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
