"""Killed, stopped or slowed within a step: recorded with the reason, and the night goes on."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pipeline.measure import execution
from pipeline.measure.step import execute
from pipeline.model import Manifest, StepStatus
from pipeline.storage.bundle import list_all, list_bundles, read_bundle
from pipeline.storage.night_log import Night as NightLine
from pipeline.storage.night_log import Nights
from tests.conftest import Release
from tests.nights import Night, give_own_cache, make_night
from tests.real.faults.saboteur import (
    Act,
    Saboteur,
    send_backends,
    send_client,
    send_server,
    slow_backends,
    slow_client,
)
from tests.simulated import Ran, invoke

WATCHED = """
[disturbance]
watch = true
budget = "1000%"
others = "100%"
steal = "100%"
slowdown = "99%"
swapped = "100GB"
clock_jump = "1h"
"""
"""What else runs on the machine of the tests disturbs nothing; only a stopped process counts."""


@pytest.fixture
def folder(
    tmp_path: Path, releases: Callable[[str], Release], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A night of one revision of Postgres with a step that reads and one that writes."""
    night = make_night(tmp_path / "n", revisions=[releases("17").revision.version])
    config = night.folder / "nightshift.toml"
    text = config.read_text().replace('measure = "1s"', 'measure = "4s"')
    text = text.replace("[disturbance]\nwatch = false\n", WATCHED)
    config.write_text(text)
    monkeypatch.chdir(night.folder)
    # A step that hangs is killed after seconds instead of minutes.
    monkeypatch.setattr(execution, "execute", partial(execute, patience=3.0))
    return night.folder


def nightly(code: int = 0) -> Ran:
    ran = invoke("nightly")
    assert ran.code == code, ran.err
    assert "Traceback" not in ran.err
    return ran


def last_night(folder: Path) -> NightLine:
    return Nights(folder / "results").read()[-1]


def manifests(folder: Path) -> list[Manifest]:
    return [read_bundle(path).manifest for path in list_bundles(folder / "results/bundles")]


def statuses(manifest: Manifest) -> list[StepStatus]:
    return [record.status for record in manifest.steps]


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (send_client(signal.SIGKILL), "SIGKILL"),
        (send_client(signal.SIGSTOP), "did not end within"),
    ],
)
def test_a_reading_step_is_repeated_at_once(folder: Path, act: Act, reason: str) -> None:
    with Saboteur("point-query", act) as saboteur:
        nightly()
    assert saboteur.done == 1
    (manifest,) = manifests(folder)
    assert statuses(manifest) == [StepStatus.OK, StepStatus.OK]
    (failed,) = manifest.repeated
    assert failed.status is StepStatus.FAILED
    assert reason in failed.note
    assert last_night(folder).harness_errors == {}


@pytest.mark.parametrize(
    "act", [send_client(signal.SIGKILL), send_client(signal.SIGSTOP), send_server(signal.SIGKILL)]
)
def test_a_run_with_a_writing_step_is_attempted_again(folder: Path, act: Act) -> None:
    with Saboteur("update-index", act) as saboteur:
        ran = nightly()
    assert saboteur.done == 1
    assert "for a reason outside of the DBMS" in ran.err
    (manifest,) = manifests(folder)
    assert statuses(manifest) == [StepStatus.OK, StepStatus.OK]
    assert last_night(folder).harness_errors == {}


def test_what_is_killed_each_time_is_never_done(folder: Path) -> None:
    with Saboteur("update-index", send_client(signal.SIGKILL), times=3) as saboteur:
        ran = nightly(code=3)
    assert saboteur.done == 3
    assert "no run could be measured" in ran.err
    assert manifests(folder) == []
    night = last_night(folder)
    assert night.runs == 0
    (why,) = night.harness_errors.values()
    assert "update-index" in why and "SIGKILL" in why
    nightly()
    assert statuses(manifests(folder)[0]) == [StepStatus.OK, StepStatus.OK]


def test_a_server_process_that_is_killed_is_a_failed_step(folder: Path) -> None:
    with Saboteur("point-query", send_backends(signal.SIGKILL)) as saboteur:
        nightly()
    assert saboteur.done == 1
    (manifest,) = manifests(folder)
    assert statuses(manifest) == [StepStatus.OK, StepStatus.FAILED]
    assert manifest.steps[1].note
    assert last_night(folder).failed_steps == 1


@pytest.mark.parametrize(
    ("act", "who"), [(slow_backends(1.5), "the DBMS"), (slow_client(1.5), "the load generator")]
)
def test_what_is_stopped_for_a_while_disturbs_the_step(folder: Path, act: Act, who: str) -> None:
    with Saboteur("point-query", act) as saboteur:
        nightly()
    assert saboteur.done == 1
    (manifest,) = manifests(folder)
    assert statuses(manifest) == [StepStatus.OK, StepStatus.OK]
    (disturbed,) = manifest.repeated
    assert f"a signal had stopped {who}" in disturbed.disturbed["stopped"]


def test_a_server_that_stays_stopped_is_a_disturbed_run(folder: Path) -> None:
    with Saboteur("update-index", send_backends(signal.SIGSTOP)) as saboteur:
        nightly()
    assert saboteur.done == 1
    attempts = [
        read_bundle(path).manifest
        for path in list_all(folder / "results/bundles")
        if ".disturbed-" in path.name
    ]
    (attempt,) = attempts
    assert statuses(attempt) == [StepStatus.FAILED, StepStatus.FAILED]
    assert "a signal had stopped the DBMS" in attempt.steps[0].disturbed["stopped"]
    assert "stopped by a signal" in attempt.steps[1].note
    (manifest,) = manifests(folder)
    assert statuses(manifest) == [StepStatus.OK, StepStatus.OK]


def test_a_template_that_the_server_may_not_read_is_no_result(
    folder: Path, server_folder: Path, cache: Path
) -> None:
    own = server_folder / "own"
    give_own_cache(Night(folder), own, cache)
    nightly()
    shutil.rmtree(folder / "results/bundles")
    # Only root's servers run as another user.
    if os.geteuid() != 0:
        pytest.skip("only root runs its servers as another user")
    (folder / "results/store.db").unlink()
    (template,) = (own / "templates/postgres").iterdir()
    for path in (template, *template.rglob("*")):
        shutil.chown(path, "root")
    template.chmod(0o700)
    ran = nightly(code=3)
    assert "for a reason outside of the DBMS" in ran.err and str(template) in ran.err
    assert manifests(folder) == []
    shutil.rmtree(template)
    nightly()
    assert statuses(manifests(folder)[0]) == [StepStatus.OK, StepStatus.OK]
