"""What a fix brings back, from two comparisons; a fix that was not measured is undecided."""

from __future__ import annotations

from pipeline.experiments.fix import FixOutcome, new_losses, restored_figures
from pipeline.experiments.interleaved import BlocksResult, FigureVerdict, Judgement


def result(verdict: Judgement, effect: float, blocks: int = 1, step: str = "scan") -> BlocksResult:
    row = FigureVerdict(
        step=step,
        metric="instructions/o",
        verdict=verdict,
        effect=effect,
        interval=(effect - 0.0005, effect + 0.0005),
        smallest_visible=0.0005,
        blocks=blocks,
    )
    return BlocksResult(rows=(row,), blocks=blocks, seconds=1.0)


LOSS = result("worse", 0.25)


def test_the_share_is_that_of_the_logarithms() -> None:
    (one,) = restored_figures(LOSS, result("better", -0.2))
    assert round(one.share, 6) == 1.0
    assert one.outcome is FixOutcome.FULL
    (one,) = restored_figures(LOSS, result("same", 0.0))
    assert one.outcome is FixOutcome.NONE


def test_a_fix_that_was_not_measured_is_not_said_to_fix_nothing() -> None:
    assert restored_figures(LOSS, result("undecided", 0.0, blocks=0)) == ()
    failed = result("failed", 0.0, blocks=0)
    assert restored_figures(LOSS, failed) == ()
    assert new_losses(failed, ()) == failed.rows


def test_a_loss_that_was_not_seen_again_is_not_restored() -> None:
    assert restored_figures(result("same", 0.0), result("better", -0.2)) == ()
