"""What can go wrong, on purpose."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass
class Fault:
    """A fault that the next ``times`` requests meet whose method and path fit.

    ``path`` is a regular expression that the whole path has to match, without ``/v1``. The request
    is answered with ``status`` and the error ``code``. A status of 0 closes the connection; with
    ``taken`` after the request was done. With ``fails`` the request is done, and its action ends
    with that error.
    """

    method: str = "POST"
    path: str = "/servers"
    status: int = 0
    code: str = ""
    taken: bool = False
    fails: str = ""
    times: int = 1
    skip: int = 0

    def met_by(self, method: str, path: str) -> bool:
        """Tell whether a request meets it, which then uses it up once."""
        if not self.times or method != self.method or not re.fullmatch(self.path, path):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True
