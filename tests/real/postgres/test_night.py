"""The main job on a real Postgres with the real sysbench, from configuration to report."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pipeline.profiles.folded import load_folded
from pipeline.storage.bundle import read_bundle
from pipeline.storage.night_log import Night as Recorded
from pipeline.storage.night_log import Nights
from pipeline.workloads.base.plans import PLANS_MEMBER, read_plans
from tests.conftest import Release
from tests.nights import Night, give_own_cache, leftovers, make_night
from tests.site.browser import PROGRAM, started


@pytest.fixture(scope="session")
def version(releases: Callable[[str], Release]) -> str:
    """The newest 17 there is; skips where it cannot be had."""
    return releases("17").revision.version


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory, version: str) -> Night:
    """One night of two copies of one build, three times each: an A/A night."""
    made = make_night(
        tmp_path_factory.mktemp("night"),
        revisions=[version, f"{version}#2"],
        steps=["point-query", "scan", "update-index"],
        repetitions=3,
    )
    made.run("nightly")
    return made


def recorded(night: Night) -> list[Recorded]:
    """What the nights of a folder wrote down."""
    return Nights(night.folder / "results").read()


def test_a_night_measures_every_run_and_writes_everything(night: Night, version: str) -> None:
    assert len(night.bundles()) == 6
    (table,) = night.tables()
    assert [column["label"] for column in table["columns"]] == [version, f"{version}#2"]
    steps = [row["step"] for group in table["groups"] for row in group["rows"]]
    assert steps == ["point-query_range=100", "scan_range=100", "update-index_range=100"]
    assert all(
        value > 0 for group in table["groups"] for row in group["rows"] for value in row["values"]
    )
    page = (night.folder / "results/report.html").read_text()
    assert f"{version}#2" in page
    assert list(night.folder.glob("results/tables/*.md"))


def test_an_a_a_night_flags_nothing(night: Night) -> None:
    detected = night.json("detect")
    assert detected["series"] >= 6
    assert detected["regressions"] == []
    assert not list(night.folder.glob("results/issues/*"))


@pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
def test_the_site_of_a_night_is_walked_in_a_browser(
    night: Night, version: str, tmp_path: Path
) -> None:
    page = night.folder / night.json("site")["site"]
    shown = "document.querySelector('main').textContent"
    with started(tmp_path / "profile") as browser:
        browser.open(page)
        browser.until("document.querySelector('h1').textContent === 'No change was found'")
        assert f"qps of {version}#2 relative to {version}" in browser.run(shown)
        for view, reported in (
            ("trend", "scan_range=100"),
            ("step?step=scan_range%3D100", "cpu_us/o"),
            ("compare", f"{version}#2"),
            ("machines", f"{version}#2"),
        ):
            browser.run(f"location.hash = {view!r}")
            browser.until(f"{shown}.includes({reported!r})")
        assert browser.complaints() == []
        root = page.parent.as_uri()
        assert all(asked.startswith(root) for asked in browser.requests())


def test_a_second_night_has_nothing_to_measure(night: Night) -> None:
    before = night.bundles()
    again = night.json("nightly")
    assert again["runs"] == 0
    assert night.bundles() == before
    first, *_, last = recorded(night)
    assert (first.runs, first.failed_steps, first.queue, first.error) == (6, 0, 0, "")
    assert (last.runs, last.queue, last.series) == (0, 0, first.series)
    # A run takes as long as its steps, at least, and no longer than the stage.
    assert 6 * 3 < first.spent["runs"] < first.stages["run"] + first.stages["ingest"]
    assert last.spent["runs"] == 0
    assert last.spent_so_far["nights"] == pytest.approx(first.spent["runs"] / 60)


def test_a_bundle_holds_everything_about_its_run(night: Night, version: str) -> None:
    path = sorted((night.folder / "results/bundles").glob("*.tar.zst"))[0]
    bundle = read_bundle(path)
    head = bundle.manifest
    assert head.tools["sysbench"].startswith("sysbench 1.")
    assert head.build.provenance.reported_version.endswith(version)
    assert len(head.build.provenance.sha256) == 64
    assert head.steps[0].command[0] == "sysbench"
    assert b"shared_buffers" in bundle.files["settings.json"]
    assert b"Threads started!" in bundle.files[f"{head.steps[0].folder}/stdout.txt"]
    assert {phase.name for phase in head.phases} >= {"start", "load", "maintenance", "stop"}
    plans = read_plans(bundle.files[PLANS_MEMBER].decode())
    assert plans.keys() == {step.step.name for step in head.steps}
    if len(os.sched_getaffinity(0)) > 1:
        assert head.pinning.server == head.pinning.client != head.pinning.harness


def test_measurements_are_of_the_step_and_of_the_server(night: Night) -> None:
    values = {(step, metric): value for _, step, metric, value in night.rows()}
    assert 0 < values["point-query_range=100", "cpu_us/o"] < 10_000
    assert values["point-query_range=100", "qps"] > 100
    # A scan counts rows; it reads far more of them a second than queries can be answered.
    assert values["scan_range=100", "qps"] > 10 * values["point-query_range=100", "qps"]
    assert values["update-index_range=100", "dbsize"] > 1_000_000
    assert values["point-query_range=100", "rss"] > 1_000_000


def test_rebuild_gives_the_same_store_from_bundles_alone(night: Night) -> None:
    rows, tables, record = night.rows(), night.tables(), recorded(night)
    (night.folder / "results/store.db").unlink()
    night.run("rebuild")
    assert recorded(night) == record
    assert night.rows() == rows
    assert night.tables() == tables


def test_a_damaged_bundle_is_kept_aside_and_its_run_measured_again(
    tmp_path: Path, version: str
) -> None:
    night = make_night(tmp_path / "n", revisions=[version], steps=["point-query"], repetitions=2)
    night.run("nightly")
    victim = sorted((night.folder / "results/bundles").glob("*.tar.zst"))[0]
    whole = victim.read_bytes()
    victim.write_bytes(whole[: len(whole) // 2])
    (night.folder / "results/store.db").unlink()
    refused = night.run("ingest", code=2)
    assert [line for line in refused.stderr.splitlines() if victim.name in line]
    again = night.run("nightly")
    assert "1 run measured" in again.stdout
    assert victim.exists()
    aside = night.folder / "results/quarantine" / victim.name
    assert aside.read_bytes() == whole[: len(whole) // 2]


def test_a_night_killed_while_its_server_runs_a_step_goes_on_where_it_was(
    tmp_path: Path, version: str, cache: Path
) -> None:
    """tests/flows/test_killed_nights.py kills before each effect; here a server has to go, too."""
    night = make_night(tmp_path / "n", revisions=[version, f"{version}#2"], repetitions=2)
    process = night.start("nightly")
    # In its second run, so that one is to be kept.
    while not (night.bundles() and "postgres" in _measuring(process.pid, "update-index")):
        assert process.poll() is None, "the night ended before it was killed"
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert leftovers(cache) == []
    kept = night.bundles()
    assert len(kept) in (1, 2, 3)
    night.run("nightly")
    bundles = night.bundles()
    assert len(bundles) == 4
    assert kept.items() <= bundles.items()
    rows, tables = night.rows(), night.tables()
    assert len({row[:3] for row in rows}) == len(rows)
    night.run("rebuild")
    assert (night.rows(), night.tables()) == (rows, tables)
    assert night.json("nightly")["runs"] == 0


def _measuring(night: int, step: str) -> dict[str, psutil.Process]:
    """Return the processes of a night by their names while sysbench runs a step, else none."""
    # What is looked at may end meanwhile.
    with contextlib.suppress(psutil.NoSuchProcess):
        found = {each.name(): each for each in psutil.Process(night).children()}
        if "sysbench" in found and f"--step={step}" in found["sysbench"].cmdline():
            return found
    return {}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_night_stops_its_server_too(
    tmp_path: Path, version: str, cache: Path, how: signal.Signals
) -> None:
    night = make_night(tmp_path / "n", revisions=[version], repetitions=20)
    with subprocess.Popen(
        night.command("nightly"),
        cwd=night.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            while not leftovers(cache, seconds=0):
                assert process.poll() is None, "the night ended before it measured"
                time.sleep(0.05)
            process.send_signal(how)
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "run the same command again" in said
    assert "Traceback" not in said
    assert leftovers(cache, seconds=0) == []
    assert not [path for path in (cache / "runs").iterdir() if path.is_dir()]
    (stopped,) = recorded(night)
    assert stopped.error == "stopped"
    assert stopped.queue == 20 - stopped.runs


def test_a_server_that_crashes_is_a_result_and_the_night_goes_on(
    tmp_path: Path, version: str, cache: Path
) -> None:
    night = make_night(tmp_path / "n", revisions=[version, f"{version}#2"])
    config = night.folder / "nightshift.toml"
    config.write_text(config.read_text().replace('measure = "1s"', 'measure = "3s"'))
    process = night.start("nightly")
    while "postgres" not in (found := _measuring(process.pid, "update-index")):
        assert process.poll() is None, "the night ended before it measured"
        time.sleep(0.02)
    found["postgres"].send_signal(signal.SIGSEGV)
    assert process.wait(timeout=120) == 0
    first, second = (
        read_bundle(path).manifest
        for path in sorted((night.folder / "results/bundles").glob("*.tar.zst"))
    )
    if "#2" in first.revision.label:
        first, second = second, first
    assert [step.status for step in first.steps] == ["failed", "failed"]
    assert all(step.note for step in first.steps)
    assert [step.status for step in second.steps] == ["ok", "ok"]
    (table,) = night.tables()
    assert all(row["values"][0] is None for group in table["groups"] for row in group["rows"])
    assert leftovers(cache) == []


@pytest.mark.parametrize("program", ["initdb", "postgres"])
def test_a_revision_whose_programs_die_at_once_does_not_end_the_night(
    server_folder: Path, releases: Callable[[str], Release], cache: Path, program: str
) -> None:
    versions = [releases(major).revision.version for major in ("16", "17")]
    night = make_night(server_folder / "night", revisions=versions, steps=["point-query"])
    give_own_cache(night, server_folder / "cache", cache)
    night.run("discover")
    (first, _) = night.json("build")
    script = Path(first["home"]) / "bin" / program
    real = script.rename(script.with_name(f"{program}.real"))
    # initdb runs the server too; as a server it dies.
    script.write_text(
        f'#!/bin/sh\ncase {program}$1 in postgres-V | postgres--*) exec {real} "$@" ;; esac\n'
        "echo 'FATAL:  this build cannot' >&2\nexit 1\n"
    )
    script.chmod(0o755)
    done = night.run("nightly")
    assert "Traceback" not in done.stderr
    heads = sorted(
        (read_bundle(path).manifest for path in night.folder.glob("results/bundles/*.zst")),
        key=lambda head: head.revision.order,
    )
    assert [step.status for head in heads for step in head.steps] == ["failed", "ok"]
    assert "this build cannot" in heads[0].steps[0].note
    assert night.json("nightly")["runs"] == 0
    assert leftovers(server_folder / "cache") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk")
def test_a_disk_that_fills_up_under_the_server_is_one_line_and_no_result(
    tmp_path: Path, version: str, cache: Path
) -> None:
    night = make_night(tmp_path / "n", revisions=[version], more="")
    config = night.folder / "nightshift.toml"
    # It begins on a disk that a night is refused on.
    passing = config.read_text().replace('wait = "0s"', 'wait = "0s"\nwarn = ["disk_full"]')
    config.write_text(passing.replace("rows = 5000", "rows = 300000"))
    with tempfile.TemporaryDirectory() as small:
        mount = ["mount", "-t", "tmpfs", "-o", "size=260m", "tmpfs", small]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            pytest.skip("this machine does not let root mount a small disk")
        try:
            Path(small).chmod(0o755)
            shutil.copytree(cache / "downloads", Path(small) / "downloads", ignore=_not(version))
            refused = subprocess.run(
                night.command("nightly"),
                cwd=night.folder,
                env={**os.environ, "NIGHTSHIFT_CACHE": small},
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            subprocess.run(["umount", small], check=True)
    # A night that took no figure; the run is no result and is measured by the next one.
    assert refused.returncode == 3, refused.stderr
    assert f"the disk that holds {small} is full" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert night.bundles() == {}


def _not(version: str) -> Callable[[str, list[str]], list[str]]:
    """Leave out of a copy what is not of this version."""
    return lambda _folder, names: [name for name in names if f"-{version}." not in name]


def test_two_nights_do_not_measure_at_once(tmp_path: Path, version: str, cache: Path) -> None:
    first = make_night(tmp_path / "1", revisions=[version], repetitions=20)
    second = make_night(tmp_path / "2", revisions=[version])
    process = first.start("nightly")
    try:
        while not leftovers(cache, seconds=0):
            assert process.poll() is None
            time.sleep(0.05)
        refused = second.run("nightly", code=2)
        assert refused.stderr.count("\n") == 1
        assert str(process.pid) in refused.stderr
    finally:
        process.terminate()
        process.wait()


def test_a_port_in_use_is_one_line_and_loses_nothing(tmp_path: Path, version: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        night = make_night(tmp_path / "n", revisions=[version], steps=["point-query"], port=port)
        refused = night.run("nightly", code=3)
        assert f"{port}" in refused.stderr
        assert "Traceback" not in refused.stderr
        assert night.bundles() == {}
    assert night.json("nightly")["runs"] == 1


def test_three_majors_are_measured_and_compared(
    tmp_path: Path, releases: Callable[[str], Release], cache: Path
) -> None:
    versions = [releases(major).revision.version for major in ("12", "15", "18")]
    night = make_night(tmp_path / "n", revisions=versions, steps=["point-query", "update-index"])
    night.run("discover")
    assert len(night.run("run").stdout.splitlines()) == 3
    night.run("ingest")
    (table,) = night.tables()
    assert [column["label"] for column in table["columns"]] == versions
    values = [
        value for group in table["groups"] for row in group["rows"] for value in row["values"]
    ]
    assert len(values) == 6
    assert all(value > 0 for value in values)
    assert leftovers(cache) == []


def test_two_majors_many_clients_and_every_step(
    tmp_path: Path, releases: Callable[[str], Release]
) -> None:
    old, new = (releases(major).revision.version for major in ("14", "18"))
    night = make_night(
        tmp_path / "n",
        revisions=[old, new],
        steps=["random-points_range=10", "read-write_range=10", "insert"],
        more="clients = [2]\ntables = 2\n",
    )
    night.run("nightly")
    (table,) = night.tables()
    assert [column["name"].split("_")[0] for column in table["columns"]] == [
        "pg" + version.replace(".", "") for version in (old, new)
    ]
    values = [v for group in table["groups"] for row in group["rows"] for v in row["values"]]
    assert len(values) == 6
    assert all(value is not None and value > 0 for value in values)


def test_a_profiled_run_keeps_a_flame_graph_or_says_why_not(tmp_path: Path, version: str) -> None:
    night = make_night(tmp_path / "n", revisions=[version], steps=["point-query", "update-index"])
    config = night.folder / "nightshift.toml"
    config.write_text(config.read_text().replace('measure = "1s"', 'measure = "4s"'))
    night.run("discover")
    night.run("run", "--profile")
    (path,) = night.folder.glob("results/bundles/*.tar.zst")
    bundle = read_bundle(path)
    assert bundle.manifest.workload.profile
    assert [step.status for step in bundle.manifest.steps] == ["ok", "ok"]
    for step in bundle.manifest.steps:
        waits = load_folded(bundle.files[f"{step.folder}/waiting.folded"].decode())
        assert {stack.split(";")[0] for stack in waits} == {"postgres"}
        # The checkpointer waits for work; its stack is whole although nothing keeps frame pointers.
        assert any("CheckpointerMain" in stack and "WaitLatch" in stack for stack in waits), waits
        assert f"{step.folder}/waiting.svg" in bundle.files
    if "no CPU profile" in bundle.manifest.notes:
        pytest.skip(bundle.manifest.notes)
    for step in bundle.manifest.steps:
        stacks = load_folded(bundle.files[f"{step.folder}/profile.folded"].decode())
        # Of the server and of nothing else.
        assert {stack.split(";")[0] for stack in stacks} == {"postgres"}
        picture = bundle.files[f"{step.folder}/profile.svg"].decode()
        assert f"all ({stacks.total()} sample" in picture
        assert step.step.name in picture
    # Measured again, without one: runs of their own.
    night.run("run")
    assert len(night.bundles()) == 2
