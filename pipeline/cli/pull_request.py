"""The verbs of pull requests: measure and publish."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Annotated

import typer

from pipeline.analyse.pull_request import (
    ANSWER,
    Answer,
    Recorder,
    answer_of,
    could_not_run,
    plain,
    read_answer,
)
from pipeline.analyse.record import Experiment, aside
from pipeline.bundle import BUNDLES, list_bundles
from pipeline.cli.app import app
from pipeline.cli.compare import (
    AgainOption,
    BaseArgument,
    BudgetOption,
    GateOption,
    HeadArgument,
    MetricOption,
    ResultsOption,
    SmallestOption,
    StepOption,
    WorkloadOption,
    experiment_of,
    measured,
)
from pipeline.cli.console import err, out
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption, read_option
from pipeline.cli.output import print_json
from pipeline.cli.progress import Lines
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError, first_line
from pipeline.mistakes import REPOSITORY
from pipeline.notify.base.pull_request import Outcome
from pipeline.notify.github.artifact import RefusedArtifactError, packed_in, read_member
from pipeline.notify.github.client import Client
from pipeline.notify.github.event import Measurement, find_measurement
from pipeline.notify.github.failures import UnavailableError
from pipeline.notify.github.pulls import Subject, Way, publish
from pipeline.report.compared import as_rows, as_text
from pipeline.report.pull_request import words_of, words_of_none
from pipeline.transfer.folder import send
from pipeline.units import parse_duration, parse_percent

group = typer.Typer()
app.add_typer(group, name="pull-request")

TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
"""Variables that hold tokens wherever GitHub's tools are."""

API = "GITHUB_API_URL"
"""Variable with the address of the API, where the configuration does not say it."""

SUMMARY = "GITHUB_STEP_SUMMARY"
"""Variable with the file that a job's summary is written to."""

UNKNOWN = 2
"""Exit code of a gate that has nothing to judge by."""


@group.callback(invoke_without_command=True)
def pull_request_group(context: typer.Context) -> None:
    """Measure a pull request and report the result to it."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@group.command("measure")
def measure_verb(
    base: BaseArgument,
    head: HeadArgument,
    folder: Annotated[Path, typer.Option("--out", help="Where the answer is written.")],
    step: StepOption = None,
    metric: MetricOption = None,
    workload: WorkloadOption = "",
    smallest: SmallestOption = "2%",
    budget: BudgetOption = "5m",
    limit: Annotated[str, typer.Option(help="Give up after this time, builds included.")] = "2h",
    bundles: Annotated[bool, typer.Option(help="Add what was measured, raw.")] = True,
    gate: GateOption = False,
    again: AgainOption = False,
    results: ResultsOption = None,
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Compare a pull request with its base.

    That runs its code, so that it wants no token. Something is written whatever happens; the
    exit code is 0 then. With --gate it is 1 for a regression and 2 for what could not run.

    Example: nightshift pull-request measure postgres:.#main postgres:.#HEAD --out answer
    """
    _write(folder, could_not_run("it was begun, and ended before there was an answer"))
    made: Iterable[Path] = ()
    try:
        with _limited(read_option("limit", limit, parse_duration)):
            context = MeasuringContext(config, results=results, needed=False)
            _refuse_tokens(context.config.github.secret)
            experiment = experiment_of(
                context,
                (base, head),
                steps=step or (),
                metrics=metric or (),
                workload=workload,
                smallest=smallest,
                budget=budget,
            )
            if again:
                aside(experiment, context.results)
            answer = _measured(context, experiment)
            made = list_bundles(experiment.folder(context.results) / BUNDLES) if bundles else ()
    except UserError as error:
        answer = could_not_run(first_line(error))
    except _TimeIsUpError:
        answer = could_not_run(f"it took longer than {limit}")
    except KeyboardInterrupt:
        _write(folder, could_not_run("it was stopped"))
        raise
    except Exception as error:
        _write(folder, could_not_run(f"nightshift itself failed ({type(error).__name__})"))
        raise
    _write(folder, answer, made)
    _stop(_show(answer, form), gate)


