"""Measure a pull request and its base, and report the comparison in the pull request."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType, MappingProxyType
from typing import NamedTuple

from pipeline.experiments.pull_request import (
    ANSWER,
    NoAnswerCause,
    PullRequestAnswer,
    RecordingRunner,
    answer_of,
    could_not_run,
    read_answer,
)
from pipeline.experiments.record import Experiment, archive_experiment
from pipeline.explain.comparison_graphs import comparison_graphs
from pipeline.measure.progress import Watcher
from pipeline.notify.base.pull_request import PullRequestOutcome, Words
from pipeline.notify.github.artifact import RefusedArtifactError, packed_in, read_member
from pipeline.notify.github.client import Client
from pipeline.notify.github.event import (
    MeasuredCommit,
    WaitingMeasurement,
    find_measurement,
    find_waiting,
)
from pipeline.notify.github.failures import GithubRefusedError, UnavailableError
from pipeline.notify.github.pulls import (
    PullRequestTopic,
    Shown,
    Way,
    announce,
    is_superseded,
    publish,
)
from pipeline.report.pull_request import (
    NO_CONTEXT,
    MessageContext,
    message_of,
    message_while_waiting,
    message_without_result,
)
from pipeline.storage.bundle import BUNDLES, list_bundles
from pipeline.text.errors import UserError, first_line
from pipeline.transfer.folder import send
from pipeline.use_cases.compare import (
    BuildFailedError,
    ComparisonRequest,
    counted_functions,
    experiment_of,
    measured,
)
from pipeline.use_cases.github_client import github_client
from pipeline.use_cases.measuring import MeasuringContext

GRAPHS = "flame-graphs"
"""The folder of differential flame graphs in a result, one SVG file for each step."""

TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
"""Environment variables in which GitHub's tools hold tokens."""


class PullRequestJob(NamedTuple):
    """Which pull request to measure, against which base, with which limits.

    ``limit`` is the time limit in seconds, builds included, and ``limit_text`` the same as written
    by the user. With ``again``, earlier runs are ignored; with ``bundles``, the bundles are added
    to the result.
    """

    context: MeasuringContext
    asked: ComparisonRequest
    limit: float
    limit_text: str
    again: bool
    bundles: bool


def measure_pull_request(
    folder: Path, prepare: Callable[[], PullRequestJob], watcher: Watcher
) -> PullRequestAnswer:
    """Measure a pull request; write the result, or why there is none, to ``folder``.

    ``prepare`` reads the request. A UserError is not raised but written as the result. Only bugs,
    interrupts, and errors of writing to the folder are raised.
    """
    _write(folder, could_not_run("the measurement was interrupted before it had an answer"))
    made: Iterable[Path] = ()
    graphs: Mapping[str, str] = {}
    limit = ""
    try:
        job = prepare()
        limit = job.limit_text
        with _limited(job.limit):
            context = job.context
            _refuse_tokens(context.config.github.secret)
            experiment = experiment_of(context, job.asked)
            if job.again:
                archive_experiment(experiment, context.results)
            answer = _measured(context, experiment, watcher)
            bundles = experiment.folder(context.results) / BUNDLES
            graphs = comparison_graphs(experiment.pair, bundles)
            if job.bundles:
                made = list_bundles(bundles)
    except BuildFailedError as error:
        if error.of_head:
            answer = could_not_run(error.reason, "build")
        else:
            answer = could_not_run(f"the base does not build: {error.reason}")
    except UserError as error:
        answer = could_not_run(first_line(error), "request")
    except _TimeIsUpError:
        answer = could_not_run(f"the measurement took longer than {limit}", "request")
    except KeyboardInterrupt:
        _write(folder, could_not_run("the measurement was stopped"))
        raise
    except Exception as error:
        _write(folder, could_not_run(f"nightshift itself failed ({type(error).__name__})"))
        raise
    _write(folder, answer, made, graphs)
    return answer


class PublishRequest(NamedTuple):
    """Which uploaded result to report to which pull request.

    ``target`` and ``machine_class``, if given, must be those of the measurement. ``smallest`` is
    the smallest change of interest, by default that of the measurement. ``branch`` is the branch,
    besides the default branch, on which a comment may start the measurement. ``command_config`` is
    the configuration file in the command that reproduces the result; empty for the default.
    """

    artifact: Path
    event: Path
    repository: str
    target: str
    machine_class: str
    smallest: float | None
    way: Way
    branch: str
    command_config: str


class PublishedPullRequest(NamedTuple):
    """What was reported to a pull request, and where it can be seen."""

    name: str
    words: Words
    places: Shown


def publish_pull_request(context: MeasuringContext, asked: PublishRequest) -> PublishedPullRequest:
    """Report the result of a measurement to its pull request.

    The artifact is untrusted, so only the event determines the pull request. Raises UserError for a
    missing setting, and if GitHub cannot be reached.
    """
    client, repository = github_client(context, asked.repository, "write access to checks")
    target, machine_class = asked.target, asked.machine_class
    try:
        measurement = find_measurement(client, repository, asked.event, asked.branch)
        try:
            found = _expected(_answer(asked.artifact), measurement, target, machine_class)
        except RefusedArtifactError as error:
            found = _without_answer(str(error), asked.artifact, measurement)
        beside = MessageContext(
            measurement.number,
            asked.command_config,
            measurement.page,
            context.config.hub.site_url,
            measurement.sha if measurement.pushed else "",
        )
        words = words_of(found, asked.smallest, beside)
        if found.measured is not None:
            target, machine_class = found.measured.target, found.measured.machine_class
        subject = PullRequestTopic(repository, measurement, target, machine_class)
        cancelled = measurement.ended == "cancelled" and found.measured is None
        if cancelled and asked.way is Way.CHECK and is_superseded(client, subject):
            return PublishedPullRequest(subject.name, words, Shown(measurement.page))
        shown = publish(client, subject, words, asked.way)
    except UnavailableError as error:
        raise UserError(
            f"the result was not reported: {error}; run the same command again later"
        ) from error
    except GithubRefusedError as error:
        raise UserError(
            f"the result was not reported: {error}; check that the commit and the pull request "
            f"still exist in {repository}"
        ) from error
    return PublishedPullRequest(subject.name, words, shown)


