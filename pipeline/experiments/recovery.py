"""Check by an experiment whether a regression is gone, before the nights show it.

If an improvement follows a regression, the newest revision is compared with the regression's last
good one, in blocks as in a confirmation.
"""

from __future__ import annotations

from collections.abc import Collection

from pipeline.config import ConfirmSection
from pipeline.experiments.confirm import experiment_of, planned_cells
from pipeline.experiments.interleaved import BlocksResult
from pipeline.experiments.record import Experiment
from pipeline.measure.plan import Plan
from pipeline.model import Regression
from pipeline.regressions.grouping import clearest


def experiment_for(
    regression: Regression, plan: Plan, settings: ConfirmSection, measured: Collection[str]
) -> Experiment:
    """Return the experiment that tests whether the newest revision is free of a regression.

    It uses the newest revision with runs, because a newer one may have no build; ``measured`` are
    the keys of cells with runs. Raises as :func:`pipeline.experiments.confirm.experiment_of` does.
    """
    asked = experiment_of(regression, plan, settings)
    shift, *_ = clearest(regression, 1)
    *_, newest = (cell for cell in planned_cells(plan, regression, shift) if cell.key in measured)
    head = newest.model_copy(update={"workload": asked.head.workload})
    return asked.model_copy(update={"kind": f"recover-{regression.fingerprint}", "head": head})


def is_back(answer: BlocksResult) -> bool:
    """Whether the experiment excludes a loss in every metric, on a machine that did not change."""
    return not answer.moved and all(
        row.verdict in ("not worse", "same", "better") for row in answer.rows
    )
