"""HammerDB's own tproc-c: the script that it gets, and what it prints."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipeline.model import Connection, Scale, Workload
from pipeline.text.errors import UserError
from pipeline.workloads.base import Command, Load, Measure, Timing
from pipeline.workloads.base.options import OptionError
from pipeline.workloads.tproc_c.family import STEP, TprocC

FAKE = Path(__file__).parents[1] / "fakes" / "hammerdbcli"

DATA = Path(__file__).parent / "data"

POSTGRES = Connection(
    driver="pgsql", socket_dir="/srv/run", port=5433, user="someone", database="sbtest"
)
MYSQL = POSTGRES.model_copy(update={"driver": "mysql"})


def workload(
    measure: float = 120.0, warmup: float = 60.0, options: Mapping[str, int | str] | None = None
) -> Workload:
    scale = Scale(tables=1, rows=1000, clients=3, measure=measure, warmup=warmup)
    return TprocC().workload(
        "tpcc", ["tproc-c"], scale, {"driver": "hammerdb", "warehouses": 2, **(options or {})}
    )


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the program, and a link to it in PATH; returns the folder."""
    if shutil.which("tclsh") is None:
        pytest.skip("tclsh is not installed; Debian's package is tcl")
    home, links = tmp_path / "HammerDB-4.5", tmp_path / "bin"
    for folder in (home, links):
        folder.mkdir()
    shutil.copy(FAKE, home)
    (links / "hammerdbcli").symlink_to(home / "hammerdbcli")
    monkeypatch.setenv("PATH", str(links), prepend=":")
    return home


def run(action: Command, connection: Connection) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        TprocC().command(action, workload(), connection, 7),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_schema_is_built_in_the_database_of_the_run(installed: Path) -> None:
    done = run(Load(), POSTGRES)
    assert done.returncode == 0, done.stdout
    reported = done.stdout.splitlines()
    assert f"in {installed}" in reported
    for setting in (
        "dbset db pg",
        "dbset bm TPC-C",
        "diset connection pg_host /srv/run",
        "diset connection pg_port 5433",
        "diset tpcc pg_superuser someone",
        "diset tpcc pg_user someone",
        "diset tpcc pg_defaultdbase sbtest",
        "diset tpcc pg_dbase sbtest",
        "diset tpcc pg_storedprocs true",
        "diset tpcc pg_count_ware 2",
        "diset tpcc pg_num_vu 2",
        "diset tpcc pg_partition false",
    ):
        assert f"did {setting}" in reported
    assert reported[-1] == "ALL VIRTUAL USERS COMPLETE"


@pytest.mark.parametrize(("release", "written"), [("v4.5", "{{}}"), ("v5.0", "{}")])
def test_an_empty_password_is_written_as_each_release_takes_it(
    installed: Path, release: str, written: str
) -> None:
    program = installed / "hammerdbcli"
    if release == "v5.0":
        quoting = "proc quotemeta {text} { return $text }\n"
        program.write_text(program.read_text().replace("set complete", quoting + "set complete", 1))
    assert f"did diset tpcc mysql_pass {written}\n" in run(Load(), MYSQL).stdout
    assert "did diset tpcc mysql_pass {}\n" in run(Measure(step=STEP), MYSQL).stdout


def test_the_timed_driver_runs_for_the_minutes_of_the_scale(installed: Path) -> None:
    done = run(Measure(step=STEP), MYSQL)
    assert done.returncode == 0, done.stdout
    for setting in (
        "dbset db mysql",
        "diset connection mysql_socket /srv/run/socket",
        "diset connection mysql_host 127.0.0.1",
        "diset tpcc mysql_user someone",
        "diset tpcc mysql_dbase sbtest",
        "diset tpcc mysql_driver timed",
        "diset tpcc mysql_rampup 1",
        "diset tpcc mysql_duration 2",
        "diset tpcc mysql_allwarehouse true",
        "vuset vu 3",
    ):
        assert f"did {setting}" in done.stdout
    assert TprocC().parse(STEP, workload(), done.stdout).figures == {"nopm": 5.0, "tpm": 11.0}