def _answer(artifact: Path) -> PullRequestAnswer:
    """Read an uploaded result. Raises RefusedArtifactError if it is not valid."""
    try:
        return read_answer(read_member(artifact, ANSWER))
    except ValueError as error:
        raise RefusedArtifactError(f"the artifact is refused: {error}") from None


def _expected(
    answer: PullRequestAnswer, measurement: MeasuredCommit, target: str, machine_class: str
) -> PullRequestAnswer:
    """Return a result if it is of the expected commit. Raises RefusedArtifactError otherwise."""
    reported = answer.measured
    if reported is None:
        return answer
    for name, wanted, found in (
        ("commit", measurement.sha, reported.head.commit),
        ("target", target, reported.target),
        ("machine class", machine_class, reported.machine_class),
    ):
        if wanted and found != wanted:
            raise RefusedArtifactError(
                f"the artifact is refused: it was measured for another {name}"
            )
    return answer


class AnnounceRequest(NamedTuple):
    """A measurement to announce before it has a result: its workflow's event, and the target."""

    event: Path
    repository: str
    target: str


def announce_pull_request(context: MeasuringContext, asked: AnnounceRequest) -> str:
    """Show that a measurement is queued or running; return the address of its check run.

    Returns an empty string if there is nothing to show. Raises UserError as publishing does.
    """
    client, repository = github_client(context, asked.repository, "write access to checks")
    try:
        waiting = find_waiting(client, repository, asked.event)
        if waiting is None:
            return ""
        return announce_commit(client, repository, asked.target, waiting)
    except (UnavailableError, GithubRefusedError) as error:
        raise UserError(
            f"the waiting measurement was not shown in a check run: {error}; its result will be "
            "reported nevertheless"
        ) from error


def announce_commit(
    client: Client, repository: str, target: str, waiting: WaitingMeasurement
) -> str:
    """Show that a commit's measurement is queued or running; return its check run's address."""
    commit, state = waiting.commit, waiting.state
    text = message_while_waiting(state, commit.sha, commit.page)
    return announce(client, PullRequestTopic(repository, commit, target, ""), text, state)


def words_of(
    answer: PullRequestAnswer, smallest: float | None = None, beside: MessageContext = NO_CONTEXT
) -> Words:
    """Return the text that reports a result in the pull request."""
    if answer.measured is not None:
        return message_of(answer.measured, smallest=smallest, context=beside)
    return message_without_result(_OUTCOMES[answer.cause], answer.reason, beside)


_OUTCOMES: dict[NoAnswerCause, PullRequestOutcome] = {
    "build": PullRequestOutcome.COULD_NOT_BUILD,
    "request": PullRequestOutcome.COULD_NOT_RUN,
    "": PullRequestOutcome.NOT_MEASURED,
}


def _without_answer(refused: str, artifact: Path, measurement: MeasuredCommit) -> PullRequestAnswer:
    """Return the reason why there is no result: an error, or how the measuring job ended."""
    place = packed_in(artifact)
    if (place / ANSWER if place.is_dir() else place).exists():
        return could_not_run(refused, "request")
    if not measurement.ended:
        return could_not_run("the measuring run has no artifact")
    reason = f"the measuring run ended with {measurement.ended} and without an artifact"
    return could_not_run(reason, "request" if measurement.ended == "timed_out" else "")


def _measured(
    context: MeasuringContext, experiment: Experiment, watcher: Watcher
) -> PullRequestAnswer:
    recorder = RecordingRunner()
    found = measured(context, experiment, watcher, recorder.around)
    functions = counted_functions(experiment, context.results)
    return answer_of(experiment, recorder.blocks(experiment.pair), found.seconds, functions)


def _refuse_tokens(secret: str) -> None:
    """Refuse to run untrusted code while a GitHub token is in the environment."""
    for name in dict.fromkeys((secret, *TOKENS)):
        if os.environ.get(name):
            raise UserError(
                f"the environment variable {name} is set, but this command runs untrusted code; "
                f"run it without tokens: `env -u {name} nightshift ...`"
            )


class _TimeIsUpError(BaseException):
    """The time limit for measuring a pull request has passed."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Interrupt the block after some seconds, as Ctrl-C does."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _TimeIsUpError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _write(
    folder: Path,
    answer: PullRequestAnswer,
    bundles: Iterable[Path] = (),
    graphs: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write a result with its bundles and flame graphs to a folder; the checksums come last."""
    with TemporaryDirectory() as scratch:
        written = {ANSWER: answer.model_dump_json(indent=1)}
        written |= {f"{GRAPHS}/{step}.svg": graph for step, graph in graphs.items()}
        files = {name: Path(scratch) / str(number) for number, name in enumerate(written)}
        for name, text in written.items():
            files[name].write_text(text)
        send(folder, files | {f"{BUNDLES}/{path.name}": path for path in bundles})
