"""What sysbench says of tproc-c is read whole or refused."""

from __future__ import annotations

import pytest

from pipeline.workloads.tproc_c.family import STEP, TprocC
from tests.workloads.tproc_c_shop import workload

COUNTS = {
    # Operations, their milliseconds together, the longest, and the histogram.
    "new-order": (446, 900.0, 9.0, "400:440 500:6"),
    "rolled-back": (4, 8.0, 3.0, "400:4"),
    "payment": (430, 430.0, 4.0, "380:430"),
    "order-status": (40, 40.0, 2.0, "380:40"),
    "delivery": (40, 400.0, 20.0, "512:40"),
    "stock-level": (40, 40.0, 2.0, "380:40"),
}
CONSISTENT = "nightshift consistent conditions=11\n"


def said(seconds: float = 2.0) -> str:
    lines = [
        f"nightshift tally t={at:.6f} kind={kind} events={of} operations={of} errors={errors}"
        for at, part, errors in ((1.0, 0.5, 0), (2.0, 1.0, 3))
        for kind, (count, *_) in COUNTS.items()
        for of in [int(count * part)]
    ]
    for kind, (count, total, longest, buckets) in COUNTS.items():
        lines += [
            f"nightshift tally-total seconds={seconds:.6f} kind={kind} events={count}"
            f" operations={count} errors=3 lat_sum_ms={total:.6f} lat_max_ms={longest:.6f}",
            f"nightshift tally-histogram kind={kind} {buckets}",
        ]
    return "\n".join(lines) + "\n"


def test_the_figures_are_of_all_kinds_together() -> None:
    output = TprocC().parse(STEP, workload(), said() + CONSISTENT)
    assert (output.operations, output.seconds, output.errors) == (1000, 2.0, 18)
    assert output.figures == {"nopm": 446 * 30.0, "tpm": 30_000.0}
    assert output.latency_ms["avg"] == pytest.approx(1.818)
    assert output.latency_ms["max"] == 20.0
    assert [count for _, count in output.histogram] == [510, 444, 6, 40]
    assert [(point.at, point.ops_per_second) for point in output.timeline] == [
        (1.0, 500.0),
        (2.0, 500.0),
    ]


def test_an_interval_that_was_cut_off_is_no_part_of_the_timeline() -> None:
    whole = said()
    last = "nightshift tally t=2.000000 kind=stock-level"
    cut = "\n".join(line for line in whole.splitlines() if not line.startswith(last)) + "\n"
    output = TprocC().parse(STEP, workload(), cut + CONSISTENT)
    assert [point.at for point in output.timeline] == [1.0]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (said(), "the consistency conditions were not checked"),
        (said() + "FATAL: consistency condition 3.3.2.1 is broken\n", "condition 3.3.2.1"),
        ("FATAL: no such table\n", "no such table"),
        ("", "was killed"),
    ],
)
def test_output_that_is_not_whole_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        TprocC().parse(STEP, workload(), text)
