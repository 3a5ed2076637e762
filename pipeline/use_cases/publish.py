"""The publish stage: send new results to Prometheus or another receiver."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pipeline.config import PublishSection
from pipeline.hub.status import receiver as hub_receiver
from pipeline.measure.plan import Plan
from pipeline.measure.progress import Watcher, counting
from pipeline.publish.all_groups import all_groups, closing, opening
from pipeline.publish.blocks import write_blocks
from pipeline.publish.checkpoint import opened
from pipeline.publish.credentials import Credentials, basic, bearer
from pipeline.publish.remote import TIMEOUT, RemoteWriter, Written, receiver_name
from pipeline.publish.samples import TimeSeries
from pipeline.publish.sync import Synced, sync
from pipeline.storage.journal import now
from pipeline.storage.night_log import Nights
from pipeline.storage.server_log import Servers, last_reaped, lives
from pipeline.text.errors import UserError, first_line
from pipeline.text.units import plural
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


class PublishResult(NamedTuple):
    """What was sent, to which receiver, and how long it took in seconds."""

    receiver: str
    synced: Synced
    seconds: float


def publish_to(
    context: MeasuringContext,
    watcher: Watcher,
    done: Callable[[PublishResult], None],
    *,
    url: str = "",
    rebuild: bool = False,
    blocks: Path | None = None,
) -> None:
    """Send new results to ``url``, else to the configured receiver, else to the hub.

    ``done`` receives the result, even if an error is raised afterwards. Raises UserError if there
    is no receiver, or if it cannot be written.
    """
    began = time.monotonic()
    receiver = url or context.config.publish.url or hub_receiver(context.config)
    if not receiver:
        raise UserError(
            "no Prometheus (or other receiver) to publish to is known; set [publish] url, give "
            "--url, or run `nightshift hub up`"
        )
    if blocks is not None and not rebuild:
        raise UserError("--blocks works only together with --rebuild; add --rebuild")
    synced = Synced()
    try:
        publish(context, context.plan(), receiver, synced, watcher, rebuild=rebuild, blocks=blocks)
    finally:
        done(_published(receiver, synced, time.monotonic() - began))


def publish_stage(context: MeasuringContext, plan: Plan, watcher: Watcher) -> PublishResult | None:
    """Send new results at the end of a night; a failure is only a warning.

    Returns the result; None if there is no receiver.
    """
    url = context.config.publish.url
    if not url:
        return None
    began, synced = time.monotonic(), Synced()
    try:
        publish(context, plan, url, synced, watcher)
    except UserError as error:
        _LOG.warning(f"publishing was incomplete: {error}; the next night sends what is missing")
    except Exception as error:
        _LOG.warning(
            f"publishing was incomplete: {type(error).__name__}: {first_line(error)}; "
            "the next night sends what is missing, and `nightshift publish` shows the traceback"
        )
    return _published(url, synced, time.monotonic() - began)


def _published(url: str, synced: Synced, seconds: float) -> PublishResult:
    """Return what was sent, and warn about refused samples."""
    receiver = receiver_name(url)
    sent = {"samples": synced.samples, "refused": synced.refused, "complete": synced.complete}
    _LOG.info("samples published", extra={"receiver": receiver, **sent})
    if synced.refused:
        why = "; ".join(synced.reasons)
        _LOG.warning(f"{receiver} refused {plural(synced.refused, 'sample')} permanently: {why}")
    return PublishResult(receiver, synced, seconds)


def publish(
    context: MeasuringContext,
    plan: Plan,
    url: str,
    synced: Synced,
    watcher: Watcher,
    *,
    rebuild: bool = False,
    blocks: Path | None = None,
) -> None:
    """Send everything that a receiver lacks; ``synced`` counts what has been sent so far.

    With ``rebuild`` everything is sent again or, with a folder ``blocks``, written to it as blocks
    of Prometheus. Raises UserError if the receiver or the folder cannot be written.
    """
    name = context.config.publish.name
    at = now()
    detected = context.regressions.detection(at)
    if detected is not None and detected.plan != plan.hash:
        _LOG.warning(
            "changes were not published, because they were detected for another plan; run "
            "`nightshift detect` first (with --quick if the plan is the quick one)"
        )
    with opened(context.results, url) as position:
        if rebuild:
            position.forget()
        groups = list(
            all_groups(
                context.store,
                plan,
                detected,
                context.regressions.known(at).values(),
                Nights(context.results).read(),
                lives(Servers(context.results).read()).values(),
                position.known(),
                pipeline=name,
                watched=context.config.detect.metrics,
                now=now(),
            )
        )
        with counting(watcher, "publish", len(groups)) as progress:
            if blocks is not None:
                # All at once, because blocks of several parts would overlap.
                write = partial(_into_blocks, blocks)
                sync(groups, position, write, synced, progress, at_once=sys.maxsize)
                return
            send = _writer(context.config.publish, url).write
            send(opening(name, position.refused(), now()))
            sync(groups, position, send, synced, progress)
            send(closing(name, now(), last_reaped(context.results)))


def _writer(settings: PublishSection, url: str) -> RemoteWriter:
    return RemoteWriter(
        url,
        # Credentials are only for the configured receiver.
        credentials=_credentials(settings) if url == settings.url else None,
        certificate=str(settings.certificate) if settings.certificate else True,
        timeout=min(TIMEOUT, settings.patience),
        patience=settings.patience,
    )


def _into_blocks(data_folder: Path, series: Iterable[TimeSeries]) -> Written:
    return Written(sent=write_blocks(series, data_folder).samples)


def _credentials(settings: PublishSection) -> Credentials | None:
    if not settings.secret:
        return None
    if settings.username:
        return basic(settings.username, settings.secret)
    return bearer(settings.secret)
