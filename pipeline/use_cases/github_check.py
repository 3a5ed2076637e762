"""Check the settings of a repository on GitHub."""

from __future__ import annotations

from pipeline.notify.github.failures import UnavailableError
from pipeline.notify.github.settings import read_settings
from pipeline.notify.github.settings_checks import SettingFinding, judge_settings
from pipeline.text.errors import UserError
from pipeline.use_cases.context import Context
from pipeline.use_cases.github_client import github_client


def check_repository(context: Context, repository: str) -> list[SettingFinding]:
    """Return the settings of a GitHub repository that nightshift needs, and whether each is set.

    Raises UserError if the repository does not exist or the token has no access to it, and if
    GitHub cannot be reached.
    """
    client, name = github_client(context, repository, "read access to administration")
    try:
        return judge_settings(read_settings(client, name), client.now)
    except UnavailableError as error:
        raise UserError(
            f"the repository {name} could not be checked: {error}; run the same command again"
        ) from error
