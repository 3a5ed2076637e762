"""Sinks: where regressions are told."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pipeline.config import Config
from pipeline.notify.base import Sink
from pipeline.notify.base.preview import Show
from pipeline.notify.directory import DirectorySink
from pipeline.notify.slack import SlackSink
from pipeline.notify.webhook import WebhookSink

MESSENGERS = frozenset({"webhook", "slack"})
"""Sinks that send messages about changes. The others keep what they tell in a place, up to date."""


def find_sinks(
    config: Config, environ: Mapping[str, str] = os.environ, show: Show | None = None
) -> list[Sink]:
    """Return the sinks that a configuration names, each once; nothing is asked or sent yet.

    With ``show`` they send and write nothing, and show what they would. Raises UserError for a sink
    that lacks a setting or a secret.
    """
    results = config.paths.results
    made: list[Sink] = []
    for name in dict.fromkeys(config.notify.sinks):
        match name:
            case "directory":
                made.append(DirectorySink(config.issues_folder, show))
            case "webhook":
                made.append(WebhookSink(config.webhook, results, environ, show))
            case "slack":
                made.append(SlackSink(config.slack, results, environ, show))
    return made
