"""The verb publish."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pipeline.analyse.detected import kept_detection
from pipeline.cli.app import app
from pipeline.cli.console import out, screen, warn
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import counting
from pipeline.config import DEFAULT_FILE, PublishSection
from pipeline.errors import UserError, first_line
from pipeline.execute.plan import Plan
from pipeline.hub.status import receiver as hub_receiver
from pipeline.journal import now
from pipeline.nights import Nights
from pipeline.publish.blocks import write_blocks
from pipeline.publish.credentials import Credentials, basic, bearer
from pipeline.publish.everything import all_groups, closing, opening
from pipeline.publish.position import opened
from pipeline.publish.remote import TIMEOUT, RemoteWriter, Written, receiver_name
from pipeline.publish.samples import TimeSeries
from pipeline.publish.sync import Synced, sync
from pipeline.servers import Servers, lives
from pipeline.store.regressions import stored_regressions
from pipeline.units import counted, show_duration


@app.command("publish")
def publish_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    url: Annotated[str, typer.Option(help="Publish to this receiver instead.")] = "",
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Send everything again: the receiver was emptied."),
    ] = False,
    blocks: Annotated[
        Path | None,
        typer.Option(
            help="With --rebuild: do not send it, but make blocks of it in this data folder of "
            "the receiver, which is then a Prometheus on this machine."
        ),
    ] = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Send new measurements to Prometheus.

    That is the receiver of the configuration or, without one, the hub that runs here. Every value
    has the time at which it was measured, and what was corrected is told again.

    Example: nightshift publish --url http://127.0.0.1:9090/api/v1/write
    """
    began = time.monotonic()
    context = MeasuringContext(config, quick)
    settings = context.config.publish
    receiver = url or settings.url or hub_receiver(context.config)
    if not receiver:
        raise UserError(
            "there is nowhere to publish to; set url in [publish], give --url, or run "
            "`nightshift hub up`"
        )
    if blocks is not None and not rebuild:
        raise UserError("--blocks is for everything at once; add --rebuild")
    name, synced = receiver_name(receiver), Synced()
    try:
        publish(context, context.plan(), receiver, synced, rebuild=rebuild, blocks=blocks)
    finally:
        told = _told(synced, name, time.monotonic() - began)
        if form is Format.TEXT and told:
            out.print(told, markup=False)
    if form is Format.JSON:
        print_json({"url": name, "seconds": round(time.monotonic() - began, 3), **vars(synced)})


def publish_stage(context: MeasuringContext, plan: Plan) -> tuple[Synced, str] | None:
    """Publish at the end of a night, which does not fail if that does.

    Returns what was sent, and a line that says it; None where nothing is to be published.
    """
    url = context.config.publish.url
    if not url:
        return None
    began, synced = time.monotonic(), Synced()
    try:
        publish(context, plan, url, synced)
    except UserError as error:
        warn(f"not all was published: {error}")
    except Exception as error:
        warn(
            f"not all was published: {type(error).__name__}: {first_line(error)}; "
            "`nightshift publish` says where"
        )
    return synced, _told(synced, receiver_name(url), time.monotonic() - began)


def publish(
    context: MeasuringContext,
    plan: Plan,
    url: str,
    synced: Synced,
    *,
    rebuild: bool = False,
    blocks: Path | None = None,
) -> None:
    """Send what a receiver does not have yet; ``synced`` tells how far it is, whatever happens.

    With ``rebuild`` that is everything, which goes into blocks in the folder ``blocks`` if that is
    given. Raises UserError where it cannot be written to.
    """
    name = context.config.publish.name
    detected = kept_detection(context.results)
    if detected is not None and detected.plan != plan.hash:
        warn(
            "nothing is said of changes: they were searched in another plan; run `nightshift "
            "detect` (with --quick, if that was meant) first"
        )
    with opened(context.results, url) as position:
        if rebuild:
            position.forget()
        groups = list(
            all_groups(
                context.store,
                plan,
                detected,
                stored_regressions(context.store),
                Nights(context.results).read(),
                lives(Servers(context.results).read()).values(),
                position.known(),
                pipeline=name,
                watched=context.config.detect.metrics,
                now=now(),
            )
        )
        with counting(screen(), "publish", len(groups)) as progress:
            if blocks is not None:
                # All at once: blocks of parts would overlap one another.
                write = partial(_into_blocks, blocks)
                sync(groups, position, write, synced, progress, at_once=sys.maxsize)
                return
            send = _writer(context.config.publish, url).write
            send(opening(name, position.refused(), now()))
            sync(groups, position, send, synced, progress)
            send(closing(name, now()))


def _writer(settings: PublishSection, url: str) -> RemoteWriter:
    return RemoteWriter(
        url,
        # They are for the receiver of the configuration, and for nobody else's eyes.
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


def _told(synced: Synced, receiver: str, seconds: float) -> str:
    """Say in a line what was sent, and warn of what was refused; nothing of a vain attempt."""
    if synced.refused:
        why = "; ".join(synced.reasons)
        warn(f"{receiver} refused {counted(synced.refused, 'sample')} for good: {why}")
    if not synced.groups and not synced.complete:
        return ""
    corrected = f", {counted(synced.corrections, 'correction')}" if synced.corrections else ""
    sent = f"{counted(synced.samples, 'sample')}{corrected}" if synced.groups else "nothing new"
    return f"published {sent} to {receiver} in {show_duration(seconds)}"
