"""Counts by kind of work: the Lua that keeps them in the real sysbench, and their reading."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from pipeline.workloads.base.histogram import percentile
from pipeline.workloads.base.sysbench import SHARED_SCRIPTS
from pipeline.workloads.base.tally import read_tallies
from tests.workloads.sysbench_runner import run_script

# Thread 0 does ten rows in 4 ms, the others a row in 1 ms; one of them is refused once.
SCRIPT = """
package.path = "%s/?.lua;" .. package.path
local tally = require("tally")
local KINDS = { "large", "small" }
sysbench.hooks.report_intermediate = function(stat)
   tally.attach(KINDS)
   tally.interval(stat.time_total)
end
sysbench.hooks.report_cumulative = function(stat)
   tally.attach(KINDS)
   tally.total(stat.time_total)
end
function init() tally.open(KINDS, sysbench.opt.threads) end
function thread_init() tally.attach(KINDS) end
local refused = false
function event()
   if sysbench.tid == 0 then
      tally.record(0, "large", 10, 0.004)
   else
      if sysbench.tid == 1 and not refused then
         refused = true
         tally.fail(1, "small")
      end
      tally.record(sysbench.tid, "small", 1, 0.001)
   end
   %s
end
"""
SLEEP = 'require("ffi").cdef("int usleep(unsigned)") require("ffi").C.usleep(1000)'


def run(folder: Path, *options: str) -> str:
    script = folder / "script.lua"
    script.write_text(SCRIPT % (SHARED_SCRIPTS, SLEEP))
    done = run_script(script, "--threads=3", *options, "run")
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_each_kind_is_counted_over_all_threads_by_itself(tmp_path: Path) -> None:
    found = read_tallies(run(tmp_path, "--time=0", "--events=300"))
    large, small = found["large"], found["small"]
    assert large.operations == 10 * large.events
    assert small.operations == small.events
    assert large.events + small.events == 300
    assert (large.errors, small.errors) == (0, 1)
    assert large.average_ms == pytest.approx(4.0)
    assert large.max_ms == 4.0
    assert percentile(small.histogram, 0.5, small.max_ms) == pytest.approx(1.0, rel=0.02)
    assert small.per_second == pytest.approx(small.operations / small.seconds)


def test_the_timeline_is_of_each_interval(tmp_path: Path) -> None:
    found = read_tallies(run(tmp_path, "--time=3", "--events=0", "--report-interval=1"))
    timeline = found["small"].timeline
    # The last interval ends with the run, and sysbench may or may not report it.
    assert [round(at) for at, _ in timeline][:2] == [1, 2]
    lengths = [b - a for (a, _), (b, _) in pairwise([(0.0, 0.0), *timeline])]
    done = sum(rate * length for (_, rate), length in zip(timeline, lengths, strict=True))
    assert 0 < done <= found["small"].operations + 0.5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "was killed"),
        ("FATAL: no such table\n", "no such table"),
        (
            "nightshift tally-total seconds=1.0 kind=a events=2 operations=2 errors=0"
            " lat_sum_ms=1.0 lat_max_ms=1.0\nnightshift tally-histogram kind=a 5:1\n",
            "incomplete",
        ),
    ],
)
def test_output_that_is_not_whole_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_tallies(text)
