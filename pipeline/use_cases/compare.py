"""Compare two builds: measure them in turn until their difference is clear."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.experiments.compare import (
    TwoSideComparison,
    choose_workload,
    compared,
    distinct_head,
    figures_in,
    figures_of_steps,
    workload_of,
)
from pipeline.experiments.experiment import Runner
from pipeline.experiments.interleaved import ANEW, BlocksResult, Question, interleave
from pipeline.experiments.record import Experiment, archive_experiment
from pipeline.experiments.revision_spec import cell_of, parse_subject
from pipeline.explain.function_costs import function_cost_changes
from pipeline.files.atomic_write import write_atomically
from pipeline.measure.build import NotBuiltError
from pipeline.measure.progress import Watcher
from pipeline.model import FunctionCostChange, Mode
from pipeline.storage.bundle import BUNDLES, bundle_path
from pipeline.storage.ingest import counts_of
from pipeline.text.errors import UserError
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


SMALLEST: Mapping[Mode, float] = {Mode.TIME: 0.02, Mode.COUNT: 0.005}
"""The default of the smallest change of interest (relative), by mode."""

ANSWER = "comparison.json"
"""The name of the file with the result, in the folder of the experiment."""


class ComparisonRequest(NamedTuple):
    """What to compare: two builds as the user wrote them, and the steps (all if empty).

    ``smallest`` is the smallest change of interest, relative; None for the default of the mode.
    ``seconds`` limits the time spent measuring. ``mode`` is None for the mode of the workload.
    """

    base: str
    head: str
    steps: Sequence[str]
    metrics: Sequence[str]
    workload: str
    smallest: float | None
    seconds: float
    mode: Mode | None = None


@logged("compare")
def compare(
    context: MeasuringContext, asked: ComparisonRequest, again: bool, watcher: Watcher
) -> TwoSideComparison:
    """Compare two builds, and save the result in the folder of the experiment.

    With ``again``, earlier runs are ignored. Raises UserError for an unknown revision, builds that
    cannot be compared, and a build that fails.
    """
    experiment = experiment_of(context, asked)
    if again:
        archive_experiment(experiment, context.results)
    comparison = compared(experiment, measured(context, experiment, watcher))
    comparison = comparison.model_copy(
        update={"functions": counted_functions(experiment, context.results)}
    )
    verdict = "regressed" if comparison.regressed else "not regressed"
    _LOG.info("experiment decided", extra={"experiment": experiment.name, "verdict": verdict})
    folder = experiment.folder(context.results)
    write_atomically(folder / ANSWER, comparison.model_dump_json(indent=1))
    return comparison


def experiment_of(context: MeasuringContext, asked: ComparisonRequest) -> Experiment:
    """Return the experiment that makes the requested comparison.

    Raises UserError for an unknown revision, and for builds that cannot be compared.
    """
    subjects = [parse_subject(side) for side in (asked.base, asked.head)]
    targets = [each.target for each in subjects]
    section = choose_workload(context.config, asked.workload, targets, asked.mode)
    mode = section.mode
    metrics = figures_in(mode, asked.metrics, context.config.detect.metrics)
    chosen = workload_of(section, asked.steps, context.config.machine.pin)
    first, second = (
        cell_of(
            each, context.file, section, chosen, context.machine, context.cache, context.results
        )
        for each in subjects
    )
    return Experiment(
        kind="compare",
        base=first,
        head=distinct_head(first, second),
        question=Question(
            figures=figures_of_steps(chosen, metrics),
            smallest_effect=SMALLEST[mode] if asked.smallest is None else asked.smallest,
            seconds=asked.seconds,
            anew=ANEW,
        ),
    )


class BuildFailedError(UserError):
    """A build of a comparison failed; ``reason`` says why, ``of_head`` whether it was head's."""

    def __init__(self, text: str, *, of_head: bool) -> None:
        super().__init__(f"a build failed, so there is nothing to compare: {text}")
        self.reason, self.of_head = text, of_head


def counted_functions(
    experiment: Experiment, results: Path
) -> dict[str, tuple[FunctionCostChange, ...]]:
    """Return how the instructions of each function changed from base to head, by step."""
    if experiment.pair.mode is not Mode.COUNT:
        return {}
    folder = experiment.place(results) / BUNDLES
    base, head = (
        counts_of(bundle_path(folder, cell.run_id(1)))
        for cell in (experiment.base, experiment.head)
    )
    return {step: function_cost_changes(base[step], head[step]) for step in base if step in head}


def measured(
    context: MeasuringContext,
    experiment: Experiment,
    watcher: Watcher,
    seen: Callable[[Runner], Runner] = lambda runner: runner,
) -> BlocksResult:
    """Measure an experiment on this machine; ``seen`` may wrap the runner.

    Raises BuildFailedError if the build of a side fails.
    """
    folder, question = experiment.folder(context.results), experiment.question
    with context.experimenting(
        folder, "compare", question.seconds, watcher, experiment.pair.mode
    ) as runner:
        try:
            return interleave(seen(runner), experiment.pair, question, context.clock)
        except NotBuiltError as error:
            of_head = runner.built(experiment.pair.base)
            raise BuildFailedError(str(error), of_head=of_head) from error
