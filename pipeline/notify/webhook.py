"""A message for each change as JSON to any address, signed."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pipeline.config import WebhookSection
from pipeline.errors import UserError
from pipeline.model import Regression
from pipeline.notify.base import Cause, Decision, Result, Words
from pipeline.notify.base.deliver import Deliveries, Message
from pipeline.notify.base.post import Clock, Receiver, check_address
from pipeline.notify.base.preview import Preview, Show

VERSION = 1
"""Version of what is sent; what is added to it later does not change it."""

MOST_SHIFTS = 100
"""Series of a regression that are sent, worst first."""

SHORTEST_SECRET = 8
"""Letters of a value in the address that may be secret: shorter ones are parts of other words."""

SIGNATURE = "X-Nightshift-Signature-256"
EVENT = "X-Nightshift-Event"
DELIVERY = "X-Nightshift-Delivery"


class WebhookSink:
    """Posts what ``section`` says, with the key of its signature from ``environ``.

    Raises UserError for an address that is none, and for a key that is named and not set.
    """

    name = "webhook"

    def __init__(
        self,
        section: WebhookSection,
        results: Path,
        environ: Mapping[str, str] = os.environ,
        show: Show | None = None,
        clock: Clock | None = None,
    ) -> None:
        if not section.url:
            raise UserError(
                "the sink webhook has no address; set url in [webhook], or leave it out of sinks"
            )
        place = check_address(section.url, "url in [webhook]")
        key = environ.get(section.secret, "") if section.secret else ""
        if section.secret and not key:
            raise UserError(
                f"the environment variable {section.secret}, which [webhook] names, is not set; "
                "set it to the key that messages are signed with"
            )
        self._key = key.encode()
        self._place = place
        self._show = show
        clock = clock or Clock()
        self._now = clock.now
        self._deliveries = Deliveries(self.name, results)
        # A receiver that refuses what it is asked may say what that was.
        query = urlsplit(section.url).query
        values = (value for _, value in parse_qsl(query) if len(value) >= SHORTEST_SECRET)
        secrets = tuple(each for each in (key, query, *values) if each)
        self._receiver = Receiver(
            section.url, place, "url in [webhook]", secrets=secrets, clock=clock
        )

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
            place=self._place,
            note=self._show is None,
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
    """Return what stands in the header by which a receiver knows that a body is ours."""
    return f"sha256={hmac.new(key, body, hashlib.sha256).hexdigest()}"


def payload_of(message: Message, at: datetime) -> dict[str, Any]:
    """Return what is sent of a change at a moment."""
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
    """Return a regression with the worst of its series, and how many there are."""
    kept = regression.model_copy(update={"shifts": regression.shifts[:MOST_SHIFTS]})
    # Infinities, which JSON lacks, are texts in what the model writes itself.
    return json.loads(kept.model_dump_json()) | {"series": len(regression.shifts)}
