"""Prism on loopback: it checks what goes to GitHub and what comes back by GitHub's description."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests

from pipeline.machine.ports import LOOPBACK
from tests.openapi.description import JSON
from tests.ports import free_port

PATIENCE = 300.0
"""Seconds within which it has to be ready; it takes two to five."""

HERE = Path(__file__).parent


def installed() -> Path:
    """Return the folder that tools/setup put Prism and the description into; skip without it."""
    folder = Path(os.environ.get("NIGHTSHIFT_VENV", sys.prefix)) / "openapi"
    if not folder.is_dir() or shutil.which("node") is None:
        pytest.skip("Prism and GitHub's OpenAPI are not here; tools/setup test has them from npm")
    return folder.absolute()


def github() -> JSON:
    """Return GitHub's whole description of its API."""
    file = installed() / "node_modules/@octokit/openapi/generated/api.github.com.json"
    whole: JSON = json.loads(file.read_text())
    return whole


class Prism:
    """A proxy in front of an address on loopback, which passes on what fits a description.

    What does not fit is answered by itself, and is in ``violations``.
    """

    def __init__(self, folder: Path, description: JSON, upstream: str) -> None:
        node = installed()
        document = folder / "description.json"
        document.write_text(json.dumps(description))
        self._log = folder / "prism.log"
        self._words = 0
        self.url = f"http://{LOOPBACK}:{(port := free_port())}"
        command = [
            *("node", "--require", str(HERE / "prism.cjs"), "node_modules/.bin/prism"),
            *("proxy", str(document), upstream, "--errors"),
            *("--host", LOOPBACK, "--port", str(port)),
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, cwd=node, stdout=log, stderr=log)
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self._process.poll() is None:
            try:
                requests.get(self.url, timeout=60)
            except requests.RequestException:
                time.sleep(0.05)
            else:
                self.forget()
                return
        self.stop()
        raise AssertionError(f"Prism did not start: {self._log.read_text()[-2000:]}")

    def _said(self) -> str:
        """Return its whole log. It answers before it says why: wait for a word of our own."""
        self._words += 1
        word = f"/that-was-all-{self._words}-"
        requests.get(self.url + word, timeout=PATIENCE)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            said = self._log.read_text(errors="replace")
            if f"{word} ✖" in said:
                return said
            time.sleep(0.01)
        raise AssertionError(f"Prism is silent: {self._log.read_text()[-2000:]}")

    def forget(self) -> None:
        """Let what was found so far be no violation of what comes now."""
        self._read = len(self._said())

    @property
    def violations(self) -> list[str]:
        """What did not fit, in Prism's words.

        That an error is none of those which GitHub describes is no violation: it describes few.
        """
        return [
            line
            for line in self._said()[self._read :].splitlines()
            if "Violation:" in line or "terminated with error" in line
            if "Unable to match the returned status code" not in line
            if "/that-was-all-" not in line
        ]

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(60)
        finally:
            self._process.kill()
            self._process.wait()
