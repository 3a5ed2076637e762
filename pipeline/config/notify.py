"""Where regressions are told, and the settings of the places."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from pipeline.config.base import Section
from pipeline.mistakes import RECEIVER, REPOSITORY, VARIABLE
from pipeline.units import Duration

SinkName = Literal["directory", "github", "webhook", "slack"]
"""The places where regressions can be told."""


class GithubSection(Section):
    """Issues of a repository on GitHub."""

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
        description="labels of every issue; by the first of them issues are found again",
    )
    acknowledged: str = Field(
        default="acknowledged",
        min_length=1,
        max_length=50,
        description="label by which people acknowledge a regression",
    )
    at_most: int = Field(
        default=10, ge=1, description="issues that one night may open; the rest waits for the next"
    )
    patience: Duration = Field(
        default=600.0,
        description="time that waiting for GitHub may cost a night; what is left is told next time",
        json_schema_extra={"default": "10m"},
    )


class WebhookSection(Section):
    """JSON to an address, signed."""

    url: str = Field(default="", pattern=RECEIVER, description="where it is sent")
    secret: str = Field(
        default="",
        pattern=VARIABLE,
        description="name of the environment variable with the key of the signature "
        "(HMAC-SHA256, as GitHub's); empty for none",
    )


class SlackSection(Section):
    """Messages to a channel of Slack, Mattermost or whatever takes the same."""

    secret: str = Field(
        default="NIGHTSHIFT_SLACK_URL",
        pattern=VARIABLE,
        description="name of the environment variable with the incoming webhook's address, which "
        "is a secret itself",
    )


class NotifySection(Section):
    """Where regressions are told."""

    sinks: tuple[SinkName, ...] = Field(
        default=("directory",),
        description="directory: a markdown file for each regression; github: an issue; webhook and "
        "slack: a message for each change; each has a table of its own",
    )
    folder: Path | None = Field(
        default=None, description="where the files go; by default issues in paths.results"
    )
    suspected: bool = Field(
        default=False, description="file also what was not confirmed by measuring it again"
    )
