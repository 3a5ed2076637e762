"""The verb `explain`: explain why regressions are slower, with the evidence."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.options import FORMAT, ConfigOption, QuickOption, read_option
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.explain.explanation import (
    Explanation,
    explained_folder,
)
from pipeline.report.explanation import explanation_markdown
from pipeline.text.units import parse_duration
from pipeline.use_cases.explain import BLOCKS, TrialRequest, explain_chosen
from pipeline.use_cases.measuring import MeasuringContext


class ExplanationFormat(StrEnum):
    """Output formats of explanations."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


@app.command("explain")
def explain_verb(
    fingerprint: Annotated[
        str,
        typer.Argument(
            help="Fingerprint of the regression to explain, or the beginning of it. Default: all "
            "regressions."
        ),
    ] = "",
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    test: Annotated[
        bool,
        typer.Option(
            "--test", help="Test changed settings: run the new revision with their old values."
        ),
    ] = False,
    blocks: Annotated[
        int,
        typer.Option(
            min=2, max=100, help="Number of runs of each variant when a setting is tested."
        ),
    ] = BLOCKS,
    budget: Annotated[
        str, typer.Option(help="Time limit for the tests of one regression.")
    ] = "20m",
    form: Annotated[ExplanationFormat, FORMAT] = ExplanationFormat.TEXT,
) -> None:
    """Explain why regressions are slower, with the evidence.

    Example: nightshift explain 3f2a91c04b7e --test
    """
    context = MeasuringContext(config, quick)
    seconds = read_option("budget", budget, parse_duration)
    trial = TrialRequest(seconds, blocks) if test else None
    explained = explain_chosen(context, fingerprint, trial, make_watcher(screen()))
    if form is ExplanationFormat.JSON:
        print_json([explanation.model_dump(mode="json") for explanation in explained])
        return
    if not explained:
        out.print("there is no regression to explain")
    for explanation in explained:
        if form is ExplanationFormat.MARKDOWN:
            out.print(explanation_markdown(explanation), markup=False)
        else:
            _show(explanation, explained_folder(explanation.fingerprint, context.results))


def _show(explanation: Explanation, folder: Path) -> None:
    """Print why a regression is slower: its class, and the findings of its steps, worst first.

    ``folder`` holds the flame graphs.
    """
    out.print(
        f"{explanation.line}: {explanation.last_good} -> {explanation.first_bad} "
        f"({explanation.fingerprint}): {explanation.kind.value}",
        style="yellow",
        markup=False,
    )
    for step in explanation.steps:
        out.print(f"  {step.step} ({step.setup})", markup=False)
        for finding in step.findings:
            for sentence in finding.evidence:
                out.print(f"    {finding.kind.value}: {sentence}", markup=False)
        for name in step.pictures:
            out.print(f"    flame graph: {folder / name}", markup=False)
    out.print(f"  settings: {explanation.settings.summary}", markup=False)
    for suspect in explanation.suspects:
        out.print(f"    {suspect.name}: {suspect.old} -> {suspect.new}", markup=False)
    for trial in explanation.trials:
        out.print(f"    {trial.sentence()}", markup=False)
