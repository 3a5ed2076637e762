"""The webhook sink: send signed JSON to an address for each change of a regression."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pipeline.config import WebhookSection
from pipeline.model import Regression
from pipeline.notify.base.deliver import Message, MessageSink
from pipeline.notify.base.http_post import PostClock, Receiver, check_address
from pipeline.notify.base.preview import Preview, Show
from pipeline.text.errors import UserError

VERSION = 1
"""Version of the message format; compatible additions do not change it."""

MOST_SHIFTS = 100
"""Maximum number of series of a regression in a message, worst first."""

SHORTEST_SECRET = 8
"""Minimum length of a value in the address that is treated as a secret: shorter ones may be parts
of ordinary words."""

SIGNATURE = "X-Nightshift-Signature-256"
EVENT = "X-Nightshift-Event"
DELIVERY = "X-Nightshift-Delivery"


class WebhookSink(MessageSink):
    """Reports regressions to an HTTP address, signed with a key from the environment.

    Raises UserError if the address is invalid, or the environment variable of the key is not set.
    """

    name = "webhook"

    def __init__(
        self,
        section: WebhookSection,
        results: Path,
        environ: Mapping[str, str] = os.environ,
        show: Show | None = None,
        clock: PostClock | None = None,
    ) -> None:
        if not section.url:
            raise UserError(
                "the sink webhook has no address; set [webhook] url, or remove webhook from "
                "[notify] sinks"
            )
        place = check_address(section.url, "url in [webhook]")
        key = environ.get(section.secret, "") if section.secret else ""
        if section.secret and not key:
            raise UserError(
                f"the environment variable {section.secret} ([webhook] secret) is not set; set "
                "it to the key that signs messages"
            )
        self._key = key.encode()
        super().__init__(results, place, show)
        clock = clock or PostClock()
        self._now = clock.now
        # A receiver's refusal may repeat the request.
        query = urlsplit(section.url).query
        values = (value for _, value in parse_qsl(query) if len(value) >= SHORTEST_SECRET)
        secrets = tuple(each for each in (key, query, *values) if each)
        self._receiver = Receiver(
            section.url, place, "url in [webhook]", secrets=secrets, clock=clock
        )

    def _send(self, message: Message) -> None:
        payload = payload_of(message, self._now())
        body = json.dumps(payload, separators=(",", ":"), allow_nan=False).encode()
        headers = {EVENT: message.change.kind.value, DELIVERY: message.id}
        if self._show is not None:
            signed = {SIGNATURE: "sha256=..."} if self._key else {}
            self._show(
                Preview(
                    sink=self.name,
                    method="POST",
                    place=self._place,
                    payload=payload,
                    headers=headers | signed,
                )
            )
            return
        signed = {SIGNATURE: signature(body, self._key)} if self._key else {}
        self._receiver.post(body, headers | signed)


def signature(body: bytes, key: bytes) -> str:
    """Return the signature of a message, by which the receiver knows that we sent it."""
    return f"sha256={hmac.new(key, body, hashlib.sha256).hexdigest()}"


def payload_of(message: Message, at: datetime) -> dict[str, Any]:
    """Return the JSON message for a change of a regression."""
    notice = message.notice
    return {
        "version": VERSION,
        "id": message.id,
        "sent_at": at.isoformat(timespec="seconds"),
        "event": message.change.kind.value,
        "fingerprint": message.change.regression.fingerprint,
        "title": notice.title,
        "summary": notice.summary,
        "links": [link.model_dump() for link in notice.links],
        "regression": _as_json(notice.regression),
        "beside": [_as_json(one) for one in notice.beside],
    }


def _as_json(regression: Regression) -> Any:
    """Return a regression as JSON, with only its worst series, and how many series it has."""
    kept = regression.model_copy(update={"shifts": regression.shifts[:MOST_SHIFTS]})
    # The model itself writes infinities, which JSON lacks, as texts.
    return json.loads(kept.model_dump_json()) | {"series": len(regression.shifts)}
