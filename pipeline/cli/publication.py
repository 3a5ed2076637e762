"""Text about the samples that were sent to Prometheus."""

from __future__ import annotations

from pipeline.text.units import plural, show_duration
from pipeline.use_cases.publish import PublishResult


def published_line(published: PublishResult) -> str:
    """Return in one line how many samples were sent to Prometheus; empty if none were."""
    synced = published.synced
    if not synced.groups and not synced.complete:
        return ""
    corrected = f", {plural(synced.corrections, 'correction')}" if synced.corrections else ""
    sent = f"{plural(synced.samples, 'sample')}{corrected}" if synced.groups else "nothing new"
    return f"published {sent} to {published.receiver} in {show_duration(published.seconds)}"
