"""Sinks report regressions: as files, as GitHub issues, or as messages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pipeline.config import Config, GithubSection
from pipeline.notify.base import Sink
from pipeline.notify.base.preview import Show
from pipeline.notify.directory import DirectorySink
from pipeline.notify.slack import SlackSink
from pipeline.notify.webhook import WebhookSink
from pipeline.text.errors import UserError

MESSENGERS = frozenset({"webhook", "slack"})
"""Sinks that send a message for each change. The other sinks keep an up-to-date report of each
cause."""


def find_sinks(
    config: Config, environ: Mapping[str, str] = os.environ, show: Show | None = None
) -> list[Sink]:
    """Return the sinks that ``nightshift.toml`` names, each once; nothing is contacted yet.

    With ``show``, the sinks send and write nothing; they pass what they would send or write to
    ``show``. Raises UserError for a sink that lacks a setting or a secret.
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
    # Imported on demand: PyGithub would slow every verb by a seventh of a second.
    from pipeline.notify.github.sink import GithubSink  # noqa: PLC0415

    if not section.repository:
        raise UserError(
            "the sink github has no repository; set [github] repository to OWNER/NAME, or "
            "remove github from [notify] sinks"
        )
    token = environ.get(section.secret, "").strip()
    if not section.secret:
        raise UserError(
            "[github] secret is empty; set it to the name of the environment variable that "
            "holds a token with write access to issues"
        )
    if not token:
        raise UserError(
            f"the environment variable {section.secret} is not set; set it to a token with "
            "write access to issues"
        )
    return GithubSink(section, results, token, show=show)
