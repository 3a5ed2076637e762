"""A real Chromium without a network, driven through a pipe."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")

_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)

_AS_3_AND_4 = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)
"""The browser reads commands from its file descriptor 3 and answers on 4."""

_PATIENCE = 180.0
"""Seconds after which something that should come about is given up."""


class Browser:
    """One page. Everything it says or asks of a network is kept."""

    def __init__(self, writer: int, reader: int) -> None:
        self._writer, self._reader = writer, reader
        self._pending = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send("Page.setLifecycleEventsEnabled", enabled=True)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and return its result; events that come before it are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def open(
        self, path: Path, *, width: int = 1400, height: int = 1000, dark: bool = False
    ) -> None:
        """Open a file in a window of a size and wait until its scripts have run."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.events.clear()
        # Of this page: that the empty one before it is loaded may be reported late.
        loaded = {
            "name": "load",
            "loaderId": self.send("Page.navigate", url=path.as_uri())["loaderId"],
        }
        while not any(
            event["method"] == "Page.lifecycleEvent" and loaded.items() <= event["params"].items()
            for event in self.events
        ):
            self._receive()

    def run(self, script: str) -> Any:
        """Evaluate an expression, waiting for it where it is a promise."""
        answer = self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and release a key, by its name and its code."""
        for kind in ("keyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                text=text,
                windowsVirtualKeyCode=code,
            )

    def until(self, script: str) -> None:
        """Wait until an expression is true, no longer than the page is without complaint."""
        deadline = time.monotonic() + _PATIENCE
        while not self.run(script):
            assert self.complaints() == []
            assert time.monotonic() < deadline, f"never came true: {script}"
            time.sleep(0.02)

    def complaints(self) -> list[str]:
        """Return the errors and warnings of the console, and uncaught exceptions."""
        found = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded":
                found.append(str(params["entry"]["text"]))
            elif event["method"] == "Runtime.consoleAPICalled":
                found.append(str(params["args"]))
        return found

    def requests(self) -> list[str]:
        """Return the address of everything that was asked for."""
        return [
            str(event["params"]["request"]["url"])
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Keep a picture of the window, or of the whole page."""
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._reader], [], [], _PATIENCE)
            assert ready, "the browser says nothing"
            read = os.read(self._reader, 1 << 20)
            assert read, "the browser ended"
            self._pending += read
        text, _, self._pending = self._pending.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message


def drawn_pixels(browser: Browser, canvas: str, colour: str) -> int:
    """Count the pixels of a canvas in a colour of the style."""
    found: int = browser.run(
        f"""(() => {{
          const canvas = {canvas};
          const probe = document.createElement('canvas').getContext('2d');
          probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue({colour!r});
          probe.fillRect(0, 0, 1, 1);
          const wanted = probe.getImageData(0, 0, 1, 1).data.join();
          const {{ data }} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          let count = 0;
          for (let at = 0; at < data.length; at += 4) if (data.slice(at, at + 4).join() === wanted) count += 1;
          return count;
        }})()"""  # noqa: E501
    )
    return found


@contextlib.contextmanager
def started(profile: Path) -> Iterator[Browser]:
    """Run a browser with a profile of its own; nothing of it is left afterwards."""
    assert PROGRAM is not None
    inner, writer = os.pipe()
    reader, outer = os.pipe()
    commands, answers = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (inner, outer))
    os.close(inner)
    os.close(outer)
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", _AS_3_AND_4, str(commands), str(answers)),
            *(PROGRAM, *_OPTIONS, f"--user-data-dir={profile}"),
        ],
        pass_fds=(commands, answers),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(commands)
    os.close(answers)
    try:
        browser = Browser(writer, reader)
        yield browser
        # Asked to, it waits for its own processes; killed, it would leave them to others.
        browser.send("Browser.close")
        process.wait(_PATIENCE)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(writer)
        os.close(reader)
