"""Write the log of a command that measures or changes something: one JSON line per event.

Each call of a command writes a new file in ``results/logs``, named after its start time, command
and process id. The newest files of each command are kept.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from pipeline import __version__

if TYPE_CHECKING:
    from pipeline.config import Config
    from pipeline.use_cases.context import Context

FOLDER = "logs"
"""The folder of the logs, in the results."""

KEPT = 30
"""Number of logs that are kept for each command; older ones are deleted when a new one begins."""

LOGGER = "pipeline"
"""The parent logger of all modules."""

REDACTED = "***"
"""The replacement of a secret."""

_SECRET_NAMES = re.compile(r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|KEY|CREDENTIALS?)(_|$)", re.I)
_SHORTEST = 6
"""Minimum length of a secret to redact, in characters: shorter ones could be ordinary words."""

_OF_EVERY_RECORD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

_LOG = logging.getLogger(__name__)

_Context = TypeVar("_Context", bound="Context")
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class Redaction(logging.Filter):
    """Hides the values of secret environment variables in log lines.

    Secret variables are those in ``names``, and those whose names look secret, such as
    ``GITHUB_TOKEN``.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__()
        self._names = frozenset(names)

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace secrets in the message and fields of a log line; always return True."""
        secrets = self._secrets()
        record.msg, record.args = _without(record.getMessage(), secrets), ()
        for name, value in fields_of(record).items():
            if not isinstance(value, bool | int | float | None):
                setattr(record, name, _without(str(value), secrets))
        if record.exc_info:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
            record.exc_info = None
        if record.exc_text:
            record.exc_text = _without(record.exc_text, secrets)
        return True

    def _secrets(self) -> list[str]:
        """Return the secret values, longest first."""
        values = {
            value
            for name, value in os.environ.items()
            if len(value) >= _SHORTEST and (name in self._names or _SECRET_NAMES.search(name))
        }
        return sorted(values, key=len, reverse=True)


def _without(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    return text


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of a log event beside its message."""
    return {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}


class JsonLines(logging.Formatter):
    """Formats a log event as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a log event as JSON: time (UTC), level, module, event, fields."""
        event = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "module": record.name,
            "event": record.getMessage(),
            **fields_of(record),
        }
        if record.exc_text:
            event["traceback"] = record.exc_text
        return json.dumps(event, default=str, ensure_ascii=False)


class _LogFile(logging.FileHandler):
    """A log file whose write errors are ignored, so that they never stop a night."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Ignore the failure to write a log line."""


def logged(
    verb: str,
) -> Callable[
    [Callable[Concatenate[_Context, _Given], _Result]],
    Callable[Concatenate[_Context, _Given], _Result],
]:
    """Decorate a use case so that it writes a log, unless its caller already writes one."""

    def decorate(
        case: Callable[Concatenate[_Context, _Given], _Result],
    ) -> Callable[Concatenate[_Context, _Given], _Result]:
        @wraps(case)
        def run(context: _Context, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
            with event_log(context, verb):
                return case(context, *args, **kwargs)

        return run

    return decorate


@contextmanager
def event_log(context: Context, verb: str) -> Iterator[None]:
    """Log to a file while the block runs; the message of an error then names the file.

    Inside another such block this does nothing. If the file cannot be created, a warning is logged.
    """
    logger = logging.getLogger(LOGGER)
    if any(isinstance(each, _LogFile) for each in logger.handlers):
        yield
        return
    redaction = Redaction(_secret_variables(context.config))
    try:
        path = _new_file(context.results / FOLDER, verb)
        handler = _LogFile(path, encoding="utf-8")
    except OSError as error:
        _LOG.warning(f"the log cannot be written: {error}")
        yield
        return
    handler.setFormatter(JsonLines())
    handler.setLevel(logging.INFO)
    logger.addHandler(handler)
    before = logger.level
    logger.setLevel(logging.INFO)
    filtered = list(logger.handlers)
    for each in filtered:
        each.addFilter(redaction)
    try:
        with _begun_and_ended(verb, context, handler, path):
            yield
    finally:
        for each in filtered:
            each.removeFilter(redaction)
        logger.setLevel(before)
        logger.removeHandler(handler)
        handler.close()


@contextmanager
def _begun_and_ended(
    verb: str, context: Context, handler: logging.Handler, path: Path
) -> Iterator[None]:
    began = time.monotonic()
    about = {"verb": verb, "config": context.file.path, "version": __version__}
    _LOG.info("begins", extra=about)
    try:
        yield
    except BaseException as error:
        # Only into the file: the caller prints the error.
        record = _LOG.makeRecord(
            _LOG.name,
            logging.ERROR,
            __file__,
            0,
            "failed: %s: %s",
            (type(error).__name__, error),
            (type(error), error, error.__traceback__),
            extra={"verb": verb, "seconds": round(time.monotonic() - began, 3)},
        )
        handler.handle(record)
        error.add_note(f"the log is {path}")
        raise
    _LOG.info("ended", extra={"verb": verb, "seconds": round(time.monotonic() - began, 3)})


@contextmanager
def logged_stage(stage: str) -> Iterator[None]:
    """Log when a stage begins and ends, and how long it took."""
    began = time.monotonic()
    _LOG.info("stage begins", extra={"stage": stage})
    ended = "stage failed"
    try:
        yield
        ended = "stage ended"
    finally:
        _LOG.info(ended, extra={"stage": stage, "seconds": round(time.monotonic() - began, 3)})


def _new_file(folder: Path, verb: str) -> Path:
    """Return the path of a new log; delete the oldest logs of this command."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in sorted(folder.glob(f"*-{verb}-*.jsonl"))[: -KEPT + 1]:
        old.unlink(missing_ok=True)
    return folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{verb}-{os.getpid()}.jsonl"


def _secret_variables(config: Config) -> list[str]:
    """Return the names of the environment variables that hold secrets."""
    return [
        config.fleet.secret,
        config.fleet.runner_secret,
        config.github.secret,
        config.publish.secret,
        config.s3.key,
        config.s3.secret,
        config.slack.secret,
        config.webhook.secret,
    ]