@group.command("publish")
def publish_verb(
    artifact: Annotated[
        Path, typer.Argument(help="What measure left: a zip as GitHub gives it, or a folder.")
    ],
    event: Annotated[Path, typer.Option(help="The event, as GITHUB_EVENT_PATH names it.")],
    repository: Annotated[
        str, typer.Option(help="OWNER/NAME; by default [github] repository.")
    ] = "",
    target: Annotated[str, typer.Option(help="The target that must have been measured.")] = "",
    machine_class: Annotated[
        str, typer.Option("--class", help="The machine class that must have measured it.")
    ] = "",
    smallest: Annotated[
        str, typer.Option(help="The smallest change that matters; by default that of measure.")
    ] = "",
    way: Annotated[Way, typer.Option("--as", help="How the commit is marked.")] = Way.CHECK,
    gate: GateOption = False,
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Tell a pull request what was measured of it.

    There is a check run always, and a comment where there is something to say. The artifact is
    made by strangers: it is read with care, and which pull request it is of is taken from the
    event alone. The token is in the variable that [github] secret names.

    Example: nightshift pull-request publish answer.zip --repository me/db --event event.json
    """
    context = MeasuringContext(config, needed=False)
    section = context.config.github
    chosen = {"repository": repository, "url": os.environ.get(API, "")}
    if "url" in section.model_fields_set:
        chosen.pop("url")
    section = section.model_copy(update={name: value for name, value in chosen.items() if value})
    if not section.repository:
        raise UserError("it is not known whose pull request it is; give --repository OWNER/NAME")
    if not re.fullmatch(REPOSITORY, section.repository):
        raise UserError(f"--repository: {section.repository!r} is not written as OWNER/NAME")
    token = os.environ.get(section.secret, "")
    if not token:
        raise UserError(f"{section.secret} is not set; put a token there that may write checks")
    effect = read_option("smallest", smallest, parse_percent) if smallest else None
    client = Client(section, token)
    try:
        measurement = find_measurement(client, section.repository, event)
        try:
            found = _expected(_answer(artifact), measurement, target, machine_class)
        except RefusedArtifactError as error:
            found = could_not_run(_without_answer(str(error), artifact, measurement))
        if found.measured is None:
            words = words_of_none(found.reason)
        else:
            target, machine_class = found.measured.target, found.measured.machine_class
            words = words_of(
                found.measured,
                smallest=effect,
                number=measurement.number,
                config="" if config == DEFAULT_FILE else str(config),
            )
        subject = Subject(section.repository, measurement, target, machine_class)
        shown = publish(client, subject, words, way)
    except UnavailableError as error:
        raise UserError(f"nothing was told: {error}; run the same command again later") from error
    summarise(words.body)
    if form is Format.JSON:
        print_json({"outcome": words.outcome, "title": words.title, **shown._asdict()})
    else:
        out.print(f"{subject.name}: {words.outcome}: {words.title}", markup=False)
        for place in filter(None, shown):
            out.print(place, markup=False)
    _stop(words.outcome, gate)


def _answer(artifact: Path) -> Answer:
    """Return the answer of an artifact. Raises RefusedArtifactError for what is none."""
    try:
        return read_answer(read_member(artifact, ANSWER))
    except ValueError as error:
        raise RefusedArtifactError(f"the artifact is refused: {error}") from None


def _expected(answer: Answer, measurement: Measurement, target: str, machine_class: str) -> Answer:
    """Return an answer that is of what was measured. Raises RefusedArtifactError for another."""
    told = answer.measured
    if told is None:
        return answer
    for name, wanted, found in (
        ("commit", measurement.sha, told.head.commit),
        ("target", target, told.target),
        ("machine class", machine_class, told.machine_class),
    ):
        if wanted and found != wanted:
            raise RefusedArtifactError(f"the artifact is refused: it is of another {name}")
    return answer


def _without_answer(refused: str, artifact: Path, measurement: Measurement) -> str:
    """Say why there is no answer: of none at all, how the run ended that should have left it."""
    place = packed_in(artifact)
    if (place / ANSWER if place.is_dir() else place).exists():
        return refused
    if not measurement.ended:
        return "there is no artifact of it"
    return f"the run that measures it ended with {measurement.ended}, and left no artifact"


def _stop(outcome: Outcome, gate: bool) -> None:
    """End with the exit code of a gate."""
    if gate and outcome is Outcome.COULD_NOT_RUN:
        raise typer.Exit(UNKNOWN)
    if gate and outcome is Outcome.REGRESSION:
        raise typer.Exit(1)


class _Lines(Lines):
    """Progress in lines that command nothing, whatever the compilers of strangers say."""

    def note(self, text: str) -> None:
        """Print one line."""
        super().note(plain(text))


def _measured(context: MeasuringContext, experiment: Experiment) -> Answer:
    recorder = Recorder()
    found = measured(context, experiment, _Lines(err), recorder.around)
    return answer_of(experiment, recorder.blocks(experiment.pair), found.seconds)


def _refuse_tokens(secret: str) -> None:
    """Refuse to run the code of strangers beside a token."""
    for name in dict.fromkeys((secret, *TOKENS)):
        if os.environ.get(name):
            raise UserError(
                f"{name} is set, and this runs the code of strangers; run it without any token, "
                f"as `env -u {name} nightshift ...`"
            )


class _TimeIsUpError(BaseException):
    """The whole took too long. Nothing on the way takes it for an error of its own."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Give up after so many seconds, as ctrl-C would: servers are stopped, folders removed."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _TimeIsUpError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _write(folder: Path, answer: Answer, bundles: Iterable[Path] = ()) -> None:
    """Write an answer with its bundles; the checksums come last."""
    with TemporaryDirectory() as scratch:
        written = Path(scratch) / ANSWER
        written.write_text(answer.model_dump_json(indent=1))
        send(folder, {ANSWER: written} | {f"{BUNDLES}/{path.name}": path for path in bundles})


def _show(answer: Answer, form: Format) -> Outcome:
    """Print an answer, add it to the summary of the job, and return its outcome."""
    if answer.measured is None:
        words = words_of_none(answer.reason)
        rows, text = [], f"could not run: {plain(answer.reason)}"
    else:
        words = words_of(answer.measured)
        comparison = answer.measured.comparison()
        rows, text = as_rows(comparison), as_text(comparison)
    if form is Format.JSON:
        print_json({"outcome": words.outcome, "reason": answer.reason, "rows": rows})
    else:
        out.print(text, markup=False)
    summarise(words.body)
    return words.outcome


def summarise(markdown: str) -> None:
    """Add markdown to the summary of the job that this runs in, if it runs in one."""
    if place := os.environ.get(SUMMARY):
        with Path(place).open("a") as summary:
            summary.write(f"{markdown}\n\n")
