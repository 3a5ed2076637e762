"""GitHub Actions runners that exist for one job each.

The token that registers runners never leaves this machine. A server receives one configuration per
job, which GitHub accepts once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import requests

from pipeline.config import Config
from pipeline.fleet.retry import RetryPolicy, TransientError
from pipeline.model import Frozen
from pipeline.text.errors import UserError

_TIMEOUT = (10.0, 60.0)
"""Timeouts in seconds: to connect, and for a response."""
_PAGE = 100
_GROUP = 1
"""The runner group Default, which every repository has."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Program(Frozen):
    """The runner program of GitHub: where to download it, and its SHA-256."""

    url: str
    sha256: str


class Runners:
    """The GitHub Actions runners of a repository."""

    def __init__(
        self, url: str, repository: str, token: str, variable: str, policy: RetryPolicy
    ) -> None:
        self._root = f"{url.rstrip('/')}/repos/{repository}/actions/runners"
        self._repository, self._variable, self._policy = repository, variable, policy
        self._session = requests.Session()
        self._session.headers.update(
            {
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {token}",
                "X-GitHub-Api-Version": "2022-11-28",
            }
        )

    def program(self) -> Program:
        """Return GitHub's current runner program. Raises UserError if there is none."""
        for each in self._asked("GET", "/downloads"):
            if (each.get("os"), each.get("architecture")) == ("linux", "x64"):
                found = Program(
                    url=str(each["download_url"]), sha256=str(each.get("sha256_checksum") or "")
                )
                if _SHA256.fullmatch(found.sha256) and urlsplit(found.url).scheme == "https":
                    return found
        raise UserError("GitHub lists no runner program for Linux with a checksum; try again later")

    def register(self, name: str, labels: Sequence[str]) -> str:
        """Register a runner and return its configuration, which is a secret.

        An existing runner with the name is removed: its configuration is lost.
        """
        body = {
            "name": name,
            "runner_group_id": _GROUP,
            "labels": list(labels),
            "work_folder": "_work",
        }

        def attempt() -> str:
            try:
                answer = self._asked("POST", "/generate-jitconfig", body)
            except _Conflict as error:
                self._remove(lambda other: other == name)
                raise TransientError(f"a runner {name} is already registered") from error
            return str(answer["encoded_jit_config"])

        return self._policy.persist(attempt)

    def remove(self, prefix: str) -> int:
        """Remove idle runners whose names have this prefix; return how many."""
        return self._remove(lambda name: name.startswith(prefix))

    def silent(self) -> set[str]:
        """Return the names of registered runners that are not connected to GitHub."""
        return {str(each["name"]) for each in self._all() if each["status"] == "offline"}

    def _remove(self, wanted: Callable[[str], bool]) -> int:
        found = [each for each in self._all() if wanted(str(each["name"]))]
        removed = 0
        for each in found:
            try:
                self._asked("DELETE", f"/{each['id']}")
                removed += 1
            except _Conflict:
                self._policy.note(f"runner {each['name']} is busy and stays registered")
        return removed

    def _all(self) -> Iterator[Mapping[str, Any]]:
        page = 1
        while True:
            found = self._asked("GET", f"?per_page={_PAGE}&page={page}")["runners"]
            yield from found
            if len(found) < _PAGE:
                return
            page += 1

    def _asked(self, method: str, path: str, body: Any = None) -> Any:
        return self._policy.persist(lambda: self._ask(method, path, body))

    def _ask(self, method: str, path: str, body: Any) -> Any:
        try:
            answer = self._session.request(
                method, self._root + path, json=body, timeout=_TIMEOUT, allow_redirects=False
            )
        except requests.RequestException as error:
            raise TransientError(f"GitHub does not respond ({type(error).__name__})") from error
        status = answer.status_code
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or _limited(answer):
            raise TransientError(f"GitHub returned the temporary status {status}")
        if method == "POST" and status == HTTPStatus.CONFLICT:
            raise _Conflict
        if method == "DELETE" and status == HTTPStatus.UNPROCESSABLE_ENTITY:
            raise _Conflict
        if method == "DELETE" and status == HTTPStatus.NOT_FOUND:
            return None
        if status // 100 == 3:
            raise UserError(
                f"{self._repository} was renamed; set repository in [github] to the new name"
            )
        if not answer.ok:
            raise UserError(
                f"GitHub returned status {status} for the runners of {self._repository}; set "
                f"{self._variable} to a token with the permission administration: write"
            )
        return answer.json() if answer.content else None


def find_runners(
    config: Config, policy: RetryPolicy, environ: Mapping[str, str] = os.environ
) -> Runners:
    """Return the runners of the configured repository. Raises UserError without one."""
    variable, repository = config.fleet.runner_secret, config.github.repository
    if not repository:
        raise UserError(
            "[github] repository is empty: the servers need a repository to register runners; "
            "set it, for example to me/bench"
        )
    token = environ.get(variable, "").strip()
    if not token or not token.isascii() or not token.isprintable():
        raise UserError(
            f"the environment variable {variable} ([fleet] runner_secret) holds no token; set "
            f"it to a token with administration rights to {repository}"
        )
    return Runners(config.github.url, repository, token, variable, policy)


class _Conflict(Exception):
    """A runner with this name exists already, or it is busy."""


def _limited(answer: requests.Response) -> bool:
    """Whether GitHub refuses a request for now, because there were too many."""
    if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return True
    return answer.status_code == HTTPStatus.FORBIDDEN and (
        "Retry-After" in answer.headers or "rate limit" in answer.text.lower()
    )
