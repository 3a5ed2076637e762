"""Runners of GitHub Actions, registered just in time: each is good for one job.

The token that registers them stays here. What a server is given is one configuration for each job,
which GitHub takes once.
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
from pipeline.errors import UserError
from pipeline.fleet.pace import Pace, Passing
from pipeline.model import Frozen

_TIMEOUT = (10.0, 60.0)
"""Seconds for a connection, and for an answer."""
_PAGE = 100
_GROUP = 1
"""The runner group Default, the one that every repository has."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Program(Frozen):
    """The runner program: where it is had, and the SHA-256 of its archive."""

    url: str
    sha256: str


class Runners:
    """The runners of a repository."""

    def __init__(self, url: str, repository: str, token: str, variable: str, pace: Pace) -> None:
        self._root = f"{url.rstrip('/')}/repos/{repository}/actions/runners"
        self._repository, self._variable, self._pace = repository, variable, pace
        self._session = requests.Session()
        self._session.headers.update(
            {
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {token}",
                "X-GitHub-Api-Version": "2022-11-28",
            }
        )

    def program(self) -> Program:
        """Return the runner program that GitHub offers now. Raises UserError if it offers none."""
        for each in self._asked("GET", "/downloads"):
            if (each.get("os"), each.get("architecture")) == ("linux", "x64"):
                found = Program(
                    url=str(each["download_url"]), sha256=str(each.get("sha256_checksum") or "")
                )
                if _SHA256.fullmatch(found.sha256) and urlsplit(found.url).scheme == "https":
                    return found
        raise UserError("GitHub offers no runner program for Linux with its checksum; ask it later")

    def register(self, name: str, labels: Sequence[str]) -> str:
        """Register a runner and return its configuration, which is a secret.

        One that has the name already is removed: whoever registered it does not have its
        configuration any more.
        """
        wish = {
            "name": name,
            "runner_group_id": _GROUP,
            "labels": list(labels),
            "work_folder": "_work",
        }

        def attempt() -> str:
            try:
                answer = self._asked("POST", "/generate-jitconfig", wish)
            except _Conflict as error:
                self._remove(lambda other: other == name)
                raise Passing(f"a runner named {name} is registered already") from error
            return str(answer["encoded_jit_config"])

        return self._pace.persist(attempt)

    def remove(self, prefix: str) -> int:
        """Remove the runners whose names begin so; return how many. Busy ones stay."""
        return self._remove(lambda name: name.startswith(prefix))

    def silent(self) -> set[str]:
        """Return the names of the runners that are registered and not connected."""
        return {str(each["name"]) for each in self._all() if each["status"] == "offline"}

    def _remove(self, wanted: Callable[[str], bool]) -> int:
        found = [each for each in self._all() if wanted(str(each["name"]))]
        removed = 0
        for each in found:
            try:
                self._asked("DELETE", f"/{each['id']}")
                removed += 1
            except _Conflict:
                self._pace.tell(f"runner {each['name']} is busy and stays registered")
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
        return self._pace.persist(lambda: self._ask(method, path, body))

    def _ask(self, method: str, path: str, body: Any) -> Any:
        try:
            answer = self._session.request(
                method, self._root + path, json=body, timeout=_TIMEOUT, allow_redirects=False
            )
        except requests.RequestException as error:
            raise Passing(f"GitHub does not answer ({type(error).__name__})") from error
        status = answer.status_code
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or _limited(answer):
            raise Passing(f"GitHub answers {status} and asks to be asked later")
        if method == "POST" and status == HTTPStatus.CONFLICT:
            raise _Conflict
        if method == "DELETE" and status == HTTPStatus.UNPROCESSABLE_ENTITY:
            raise _Conflict
        if method == "DELETE" and status == HTTPStatus.NOT_FOUND:
            return None
        if status // 100 == 3:
            raise UserError(
                f"{self._repository} is called otherwise now; set repository in [github] to that"
            )
        if not answer.ok:
            raise UserError(
                f"GitHub answers {status} where runners of {self._repository} are administered; "
                f"give {self._variable} a token that may (administration: write)"
            )
        return answer.json() if answer.content else None


def find_runners(config: Config, pace: Pace, environ: Mapping[str, str] = os.environ) -> Runners:
    """Return the runners of the repository of the configuration. Raises UserError without one."""
    variable, repository = config.fleet.runner_secret, config.github.repository
    if not repository:
        raise UserError(
            "no repository in [github] that the servers are runners of; set it, as me/bench"
        )
    token = environ.get(variable, "").strip()
    if not token or not token.isascii() or not token.isprintable():
        raise UserError(
            f"the environment variable {variable}, which [fleet] names, holds no token; set it to "
            f"one that may administer {repository}"
        )
    return Runners(config.github.url, repository, token, variable, pace)


class _Conflict(Exception):
    """There is one of that name, or it is busy."""


def _limited(answer: requests.Response) -> bool:
    """Tell whether GitHub refuses only for now: its first or its secondary limit of requests."""
    if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return True
    return answer.status_code == HTTPStatus.FORBIDDEN and (
        "Retry-After" in answer.headers or "rate limit" in answer.text.lower()
    )
