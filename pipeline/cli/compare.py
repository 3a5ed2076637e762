"""The verb `compare`: measure two builds in turn until their difference is clear."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pipeline.cli.app import app
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
from pipeline.cli.console import out, screen
from pipeline.cli.options import FORMAT, ConfigOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.experiments.compare import (
    TwoSideComparison,
)
from pipeline.report.compared import as_markdown, as_rows, as_text
from pipeline.use_cases.compare import compare
from pipeline.use_cases.measuring import MeasuringContext


class CompareFormat(StrEnum):
    """How a comparison is printed: as text, markdown or JSON."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


@app.command("compare")
def compare_verb(
    base: BaseArgument,
    head: HeadArgument,
    step: StepOption = None,
    metric: MetricOption = None,
    workload: WorkloadOption = "",
    mode: ModeOption = None,
    smallest: SmallestOption = "",
    budget: BudgetOption = "5m",
    gate: GateOption = False,
    again: AgainOption = False,
    results: ResultsOption = None,
    config: ConfigOption = DEFAULT_FILE,
    form: Annotated[CompareFormat, FORMAT] = CompareFormat.TEXT,
) -> None:
    """Measure two builds in turn until their difference is clear.

    The builds need not be in a configuration file, and no such file is needed. Earlier runs of this
    comparison are used again. FOLDER stands for the source tree in this folder in its present
    state; FOLDER#COMMIT for one of its commits.

    Example: nightshift compare postgres:14.20 postgres:15.15 --step point-query
    """
    context = MeasuringContext(config, results=results, needed=False)
    asked = comparison_request(base, head, step, metric, workload, smallest, budget, mode)
    comparison = compare(context, asked, again, make_watcher(screen()))
    _show(comparison, form)
    if gate and comparison.regressed:
        raise typer.Exit(1)


def _show(comparison: TwoSideComparison, form: CompareFormat) -> None:
    if form is CompareFormat.JSON:
        print_json(as_rows(comparison))
    elif form is CompareFormat.MARKDOWN:
        out.print(as_markdown(comparison), markup=False)
    else:
        out.print(as_text(comparison), markup=False)
