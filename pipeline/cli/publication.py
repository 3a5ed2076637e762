"""One line of text about a publication."""

from __future__ import annotations

from pipeline.text.units import plural, show_duration
from pipeline.use_cases.publish import PublishResult


def published_line(published: PublishResult) -> str:
    """Return the number of sent samples as one line; empty if none was sent."""
    synced = published.synced
    if not synced.groups and not synced.complete:
        return ""
    corrected = f", {plural(synced.corrections, 'correction')}" if synced.corrections else ""
    sent = f"{plural(synced.samples, 'sample')}{corrected}" if synced.groups else "nothing new"
    return f"published {sent} to {published.receiver} in {show_duration(published.seconds)}"
