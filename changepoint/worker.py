"""Worker processes that search slices of a collection of series.

They are not processes of multiprocessing: those import the caller's main module, which fails for a
script without an ``if __name__`` guard. A worker is an interpreter that imports only this package,
reads slices from its standard input and writes its results to its standard output. It ends with its
input, so no worker is left behind.
"""

from __future__ import annotations

import io
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import fields
from operator import attrgetter
from queue import SimpleQueue
from typing import IO, Any, cast

from changepoint.api import detect
from changepoint.model import ChangePoint, Detection, Noise, Segment, SegmentLevel

Item = tuple[Any, Any]
"""The values of a series, and its positions or None."""

Answer = tuple[list[Detection], str | None]
"""The detections of a slice's series, up to the first rejected one, and the reason for the
rejection."""

# The path is the caller's, because it may have changed since that interpreter started; until then
# -P prevents imports from the current directory.
_MAIN = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from changepoint.worker import serve; serve()"
)


def can_start() -> bool:
    """Whether an interpreter can be started; a frozen application has none."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def search(items: Sequence[Item], options: Mapping[str, Any]) -> Answer:
    """Run ``detect`` on one series after the other, until one is rejected."""
    found: list[Detection] = []
    for values, positions in items:
        try:
            found.append(detect(values, positions=positions, **options))
        except ValueError as error:
            return found, str(error)
    return found, None


def answers(
    slices: Sequence[Sequence[Item]], options: Mapping[str, Any], workers: int
) -> Generator[Answer]:
    """Yield the result of :func:`search` for each slice, in order, computed by several processes.

    No process is left behind, even if the generator is closed early.

    Raises:
        RuntimeError: a process ended early.
    """
    processes: list[_Process] = []
    idle: SimpleQueue[_Process] = SimpleQueue()

    def ask(part: Sequence[Item]) -> Answer:
        try:
            request = pickle.dumps(part, pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError):
            return search(part, options)  # what cannot be sent
        process = idle.get()
        try:
            reply = process.ask(request)
        finally:
            idle.put(process)
        answer: Answer | None = pickle.loads(reply)  # noqa: S301 - of our own process
        return search(part, options) if answer is None else answer

    try:
        # Two threads per process: one packs or unpacks while the other's slice is searched.
        with ThreadPoolExecutor(2 * workers) as threads:
            try:
                for _ in range(workers):
                    processes.append(_Process(options))
                    idle.put(processes[-1])
                yield from threads.map(ask, slices)
            finally:
                # Before waiting for the threads: some may be waiting for a response.
                for process in processes:
                    process.kill()
    finally:
        for process in processes:
            process.close()


def serve() -> None:
    """Respond to requests from standard input until it ends: the main loop of a worker."""
    if hasattr(signal, "SIGPIPE"):
        # If the caller is gone, nobody needs a traceback.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Output printed during a search must not get between the responses.
    requests, replies, sys.stdout = sys.stdin.buffer, sys.stdout.buffer, sys.stderr
    options = pickle.load(requests)  # noqa: S301 - of the process that started this one
    with suppress(EOFError):
        while True:
            request = _receive(requests)
            answer: Answer | None = None
            # If a request fails, for example because of classes in the caller's main module, the
            # caller repeats it and sees the error itself.
            with suppress(Exception):
                items = pickle.loads(request)  # noqa: S301 - the same
                answer = search(items, options)
            _send(replies, _dumps(answer))


class _Process:
    """An interpreter that runs :func:`serve`."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _MAIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C is for the caller, who ends the process.
            start_new_session=True,
        )
        self._requests = cast(IO[bytes], self._process.stdin)
        self._replies = cast(IO[bytes], self._process.stdout)
        # The worker reads it after its start; until then the pipe holds it.
        self._requests.write(pickle.dumps(sys.path) + pickle.dumps(dict(options)))

    def ask(self, request: bytes) -> bytes:
        """Send a request and return the reply. Raises RuntimeError if the process ended."""
        try:
            _send(self._requests, request)
            return _receive(self._replies)
        except (EOFError, BrokenPipeError):
            raise RuntimeError(
                f"a worker process ended with exit code {self._process.wait()}, perhaps for "
                "lack of memory; workers=1 starts no processes"
            ) from None

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def close(self) -> None:
        """Wait for the end of the process and close its pipes."""
        with suppress(BrokenPipeError), self._process:
            pass


def _send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(len(message).to_bytes(8, "big"))
    pipe.write(message)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes:
    length = int.from_bytes(_read(pipe, 8), "big")
    return _read(pipe, length)


def _read(pipe: IO[bytes], count: int) -> bytes:
    data = pipe.read(count)
    if len(data) < count:
        raise EOFError
    return data


def _call(kind: type) -> Callable[[Any], tuple[type, tuple[Any, ...]]]:
    values = attrgetter(*(field.name for field in fields(kind)))
    return lambda instance: (kind, values(instance))


_REDUCED: dict[type, Callable[[Any], tuple[type, tuple[Any, ...]]]] = {
    kind: _call(kind) for kind in (ChangePoint, Detection, SegmentLevel, Noise, Segment)
}
"""How to pickle each type of a detection: as a call of its class. By default a frozen dataclass
with slots is pickled field by field in Python, which takes several times as long."""


def _dumps(answer: Answer | None) -> bytes:
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _REDUCED
    pickler.dump(answer)
    return buffer.getvalue()
