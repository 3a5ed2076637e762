"""The Slack sink: send a message to a channel for each change of a regression."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.config import SlackSection
from pipeline.model import Shift
from pipeline.model.metrics import change
from pipeline.notify.base.deliver import ChangeKind, Message, MessageSink
from pipeline.notify.base.http_post import PostClock, Receiver, check_address
from pipeline.notify.base.preview import Preview, Show
from pipeline.regressions.grouping import effect_size
from pipeline.text.errors import UserError
from pipeline.text.markdown import BREAK, inert
from pipeline.text.units import show_figure

ROWS = 5
"""Maximum number of figures in a message, worst first."""

HEADER = 150
"""Maximum length of a Slack header, in characters."""

SECTION = 3000
"""Maximum length of a Slack section, in characters."""

_PLACE = "Slack"

_HAPPENED = {
    ChangeKind.CULPRIT: "culprit found",
    ChangeKind.JOINED: "another regression with the same cause",
    ChangeKind.REOPENED: "reopened",
}
"""Text added to the title, by the kind of change."""


class SlackSink(MessageSink):
    """Reports regressions to a Slack channel, whose secret address is in the environment.

    Raises UserError if the environment variable is not set, or is not an address.
    """

    name = "slack"

    def __init__(
        self,
        section: SlackSection,
        results: Path,
        environ: Mapping[str, str] = os.environ,
        show: Show | None = None,
        clock: PostClock | None = None,
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
        super().__init__(results, _PLACE, show)
        # The path of the address is its secret.
        path = address.split("//", 1)[1].partition("/")[2]
        secrets = (address, path) if path else (address,)
        self._receiver = Receiver(address, _PLACE, where, secrets=secrets, clock=clock)

    def _send(self, message: Message) -> None:
        payload = payload_of(message)
        if self._show is not None:
            self._show(Preview(sink=self.name, method="POST", place=self._where, payload=payload))
            return
        self._receiver.post(json.dumps(payload, allow_nan=False).encode(), {})


def payload_of(message: Message) -> dict[str, Any]:
    """Return the Slack message for a change of a regression.

    ``text`` contains everything: other services show it, and Slack shows it where there is no room
    for the blocks.
    """
    notice, kind = message.notice, message.change.kind
    happened = _HAPPENED.get(kind, "")
    if message.change.regression is not notice.regression and not happened:
        happened = f"a regression with the same cause is {kind.value}"
    title = f"{notice.title} ({happened})" if happened else notice.title
    shifts = sorted(notice.regression.shifts, key=lambda shift: -effect_size(shift))
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
        # Slack must not fetch the linked pages for previews.
        "unfurl_links": False,
        "unfurl_media": False,
    }


def escape(text: str) -> str:
    """Escape untrusted text for a chat, so that it cannot create mentions or links."""
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
