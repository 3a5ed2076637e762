"""The doctor's words, and what preflight does to a night."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import pytest

from pipeline.machine.checks import CHECKS
from pipeline.machine.checks.base import CheckResult, Severity, Verdict
from pipeline.machine.preflight import preflight
from pipeline.machine.system import System
from pipeline.measure.readiness import GROUP, ready
from pipeline.storage.night_log import Nights
from pipeline.storage.runs import last_machine
from pipeline.text.errors import UserError
from pipeline.use_cases.measuring import MeasuringContext
from tests.cli.conftest import CONFIG, Nightshift
from tests.cli.measured import write_run
from tests.machine.fabricated import CPU, fabricate

IDLE = {"/proc/stat": "cpu  1010 0 1010 98980 0 0 0 0"}
TURBO = {f"{CPU}/cpufreq/boost": "1"}
SMT = {f"{CPU}/smt/active": "1"}
STORM = {"/proc/vmstat": "pswpin 50000\npswpout 6"}

On = Callable[..., None]


@pytest.fixture
def on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> On:
    """Lets the verbs run on a fabricated machine, which has all that nightshift needs."""

    def machine(changes: dict[str, str | None] | None = None, **later: str) -> None:
        system = fabricate(Path(mkdtemp(dir=tmp_path)), changes, later={**IDLE, **later})

        def made(folder: Path) -> System:
            assert folder == Path("cache").absolute()
            return system

        monkeypatch.setattr("pipeline.use_cases.doctor.System", made)
        monkeypatch.setattr("pipeline.use_cases.measuring.System", made)

    monkeypatch.setattr("pipeline.use_cases.doctor.ready", lambda _: [])
    return machine


def test_a_good_machine(nightshift: Nightshift, on: On) -> None:
    on()
    ran = nightshift("doctor")
    assert ran.code == 0
    assert ran.out.startswith("bench-1: AMD EPYC 9454P 48-Core Processor, 4 processors, 128 GB,")
    # That it changed is not known at its first look.
    assert ran.out.endswith(f"\n1 unknown, {len(CHECKS)} good: fit to measure\n")


def test_what_a_night_is_warned_of_is_exit_code_1(nightshift: Nightshift, on: On) -> None:
    on(TURBO | SMT)
    ran = nightshift("doctor")
    assert ran.code == 1
    lines = ran.out.splitlines()
    at = lines.index("processor")
    said = [line.split()[:2] for line in lines[at + 1 :] if line[2:3].strip()]
    assert said[:3] == [["warn", "turbo"], ["note", "smt"], ["good", "governor"]], "worst first"
    words = " ".join(ran.out.split())
    assert CHECKS["turbo"].why in words
    assert f"-> {CHECKS['turbo'].remedy}" in words
    assert CHECKS["governor"].why not in words, "what is good needs no words"


def test_what_a_night_is_refused_for_is_exit_code_2(nightshift: Nightshift, on: On) -> None:
    on(**STORM)
    ran = nightshift("doctor")
    assert ran.code == 2
    assert "  refuse  swapping" in ran.out
    assert ran.out.endswith(": not fit to measure\n")


def test_the_policy_decides(nightshift: Nightshift, on: On, folder: Path) -> None:
    on(TURBO)
    for setting, code in (('refuse = ["turbo"]', 2), ('ignore = ["turbo"]', 0)):
        (folder / "nightshift.toml").write_text(f"{CONFIG}\n[preflight]\n{setting}\n")
        assert nightshift("doctor").code == code


def test_eighty_columns_hold_it(
    nightshift: Nightshift, on: On, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(TURBO | SMT, **STORM)
    monkeypatch.setattr("pipeline.use_cases.doctor.ready", lambda _: [LONG])
    monkeypatch.setenv("COLUMNS", "80")
    lines = nightshift("doctor").out.splitlines()
    assert max(map(len, lines)) <= 80


LONG = CheckResult(
    group="nightshift",
    name="builds",
    level=Severity.REFUSE,
    verdict=Verdict.BAD,
    value="word " * 40,
    why="word " * 40,
    remedy="apt-get install " + "package " * 30,
)


def test_as_json(nightshift: Nightshift, on: On) -> None:
    on(TURBO)
    ran = nightshift("doctor", "--format", "json")
    assert ran.code == 1
    assert ran.json["fit"] is True
    assert ran.json["machine"]["microcode"] == "0xa10113e"
    turbo = next(check for check in ran.json["checks"] if check["name"] == "turbo")
    assert turbo == {
        "group": "processor",
        "name": "turbo",
        "level": "warn",
        "verdict": "bad",
        "value": "on",
        "why": CHECKS["turbo"].why,
        "remedy": CHECKS["turbo"].remedy,
    }


def test_without_a_configuration_the_machine_is_looked_at_all_the_same(
    nightshift: Nightshift, folder: Path
) -> None:
    (folder / "nightshift.toml").unlink()
    ran = nightshift("doctor", "--format", "json")
    assert ran.code == 2
    by_name = {check["name"]: check for check in ran.json["checks"]}
    assert by_name["settings"]["value"] == "nightshift.toml does not exist"
    assert set(by_name) >= set(CHECKS)


def test_the_doctor_leaves_everything_as_it_was(nightshift: Nightshift, folder: Path) -> None:
    before = sorted(path for path in folder.rglob("*"))
    nightshift("doctor")
    assert sorted(path for path in folder.rglob("*")) == before


def test_a_store_that_cannot_be_opened_is_a_finding_among_others(
    nightshift: Nightshift, on: On, folder: Path
) -> None:
    on()
    text = f'{CONFIG}\n[store]\nurl = "postgresql+psycopg://me:secret@127.0.0.1:1/x"\n'
    (folder / "nightshift.toml").write_text(text)
    ran = nightshift("doctor", "--format", "json")
    assert ran.code == 2
    (bad,) = (check for check in ran.json["checks"] if check["verdict"] == "bad")
    assert bad["name"] == "store"
    assert "secret" not in ran.out


def test_the_last_run_is_in_the_store(nightshift: Nightshift, on: On) -> None:
    context = MeasuringContext(Path("nightshift.toml"))
    first, *_ = context.plan().remaining(())
    write_run(context, *first)
    context.ingest()
    on()
    by_name = {
        each["name"]: each for each in nightshift("doctor", "--format", "json").json["checks"]
    }
    assert by_name["store"]["value"] == "in paths.results"
    assert by_name["changed"]["verdict"] == "bad", "this machine is not the fabricated one"
    assert " -> bench-1" in by_name["changed"]["value"]


# --- what nightshift needs --------------------------------------------------------------


def needs() -> dict[str, CheckResult]:
    found = {each.name: each for each in ready(MeasuringContext(Path("nightshift.toml")).file)}
    assert {each.group for each in found.values()} == {GROUP}
    assert {each.level for each in found.values()} == {Severity.REFUSE}
    return found


def test_all_that_is_needed_is_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.workloads.sysbench.family.sysbench_version", dict)
    found = needs()
    assert {name: each.value for name, each in found.items() if each.verdict is Verdict.BAD} == {}
    assert found["settings"].value == "1 line, 1 workload"
    assert found["cache"].value == str(folder / "cache")
    assert found["port"].value == "any free port"


@pytest.mark.parametrize(
    ("name", "text", "value", "remedy"),
    [
        (
            "settings",
            "",
            "nightshift.toml has no [[line]] or no [[workload]]",
            "add what is missing",
        ),
        (
            "settings",
            CONFIG.replace("postgres", "postgrez"),
            "there is no target 'postgrez'",
            "did you mean postgres?",
        ),
        ("port", CONFIG.replace("[machine]", "[machine]\nport = 1"), "port 1 on 127.0.0.1", "port"),
        (
            "cache",
            CONFIG.replace('"cache"', '"nightshift.toml/x"'),
            "cannot be written",
            "paths.cache",
        ),
        (
            "results",
            CONFIG.replace('"results"', '"nightshift.toml/x"'),
            "cannot be written",
            "paths.results",
        ),
    ],
)
def test_what_is_needed_and_missing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, value: str, remedy: str
) -> None:
    def taken(port: int) -> None:
        raise UserError(f"port {port} on 127.0.0.1 is in use; set machine.port to another")

    monkeypatch.setattr("pipeline.measure.readiness.check_port", taken)
    monkeypatch.setattr("pipeline.workloads.sysbench.family.sysbench_version", dict)
    (folder / "nightshift.toml").write_text(text)
    found = needs()[name]
    assert found.verdict is Verdict.BAD
    assert value in found.value
    assert remedy in found.remedy


def test_tools_that_are_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = CONFIG.replace('target = "postgres"', 'target = "sqlite"\nsource = "crate"')
    (folder / "nightshift.toml").write_text(text)
    monkeypatch.setattr("shutil.which", lambda tool, path=None: None)
    found = needs()
    assert found["tools"].value == "setpriv is not installed"
    assert found["tools"].remedy == "install the package util-linux"
    assert "gcc (compiles)" in found["builds"].value
    assert found["builds"].remedy.startswith("apt-get install cargo gcc")


# --- preflight ----------------------------------------------------------------------------


@pytest.fixture
def flight(night: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Runs that are made up, on a machine that is looked at before."""
    monkeypatch.setattr("pipeline.use_cases.measuring.preflight", preflight)
    return night


