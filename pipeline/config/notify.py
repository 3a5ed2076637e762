"""The settings of sinks: where regressions are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from pipeline.config.base import Section
from pipeline.config.config_errors import RECEIVER, REPOSITORY, VARIABLE
from pipeline.text.units import Duration

SinkName = Literal["directory", "github", "webhook", "slack"]
"""The names of the sinks."""


class GithubSection(Section):
    """The table ``[github]``: report regressions as issues of a repository."""

    repository: str = Field(
        default="", pattern=REPOSITORY, description="OWNER/NAME of the repository with the issues"
    )
    url: str = Field(
        default="https://api.github.com",
        pattern=RECEIVER,
        description="address of the API, for GitHub Enterprise",
    )
    secret: str = Field(
        default="GITHUB_TOKEN",
        pattern=VARIABLE,
        description="name of the environment variable that holds a token which may write issues",
    )
    labels: tuple[Annotated[str, Field(min_length=1, max_length=50)], ...] = Field(
        default=("nightshift",),
        min_length=1,
        description="labels of every issue; nightshift finds its issues by the first one",
    )
    acknowledged: str = Field(
        default="acknowledged",
        min_length=1,
        max_length=50,
        description="label by which people acknowledge a regression",
    )
    at_most: int = Field(
        default=10,
        ge=1,
        description="maximum number of issues that one night opens; the rest waits for the "
        "next night",
    )
    patience: Duration = Field(
        default="10m",
        validate_default=True,
        description="maximum time that a night waits for GitHub; the rest is sent the next time",
    )


class WebhookSection(Section):
    """The table ``[webhook]``: report regressions as signed JSON to an address."""

    url: str = Field(default="", pattern=RECEIVER, description="address that messages are sent to")
    secret: str = Field(
        default="",
        pattern=VARIABLE,
        description=(
            "name of the environment variable that holds the signing key (HMAC-SHA256, as in "
            "GitHub's webhooks); empty for no signature"
        ),
    )


class SlackSection(Section):
    """The table ``[slack]``: report regressions to a channel of Slack or Mattermost."""

    secret: str = Field(
        default="NIGHTSHIFT_SLACK_URL",
        pattern=VARIABLE,
        description=(
            "name of the environment variable that holds the address of the incoming webhook, "
            "which is a secret"
        ),
    )


class NotifySection(Section):
    """The table ``[notify]``: to which sinks regressions are reported, and when."""

    sinks: tuple[SinkName, ...] = Field(
        default=("directory",),
        description=(
            "sinks: directory (a markdown file for each regression), github (an issue), "
            "webhook and slack (a message for each change); each has its own table"
        ),
    )
    folder: Path | None = Field(
        default=None,
        description="folder of the issue files; by default the folder issues in paths.results",
    )
    suspected: bool = Field(
        default=False, description="also report regressions that are not confirmed yet"
    )
