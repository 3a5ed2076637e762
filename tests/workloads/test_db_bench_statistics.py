"""RocksDB's account of a step, as four releases print it: two threads overwrite for 4 seconds.

The tree was made small, so that compaction falls behind and writes are slowed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.model.metrics import METRICS
from pipeline.workloads.db_bench.statistics import read_statistics

DATA = Path(__file__).parent / "data"
RELEASES = ("6.11", "7.8", "9.10", "9.11")


def output(release: str) -> str:
    return (DATA / f"db_bench-{release}-statistics.txt").read_text()


PRINTED = {
    "6.11": {
        "flush_wgb": 0.266,
        "ingest_gb": 0.27,
        "c_wgb": 1.22,
        "c_rgb": 1.16,
        "c_mbps": 311.56,
        "c_wsecs": 4.39,
        "c_csecs": 3.11,
        "stall%": 40.2,
        "Nstall": 34,
        "lsm_gb": 102.42 / 1024,
    },
    "9.11": {
        "flush_wgb": 0.252,
        "ingest_gb": 0.26,
        "c_wgb": 1.06,
        "c_rgb": 0.94,
        "c_mbps": 269.61,
        "c_wsecs": 4.39,
        "c_csecs": 1.78,
        "stall%": 19.4,
        "Nstall": 27,
        "c_pending_gb": 282424461 / 2**30,
        "lsm_gb": 167.18 / 1024,
    },
}


@pytest.mark.parametrize("release", PRINTED)
def test_every_figure_is_the_one_that_is_printed(release: str) -> None:
    found = read_statistics(output(release))
    amplification = found.pop("w_amp")
    assert found == pytest.approx(PRINTED[release])
    assert amplification == pytest.approx(found["c_wgb"] / found["flush_wgb"])


@pytest.mark.parametrize("release", RELEASES)
def test_write_amplification_is_that_of_rocksdbs_own_table(release: str) -> None:
    text = output(release)
    (row,) = re.findall(r"^ Sum .*$", text, re.MULTILINE)
    # Files, two words of a size, score, six figures, and then the write amplification.
    assert read_statistics(text)["w_amp"] == pytest.approx(float(row.split()[11]), abs=0.1)


@pytest.mark.parametrize("release", RELEASES)
def test_all_of_it_are_metrics_and_only_new_releases_report_the_debt(release: str) -> None:
    found = read_statistics(output(release))
    assert found.keys() <= METRICS.keys()
    assert ("c_pending_gb" in found) == (release in ("9.10", "9.11"))


def test_too_little_was_flushed_to_measure_an_amplification() -> None:
    text = output("9.11").replace("Flush(GB): cumulative 0.252", "Flush(GB): cumulative 0.004")
    assert "w_amp" not in read_statistics(text)


def test_output_without_statistics_has_none() -> None:
    text = output("9.11")
    assert read_statistics(text[: text.index("** Compaction Stats")]) == {}


@pytest.mark.parametrize(("unit", "gb"), [("MB", 0.26 / 1024), ("TB", 0.26 * 1024)])
def test_sizes_come_in_units(unit: str, gb: float) -> None:
    text = output("9.11").replace("ingest: 0.26 GB", f"ingest: 0.26 {unit}")
    assert read_statistics(text)["ingest_gb"] == pytest.approx(gb)


def test_columns_are_found_by_their_headings() -> None:
    # 10.5 has one more before the times: github.com/facebook/rocksdb/pull/13596.
    text = output("9.11").replace("Write(GB) Wnew(GB)", "Write(GB) WPreComp(GB) Wnew(GB)")
    assert text != output("9.11")
    text = re.sub(r"^( Sum .*?  1\.1)", r"\1       1.2", text, flags=re.MULTILINE)
    assert read_statistics(text) == read_statistics(output("9.11"))


def test_stops_count_as_stalls_do() -> None:
    text = output("9.11").replace("total-stops: 0", "total-stops: 5")
    assert read_statistics(text)["Nstall"] == 32
    text = output("6.11").replace("0 stop for pending", "3 stop for pending")
    assert read_statistics(text)["Nstall"] == 37
