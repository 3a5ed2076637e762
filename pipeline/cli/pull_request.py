"""The verbs of `pull-request`: measure, publish, announce and command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import add_group
from pipeline.cli.comparison_options import (
    AgainOption,
    BaseArgument,
    BudgetOption,
    GateOption,
    HeadArgument,
    MetricOption,
    ModeOption,
    ResultsOption,
    SmallestOption,
    StepOption,
    WorkloadOption,
    comparison_request,
)
from pipeline.cli.console import err, is_quiet, out
from pipeline.cli.options import ConfigOption, Format, FormatOption, read_option
from pipeline.cli.output import print_json
from pipeline.cli.progress import Lines
from pipeline.config import DEFAULT_FILE
from pipeline.experiments.pull_request import (
    PullRequestAnswer,
    plain,
)
from pipeline.measure.progress import Silent
from pipeline.notify.base.pull_request import WITHOUT_RESULT, PullRequestOutcome
from pipeline.notify.github.pulls import Way
from pipeline.report.compared import as_rows, as_text
from pipeline.text.units import parse_duration, parse_percent
from pipeline.use_cases.context import Context
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.pull_request import (
    AnnounceRequest,
    PublishRequest,
    PullRequestJob,
    announce_pull_request,
    measure_pull_request,
    publish_pull_request,
    words_of,
)
from pipeline.use_cases.pull_request_command import CommandRequest, obey_comment

group = add_group("pull-request")


SUMMARY = "GITHUB_STEP_SUMMARY"
"""Environment variable that holds the path of the job summary."""

UNKNOWN = 2
"""Exit code with --gate if there is no result to judge."""


@group.command("measure")
def measure_verb(
    base: BaseArgument,
    head: HeadArgument,
    folder: Annotated[Path, typer.Option("--out", help="Folder for the result.")],
    step: StepOption = None,
    metric: MetricOption = None,
    workload: WorkloadOption = "",
    mode: ModeOption = None,
    smallest: SmallestOption = "",
    budget: BudgetOption = "5m",
    limit: Annotated[str, typer.Option(help="Time limit, builds included.")] = "2h",
    bundles: Annotated[
        bool, typer.Option(help="Add the bundles (raw measurements) to the result.")
    ] = True,
    gate: GateOption = False,
    again: AgainOption = False,
    results: ResultsOption = None,
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Compare a pull request with its base.

    This command runs code of the pull request, so it refuses to run with a token in its
    environment. It always writes an answer. The exit code is 0; with --gate it is 1 for a
    regression, and 2 if the measurement could not run.

    Example: nightshift pull-request measure postgres:.#main postgres:.#HEAD --out answer
    """

    def prepare() -> PullRequestJob:
        seconds = read_option("limit", limit, parse_duration)
        context = MeasuringContext(config, results=results, needed=False)
        asked = comparison_request(base, head, step, metric, workload, smallest, budget, mode)
        return PullRequestJob(context, asked, seconds, limit, again, bundles)

    answer = measure_pull_request(folder, prepare, Silent() if is_quiet() else _Lines(err))
    _stop(_show(answer, form), gate)