@pytest.mark.parametrize("action", [Load(), Measure(step=STEP)])
def test_a_virtual_user_that_fails_ends_it(
    installed: Path, monkeypatch: pytest.MonkeyPatch, action: Command
) -> None:
    monkeypatch.setenv("FAKE_FAILS", "1")
    done = run(action, POSTGRES)
    assert done.returncode == 1
    with pytest.raises(ValueError, match="HammerDB failed: no connection"):
        TprocC().parse(STEP, workload(), done.stdout)


def test_its_version_is_among_the_tools(installed: Path) -> None:
    assert TprocC().tools()["hammerdb"] == "v4.5"


def test_without_it_a_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=("link its hammerdbcli into a folder of PATH")):
        TprocC().command(Load(), workload(), POSTGRES, 7)


@pytest.mark.parametrize(
    ("text", "nopm", "tpm"),
    [
        (
            "Vuser 1:TEST RESULT : System achieved 18664 NOPM from 43386 PostgreSQL TPM",
            18664,
            43386,
        ),
        (
            "Vuser 1:TEST RESULT : System achieved 253792 NOPM from 767954 MariaDB TPM",
            253792,
            767954,
        ),
        ("Vuser 1:TEST RESULT : System achieved 43386 MySQL TPM at 18664 NOPM", 18664, 43386),
    ],
)
def test_the_result_is_read_as_each_release_prints_it(text: str, nopm: int, tpm: int) -> None:
    output = TprocC().parse(STEP, workload(), f"Vuser 1:TEST RESULT : {text}\n")
    assert output.figures == {"nopm": nopm, "tpm": tpm}
    # Two minutes were measured.
    assert (output.operations, output.seconds) == (2 * tpm, 120.0)


@pytest.mark.parametrize(
    ("file", "nopm", "tpm"),
    [("hammerdb-4.5-postgres.txt", 7644, 17573), ("hammerdb-4.5-mysql.txt", 5293, 12371)],
)
def test_the_whole_output_of_a_release_is_read(file: str, nopm: int, tpm: int) -> None:
    text = (DATA / file).read_text()
    assert TprocC().parse(STEP, workload(), text).figures == {"nopm": nopm, "tpm": tpm}
    begins = [
        line for line in text.splitlines() if TprocC().started(line, Measure(step=STEP), workload())
    ]
    assert begins == ["Vuser 1:Rampup complete, Taking start Transaction Count."]


def test_output_without_a_result_is_refused() -> None:
    with pytest.raises(ValueError, match="it printed no result"):
        TprocC().parse(STEP, workload(), "Vuser 1:Beginning rampup time of 1 minutes\n")


@pytest.mark.parametrize("option", ["customers", "items"])
def test_a_size_that_it_cannot_load_is_refused(option: str) -> None:
    with pytest.raises(OptionError, match=("leave this setting out")):
        workload(options={option: 300})


@pytest.mark.parametrize(
    ("measure", "warmup", "minutes"),
    [(60.0, 0.0, (1, 0)), (1.0, 0.25, (1, 1)), (3600.0, 300.0, (60, 5)), (90.0, 61.0, (2, 2))],
)
def test_times_are_rounded_up_to_whole_minutes(
    installed: Path, measure: float, warmup: float, minutes: tuple[int, int]
) -> None:
    family, work = TprocC(), workload(measure, warmup)
    duration, ramp_up = minutes
    command = family.command(Measure(step=STEP), work, POSTGRES, 7)
    assert f"NIGHTSHIFT_DURATION={duration}" in command
    assert f"NIGHTSHIFT_RAMPUP={ramp_up}" in command
    timing = family.timing(Measure(step=STEP), work)
    assert timing == Timing(measured=60.0 * duration, limit=60.0 * (duration + ramp_up))