def test_a_night_on_a_machine_that_is_not_fit_measures_nothing(
    nightshift: Nightshift, on: On, flight: list[tuple[str, int]], folder: Path
) -> None:
    on(**STORM)
    ran = nightshift("nightly")
    assert ran.code == 2
    assert "nightshift: this machine is not fit to measure: swapping is 49995 pages/s; " in ran.err
    assert flight == []
    assert Nights(folder / "results").read()[-1].error.startswith("this machine is not fit")


def test_a_night_reports_and_keeps_what_it_was_warned_of(
    nightshift: Nightshift, on: On, flight: list[tuple[str, int]], folder: Path
) -> None:
    on(TURBO)
    ran = nightshift("nightly")
    assert ran.code == 0, ran.err
    assert ran.err.count("preflight: turbo: on. `nightshift doctor` explains") == 1
    assert flight
    assert Nights(folder / "results").read()[-1].preflight == {"turbo": "on"}


def test_nothing_left_to_measure_needs_no_fit_machine(
    nightshift: Nightshift, on: On, flight: list[tuple[str, int]]
) -> None:
    on()
    assert nightshift("nightly").code == 0
    measured = len(flight)
    on(**STORM)
    assert nightshift("nightly").code == 0
    assert len(flight) == measured


def test_a_machine_at_its_last_run(folder: Path) -> None:
    context = MeasuringContext(Path("nightshift.toml"))
    here = context.machine.hostname
    assert last_machine(context.store, here) is None
    first, *_ = context.plan().remaining(())
    write_run(context, *first)
    context.ingest()
    assert last_machine(context.store, here) == context.machine
    assert last_machine(context.store, "elsewhere") is None
