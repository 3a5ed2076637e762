"""Arguments and options that the verbs for comparing two builds share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.options import read_option
from pipeline.model import Mode
from pipeline.text.errors import UserError
from pipeline.text.units import parse_duration, parse_percent
from pipeline.use_cases.compare import ComparisonRequest

BaseArgument = Annotated[
    str, typer.Argument(help="The base: target:version[@options][+config], or a folder.")
]
HeadArgument = Annotated[
    str, typer.Argument(help="The head, which is compared with the base; same syntax.")
]
StepOption = Annotated[list[str] | None, typer.Option(help="A step or group of steps; repeatable.")]
MetricOption = Annotated[list[str] | None, typer.Option(help="A metric to compare; repeatable.")]
SmallestOption = Annotated[
    str,
    typer.Option(help="Smallest relative change that matters. Default: 2%, in mode count 0.5%."),
]
ModeOption = Annotated[
    Mode | None,
    typer.Option(
        help="What to measure: operations per second (time), or instructions, which are exact on "
        "any machine (count). Default: the mode of the workload."
    ),
]
AgainOption = Annotated[
    bool, typer.Option("--again", help="Measure everything again, ignoring earlier runs.")
]
BudgetOption = Annotated[
    str, typer.Option(help="Maximum time spent on measuring, for example 30m.")
]
WorkloadOption = Annotated[
    str, typer.Option(help="Name of the workload in nightshift.toml to measure with.")
]
GateOption = Annotated[
    bool, typer.Option("--gate", help="Exit with code 1 if there is a regression.")
]
ResultsOption = Annotated[
    Path | None, typer.Option(help="Results folder to use instead of paths.results.")
]


def comparison_request(
    base: str,
    head: str,
    steps: Sequence[str] | None,
    metrics: Sequence[str] | None,
    workload: str,
    smallest: str,
    budget: str,
    mode: Mode | None = None,
) -> ComparisonRequest:
    """Return the comparison that the options ask for. Raises UserError if one is invalid."""
    effect = read_option("smallest", smallest, parse_percent) if smallest else None
    if effect is not None and effect >= 1:
        raise UserError(f"--smallest must be below 100%, not {smallest}")
    seconds = read_option("budget", budget, parse_duration)
    return ComparisonRequest(
        base, head, steps or (), metrics or (), workload, effect, seconds, mode
    )