@group.command("publish")
def publish_verb(
    artifact: Annotated[
        Path,
        typer.Argument(
            help="Output of `pull-request measure`: a folder, or the zip archive that GitHub made "
            "of it."
        ),
    ],
    event: Annotated[
        Path,
        typer.Option(
            help=(
                "File with the event that started the workflow; a workflow finds it at "
                "$GITHUB_EVENT_PATH."
            )
        ),
    ],
    repository: Annotated[
        str, typer.Option(help="OWNER/NAME of the repository. Default: [github] repository.")
    ] = "",
    target: Annotated[str, typer.Option(help="Require that this target was measured.")] = "",
    machine_class: Annotated[
        str, typer.Option("--class", help="Require that a machine of this class measured it.")
    ] = "",
    smallest: Annotated[
        str,
        typer.Option(
            help="Smallest relative change that matters. Default: that of `pull-request measure`."
        ),
    ] = "",
    way: Annotated[
        Way,
        typer.Option(
            "--as",
            help="How to report the result on the commit: as a check run or as a commit status.",
        ),
    ] = Way.CHECK,
    branch: Annotated[
        str,
        typer.Option(
            help="Branch, besides the default branch, on which `pull-request command` starts the "
            "measurement."
        ),
    ] = "",
    gate: GateOption = False,
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Report the result of a measured pull request in the pull request.

    The command always writes a check run, and a comment if there is something to report. The
    artifact is untrusted: it is validated, and only the event determines the pull request. The
    token is read from the environment variable that [github] secret names.

    Example: nightshift pull-request publish answer.zip --repository me/db --event event.json
    """
    asked = PublishRequest(
        artifact,
        event,
        repository,
        target,
        machine_class,
        read_option("smallest", smallest, parse_percent) if smallest else None,
        way,
        branch,
        "" if config == DEFAULT_FILE else str(config),
    )
    published = publish_pull_request(MeasuringContext(config, needed=False), asked)
    words, shown = published.words, published.places
    summarise(words.body)
    if form is Format.JSON:
        print_json({"outcome": words.outcome, "title": words.title, **shown._asdict()})
    else:
        out.print(f"{published.name}: {words.outcome}: {words.title}", markup=False)
        for place in filter(None, shown):
            out.print(place, markup=False)
    _stop(words.outcome, gate)


@group.command("announce")
def announce_verb(
    event: Annotated[
        Path,
        typer.Option(
            help=(
                "File with the event of the workflow run that measures; a workflow finds it at "
                "$GITHUB_EVENT_PATH."
            )
        ),
    ],
    repository: Annotated[
        str, typer.Option(help="OWNER/NAME of the repository. Default: [github] repository.")
    ] = "",
    target: Annotated[str, typer.Option(help="The target that is measured.")] = "",
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Show in a check run that a measurement waits for a machine, or runs.

    The event is a workflow_run event of the type requested or in_progress. A run that measures
    nothing is not shown. The token is read from the environment variable that [github] secret
    names.

    Example: nightshift pull-request announce --event event.json --repository me/db
    """
    asked = AnnounceRequest(event, repository, target)
    page = announce_pull_request(MeasuringContext(config, needed=False), asked)
    if form is Format.JSON:
        print_json({"page": page})
    else:
        out.print(
            page or "no measurement is waiting or running, so no check run was written",
            markup=False,
        )


@group.command("command")
def command_verb(
    event: Annotated[
        Path,
        typer.Option(
            help="File with the event of the comment; a workflow finds it at $GITHUB_EVENT_PATH."
        ),
    ],
    repository: Annotated[
        str, typer.Option(help="OWNER/NAME of the repository. Default: [github] repository.")
    ] = "",
    workflow: Annotated[
        str, typer.Option(help="File name of the workflow that measures.")
    ] = "nightshift.yml",
    branch: Annotated[
        str, typer.Option(help="Branch that the workflow runs on. Default: the default branch.")
    ] = "",
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Obey /nightshift in a comment on a pull request.

    /nightshift starts the measurement, with the arguments steps=NAME,NAME and mode=time or
    mode=count. /nightshift accept REASON accepts the measured regression. Only commands of people
    with write access to the repository are executed; commands of others are refused, with exit code
    0. The token is read from the environment variable that [github] secret names.

    Example: nightshift pull-request command --event event.json --repository me/db
    """
    asked = CommandRequest(event, repository, workflow, branch)
    obeyed = obey_comment(Context(config, needed=False), asked)
    if form is Format.JSON:
        print_json(obeyed._asdict())
    else:
        out.print(obeyed.text, markup=False)


def _stop(outcome: PullRequestOutcome, gate: bool) -> None:
    """With --gate, exit with code 1 for a regression, and 2 without a result."""
    if gate and outcome in WITHOUT_RESULT:
        raise typer.Exit(UNKNOWN)
    if gate and outcome is PullRequestOutcome.REGRESSION:
        raise typer.Exit(1)


class _Lines(Lines):
    """Prints progress in lines that GitHub Actions cannot mistake for workflow commands."""

    def note(self, text: str) -> None:
        """Print one line."""
        super().note(plain(text))


def _show(answer: PullRequestAnswer, form: Format) -> PullRequestOutcome:
    """Print the result for a pull request, add it to the job summary, and return its verdict."""
    words = words_of(answer)
    if answer.measured is None:
        rows, text = [], f"{words.outcome}: {plain(answer.reason)}"
    else:
        comparison = answer.measured.comparison()
        rows, text = as_rows(comparison), as_text(comparison)
    if form is Format.JSON:
        print_json({"outcome": words.outcome, "reason": answer.reason, "rows": rows})
    else:
        out.print(text, markup=False)
    summarise(words.body)
    return words.outcome


def summarise(markdown: str) -> None:
    """Add markdown to the summary of a GitHub Actions job; elsewhere do nothing."""
    if place := os.environ.get(SUMMARY):
        with Path(place).open("a") as summary:
            summary.write(f"{markdown}\n\n")
