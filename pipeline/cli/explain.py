"""The verb explain."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pipeline.analyse.bench import narrowed
from pipeline.analyse.detected import load_detected
from pipeline.analyse.experiment import Figure
from pipeline.analyse.explain.explain import cells_of, explain
from pipeline.analyse.explain.explanation import (
    Explained,
    Explanation,
    explained_folder,
    last_explanation,
    load_trials,
    save_explained,
    save_trials,
)
from pipeline.analyse.explain.trial import Trial, try_settings
from pipeline.analyse.identity import meant_by
from pipeline.analyse.regressions import size
from pipeline.bundle import EXPERIMENTS
from pipeline.cli.app import app
from pipeline.cli.console import out, screen, warn
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, QuickOption, read_option
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.execute.build import NotBuiltError
from pipeline.execute.plan import Plan
from pipeline.execute.watch import Watcher
from pipeline.model import Regression, RegressionKind
from pipeline.report.explanation import explanation_markdown
from pipeline.targets import find_target
from pipeline.units import parse_duration

BLOCKS = 4
"""Blocks of a trial, unless others are asked for."""


class ExplanationFormat(StrEnum):
    """How explanations are printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


@app.command("explain")
def explain_verb(
    fingerprint: Annotated[
        str, typer.Argument(help="The regression, by the beginning of its fingerprint; or all.")
    ] = "",
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    test: Annotated[
        bool,
        typer.Option("--test", help="Run the new revision again with old values of settings."),
    ] = False,
    blocks: Annotated[
        int, typer.Option(min=2, max=100, help="Runs of each side in a test of a setting.")
    ] = BLOCKS,
    budget: Annotated[
        str, typer.Option(help="Time that the test of one regression may take.")
    ] = "20m",
    form: Annotated[
        ExplanationFormat, typer.Option("--format", help="How explanations are printed.")
    ] = ExplanationFormat.TEXT,
) -> None:
    """Explain why regressions are slower, with the evidence.

    Example: nightshift explain 3f2a91c04b7e --test
    """
    context = MeasuringContext(config, quick)
    plan = context.plan()
    chosen = _chosen(load_detected(context.results, plan).regressions, fingerprint)
    seconds = read_option("budget", budget, parse_duration)
    for regression in chosen if test else ():
        watcher = make_watcher(screen())
        if not try_suspects(context, plan, regression, seconds, watcher, blocks):
            warn(f"{regression.fingerprint}: there is no changed setting that could be tested")
    explained = [explain_one(context, plan, regression) for regression in chosen]
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
    """Print the class of a regression, and the reasons of its steps, worst first.

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


def explain_one(context: MeasuringContext, plan: Plan, regression: Regression) -> Explanation:
    """Explain a regression, and keep that in results/explained/FINGERPRINT.

    Raises UserError where its bundles are gone.
    """
    explained = _explained(context, plan, regression)
    save_explained(explained, context.results)
    return explained.explanation


def try_suspects(
    context: MeasuringContext,
    plan: Plan,
    regression: Regression,
    seconds: float,
    watcher: Watcher,
    blocks: int = BLOCKS,
) -> tuple[Trial, ...]:
    """Run the first bad revision with the old values of its changed settings.

    What was said is kept beside the runs, for :func:`explain_one`, which also says so in the
    class. Of the time, ``seconds``, and the ``blocks`` of each trial, the first that is over ends
    it; the same call later goes on there. Nothing is returned where no setting that could be put
    back has another value, or no level changed. Raises UserError for what ends a run.
    """
    # What came from nothing, and a spread, have no ratio of which a part could be taken back.
    measured = [
        shift
        for shift in regression.shifts
        if shift.kind is RegressionKind.LEVEL and math.isfinite(shift.effect)
    ]
    shift = max(measured, key=size, default=None)
    cells = cells_of(regression, plan, shift.series) if shift is not None else None
    suspects = _explained(context, plan, regression).explanation.suspects
    if shift is None or cells is None or not suspects:
        return ()
    before, after = (
        cell.model_copy(update={"workload": narrowed(cell.workload, [shift.series.step])})
        for cell in cells
    )
    folder = _folder(context, regression)
    runner = context.runner(folder, watcher)
    watcher.begin("explain", seconds)
    try:
        with runner:
            trials = try_settings(
                runner,
                before,
                after,
                suspects,
                Figure(shift.series.step, shift.series.metric),
                find_target(regression.target).with_setting,
                blocks,
                seconds,
                context.clock,
            )
    except NotBuiltError as error:
        raise UserError(f"{regression.fingerprint}: there is no build to test: {error}") from error
    finally:
        watcher.end()
    save_trials(trials, folder)
    return trials


def why(context: MeasuringContext, plan: Plan, regression: Regression, *, keep: bool = True) -> str:
    """Return the explanation of a regression for its issue; nothing where there is none.

    Where its line or its bundles are gone, that is the one that was made before. With ``keep`` it
    is kept, as :func:`explain_one` does.
    """
    if not regression.worse:
        return ""
    try:
        explained = _explained(context, plan, regression)
    except UserError:
        # Imported series have no bundles, and an issue is worth filing without.
        known = last_explanation(regression, context.results)
        return explanation_markdown(known) if known is not None else ""
    if keep:
        save_explained(explained, context.results)
    return explanation_markdown(explained.explanation)


def _explained(context: MeasuringContext, plan: Plan, regression: Regression) -> Explained:
    return explain(
        regression,
        plan,
        context.bundles,
        context.config.detect.min_effect,
        load_trials(_folder(context, regression)),
        context.results,
    )


def _folder(context: MeasuringContext, regression: Regression) -> Path:
    return context.results / EXPERIMENTS / f"explain-{regression.fingerprint}"


def _chosen(regressions: tuple[Regression, ...], fingerprint: str) -> list[Regression]:
    """Return the regressions that a beginning of a fingerprint names, all for none."""
    worse = {each.fingerprint: each for each in regressions if each.worse}
    found = meant_by(fingerprint, worse)
    if fingerprint and not found:
        known = ", ".join(worse) or "none at all"
        raise UserError(f"there is no regression {fingerprint}; there is {known}")
    return [worse[each] for each in found]
