"""Sinks: where regressions are told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pipeline.config import Config, GithubSection
from pipeline.errors import UserError
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
            case "github":
                made.append(_github(config.github, results, environ, show))
            case "webhook":
                made.append(WebhookSink(config.webhook, results, environ, show))
            case "slack":
                made.append(SlackSink(config.slack, results, environ, show))
    return made


def _github(
    section: GithubSection, results: Path, environ: Mapping[str, str], show: Show | None
) -> Sink:
    # Loaded where it is wanted: PyGithub would make every verb a seventh of a second slower.
    from pipeline.notify.github.sink import GithubSink  # noqa: PLC0415

    if not section.repository:
        raise UserError(
            "the sink github has no repository; set repository in [github] to OWNER/NAME, or leave "
            "it out of sinks"
        )
    token = environ.get(section.secret, "").strip()
    if not token:
        raise UserError(
            f"the environment variable {section.secret or 'that [github] secret names'} is not "
            "set; set it to a token that may write issues"
        )
    return GithubSink(section, results, token, show=show)
