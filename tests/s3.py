"""A real S3 server on loopback: versitygw, which keeps objects as files in a folder."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import requests

from pipeline.machine.account import contained
from pipeline.machine.ports import LOOPBACK
from tests.go_tools import program
from tests.ports import free_port

ACCESS_KEY = "nightshift"
SECRET_KEY = ACCESS_KEY * 4
"""The one account that the server knows."""

REGION = "us-east-1"
"""The region that requests are signed for."""


class S3:
    """A server with a folder of its own, at ``url``; requests are checked and signed as S3's are.

    An object is the file of its key in the folder of its bucket, so that a test can look at what
    there is, and change or remove it, without a client.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "buckets"
        self.log = folder / "versitygw.log"
        self.port = free_port()
        self._about = folder / "about"
        self._process: subprocess.Popen[bytes] | None = None
        for each in (self.folder, self._about):
            each.mkdir(parents=True)

    @property
    def url(self) -> str:
        """Its address; buckets are folders of it, as in ``URL/BUCKET/KEY``."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def environ(self) -> dict[str, str]:
        """What a client of it finds in its environment, under the names that all clients know."""
        return {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL_S3": self.url,
        }

    def bucket(self, name: str) -> Path:
        """Make an empty bucket; return the folder that its objects are files of."""
        place = self.folder / name
        place.mkdir()
        return place

    def start(self) -> None:
        """Start it and return once it answers."""
        # A sidecar, because not every file system keeps metadata beside an object.
        storage = ("posix", "--sidecar", str(self._about), str(self.folder))
        address = f"{LOOPBACK}:{self.port}"
        server = (str(program("versitygw")), "--quiet", "--port", address, "--region", REGION)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                contained([*server, *storage]),
                env={
                    **os.environ,
                    "ROOT_ACCESS_KEY_ID": ACCESS_KEY,
                    "ROOT_SECRET_ACCESS_KEY": SECRET_KEY,
                },
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + 300
        try:
            while not self._answers():
                assert self._process.poll() is None, self.log.read_text()
                assert time.monotonic() < deadline, self.log.read_text()
                time.sleep(0.02)
        except BaseException:
            self.stop()
            raise

    def _answers(self) -> bool:
        try:
            # Unsigned, so refused: but by a server that is there.
            return requests.get(self.url, timeout=10).status_code == 403
        except (requests.ConnectionError, requests.Timeout):
            return False

    def stop(self) -> None:
        """End it as a lost machine does; what it stored stays in its folder."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
            self._process = None
