"""Connect to GitHub for one repository."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from pipeline.config.config_errors import REPOSITORY
from pipeline.notify.github.client import Client
from pipeline.text.errors import UserError
from pipeline.use_cases.context import Context

API = "GITHUB_API_URL"
"""Environment variable with the address of the API, if the configuration has none."""


class RepositoryClient(NamedTuple):
    """A connection to GitHub, and the repository that it is for."""

    client: Client
    repository: str


def github_client(context: Context, repository: str, needed: str) -> RepositoryClient:
    """Connect to GitHub for a repository, by default the one in ``[github]``.

    ``needed`` names the permission that the token must have, for the error text. Raises UserError
    without a repository or a token.
    """
    section = context.config.github
    chosen = {"repository": repository, "url": os.environ.get(API, "")}
    if "url" in section.model_fields_set:
        chosen.pop("url")
    section = section.model_copy(update={name: value for name, value in chosen.items() if value})
    if not section.repository:
        raise UserError(
            "no GitHub repository is named; give --repository OWNER/NAME, or set repository in "
            "[github]"
        )
    if not re.fullmatch(REPOSITORY, section.repository):
        raise UserError(
            f"the repository {section.repository!r} is not of the form OWNER/NAME; correct it"
        )
    token = os.environ.get(section.secret, "")
    if not token:
        raise UserError(
            f"the environment variable {section.secret} is not set; set it to a token with {needed}"
        )
    return RepositoryClient(Client(section, token), section.repository)
