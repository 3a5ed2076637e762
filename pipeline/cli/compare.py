"""The verb compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pipeline.analyse.compare import (
    Comparison,
    choose_workload,
    compared,
    figures_of_steps,
    told_apart,
    workload_of,
)
from pipeline.analyse.experiment import Runner
from pipeline.analyse.interleaved import ANEW, Answer, Question, interleave
from pipeline.analyse.record import Experiment, aside
from pipeline.analyse.subjects import cell_of, parse_subject
from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, read_option
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.durable import write_whole
from pipeline.errors import UserError, meant
from pipeline.execute.build import NotBuiltError
from pipeline.execute.watch import Watcher
from pipeline.metrics import METRICS
from pipeline.report.compared import as_markdown, as_rows, as_text
from pipeline.units import parse_duration, parse_percent

ANSWER = "comparison.json"
"""What came of a comparison, in the folder of its experiment."""


class CompareFormat(StrEnum):
    """How a comparison is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


BaseArgument = Annotated[
    str, typer.Argument(help="target:version[@options][+config], or a folder.")
]
HeadArgument = Annotated[str, typer.Argument(help="What is compared with it, written alike.")]
StepOption = Annotated[list[str] | None, typer.Option(help="A step or group; repeat it for more.")]
MetricOption = Annotated[
    list[str] | None, typer.Option(help="What is compared; repeat it for more.")
]
WorkloadOption = Annotated[str, typer.Option(help="A workload of the configuration.")]
SmallestOption = Annotated[str, typer.Option(help="The smallest change that matters.")]
BudgetOption = Annotated[str, typer.Option(help="Time that may be measured.")]
GateOption = Annotated[bool, typer.Option("--gate", help="Exit with 1 if a regression was shown.")]
AgainOption = Annotated[bool, typer.Option("--again", help="Measure everything anew.")]
ResultsOption = Annotated[Path | None, typer.Option(help="Keep results here instead.")]


@app.command("compare")
def compare_verb(
    base: BaseArgument,
    head: HeadArgument,
    step: StepOption = None,
    metric: MetricOption = None,
    workload: WorkloadOption = "",
    smallest: SmallestOption = "2%",
    budget: BudgetOption = "5m",
    gate: GateOption = False,
    again: AgainOption = False,
    results: ResultsOption = None,
    config: ConfigOption = DEFAULT_FILE,
    form: Annotated[
        CompareFormat, typer.Option("--format", help="How results are printed.")
    ] = CompareFormat.TEXT,
) -> None:
    """Measure two builds in turn until their difference is clear.

    They need not be in the configuration, nor need there be one. What was measured before is
    used again. A folder is a source tree as it stands, or of it #COMMIT.

    Example: nightshift compare postgres:14.20 postgres:15.15 --step point-query
    """
    context = MeasuringContext(config, results=results, needed=False)
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
    comparison = compared(experiment, measured(context, experiment, make_watcher(screen())))
    folder = experiment.folder(context.results)
    write_whole(folder / ANSWER, comparison.model_dump_json(indent=1))
    _show(comparison, form)
    if gate and comparison.regressed:
        raise typer.Exit(1)


def experiment_of(
    context: MeasuringContext,
    sides: tuple[str, str],
    *,
    steps: Sequence[str],
    metrics: Sequence[str],
    workload: str,
    smallest: str,
    budget: str,
) -> Experiment:
    """Return what is measured when people ask so; ``sides`` are base and head.

    Raises UserError for what is not there, and what cannot be compared.
    """
    metrics = tuple(metrics or context.config.detect.metrics)
    for name in metrics:
        if name not in METRICS:
            raise UserError(f"there is no metric {name!r}; {meant(name, METRICS)}")
    effect = read_option("smallest", smallest, parse_percent)
    if effect >= 1:
        raise UserError(f"--smallest: {smallest} is not below 100%")
    seconds = read_option("budget", budget, parse_duration)
    subjects = [parse_subject(side) for side in sides]
    section = choose_workload(context.config, workload, [each.target for each in subjects])
    chosen = workload_of(section, steps)
    first, second = (
        cell_of(each, section, chosen, context.machine, context.cache, context.results)
        for each in subjects
    )
    return Experiment(
        kind="compare",
        base=first,
        head=told_apart(first, second),
        question=Question(
            figures=figures_of_steps(chosen, metrics),
            smallest_effect=effect,
            seconds=seconds,
            anew=ANEW,
        ),
    )


def measured(
    context: MeasuringContext,
    experiment: Experiment,
    watcher: Watcher,
    seen: Callable[[Runner], Runner] = lambda runner: runner,
) -> Answer:
    """Measure an experiment on this machine; ``seen`` may put a runner around the real one.

    Raises UserError where one of the sides does not build.
    """
    runner = context.runner(experiment.folder(context.results), watcher)
    watcher.begin("compare", experiment.question.seconds)
    try:
        with runner:
            return interleave(seen(runner), experiment.pair, experiment.question, context.clock)
    except NotBuiltError as error:
        raise UserError(f"there is no build to compare: {error}") from error
    finally:
        watcher.end()


def _show(comparison: Comparison, form: CompareFormat) -> None:
    if form is CompareFormat.JSON:
        print_json(as_rows(comparison))
    elif form is CompareFormat.MARKDOWN:
        out.print(as_markdown(comparison), markup=False)
    else:
        out.print(as_text(comparison), markup=False)
