"""The verbs of pull requests: measure and publish."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
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
)
from pipeline.analyse.record import Experiment, aside, write_whole
from pipeline.bundle import list_bundles
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
from pipeline.cli.context import (
    ConfigOption,
    Context,
    Format,
    FormatOption,
    err,
    out,
    print_json,
    read_option,
)
from pipeline.cli.progress import Lines
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError, first_line
from pipeline.report.compared import as_rows, as_text
from pipeline.report.pull_request import Outcome, words_of, words_of_none
from pipeline.units import parse_duration

group = typer.Typer()
app.add_typer(group, name="pull-request")

SUMS = "SHA256SUMS"
"""The checksums of the other files of the folder, as ``sha256sum --check`` takes them."""

BUNDLES = "bundles"
"""The folder of the raw runs, in that of an experiment and in that of the answer."""

TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
"""Variables that hold tokens wherever GitHub's tools are."""

SUMMARY = "GITHUB_STEP_SUMMARY"
"""Variable with the file that a job's summary is written to."""

UNKNOWN = 2
"""Exit code of a gate that has nothing to judge by."""


@group.callback(invoke_without_command=True)
def pull_request_group(context: typer.Context) -> None:
    """Measure a pull request, and tell it what came of that."""
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
    """Compare a pull request with its base, and write what came of it into a folder.

    That runs its code, so that it wants no token. Something is written whatever happens; the
    exit code is 0 then. With --gate it is 1 for a regression and 2 for what could not run.

    Example: nightshift pull-request measure postgres:.#main postgres:.#HEAD --out answer
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder, could_not_run("it was begun, and ended before there was an answer"))
    made: Iterable[Path] = ()
    try:
        with _limited(read_option("limit", limit, parse_duration)):
            context = Context(config, results=results, needed=False)
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
    regressed = _show(answer, form)
    if gate and answer.measured is None:
        raise typer.Exit(UNKNOWN)
    if gate and regressed:
        raise typer.Exit(1)


class _Lines(Lines):
    """Progress in lines that command nothing, whatever the compilers of strangers say."""

    def note(self, text: str) -> None:
        """Print one line."""
        super().note(plain(text))


def _measured(context: Context, experiment: Experiment) -> Answer:
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
    write_whole(folder / ANSWER, answer.model_dump_json(indent=1))
    names = [ANSWER]
    for bundle in bundles:
        (folder / BUNDLES).mkdir(exist_ok=True)
        shutil.copyfile(bundle, folder / BUNDLES / bundle.name)
        names.append(f"{BUNDLES}/{bundle.name}")
    lines = [
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}" for name in names
    ]
    write_whole(folder / SUMS, "".join(f"{line}\n" for line in lines))


def _show(answer: Answer, form: Format) -> bool:
    """Print an answer, add it to the summary of the job, and say whether it is a regression."""
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
    return words.outcome is Outcome.REGRESSION


def summarise(markdown: str) -> None:
    """Add markdown to the summary of the job that this runs in, if it runs in one."""
    if place := os.environ.get(SUMMARY):
        with Path(place).open("a") as summary:
            summary.write(f"{markdown}\n\n")
