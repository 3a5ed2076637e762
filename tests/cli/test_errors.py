"""What a person does wrong is one line on standard error and exit code 2."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from pipeline.cli import schema
from pipeline.text.errors import UserError
from tests.cli.conftest import CONFIG, Nightshift

ROOT = Path(__file__).parents[2]
WITH_CONFIGURATION = (
    "nightly", "discover", "plan", "build", "run", "ingest",
    "detect", "report", "notify", "table", "rebuild", "regressions",
)  # fmt: skip


@pytest.mark.parametrize("verb", WITH_CONFIGURATION)
def test_no_configuration_here(nightshift: Nightshift, folder: Path, verb: str) -> None:
    (folder / "nightshift.toml").unlink()
    ran = nightshift(verb)
    assert ran == (
        2,
        "",
        "nightshift: nightshift.toml does not exist; change to the folder that holds it, or give "
        "--config FILE\n",
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[workload]]", "[[workloads]]", "14: workloads: unknown setting; did you mean"),
        ('"postgres"', '"postgrez"', "10: line.target: there is no target 'postgrez'; did you"),
        ('["scan", "', '[\n"scan",\n"pont', "18: workload.steps: there is no step 'pontpoint-q"),
        ('since = "17.9"', 'build = "o3"', "11: line.build: there are no build options 'o3'"),
        ('name = "cached"', 'name = "c"\nconfig = "x1"', "16: workload.config: postgres has no"),
        ('name = "cached"', 'name = "c"\nfamily = "x"', "16: workload.family: there is no workl"),
        ('name = "cached"', 'name = "c"\nmeasure = 1', "16: workload.measure: 1 is not a durat"),
        ('since = "17.9"', 'since = "17.99"', "8: line: no release of postgres lies between"),
        ('since = "17.9"\nuntil = "17"', 'revisions = ["17.8"]', "11: line.revisions: postgres h"),
        ("[paths]", "[paths", "1: not valid TOML: "),
    ],
)
@pytest.mark.parametrize("verb", ["plan", "detect"])
def test_a_mistake_in_the_configuration_is_one_line(
    nightshift: Nightshift, folder: Path, verb: str, old: str, new: str, message: str
) -> None:
    assert old in CONFIG
    (folder / "nightshift.toml").write_text(CONFIG.replace(old, new))
    ran = nightshift(verb)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith(f"nightshift: nightshift.toml:{message}")
    assert ran.err.count("\n") == 1


def test_a_mistake_on_line_100_is_not_an_emoji(nightshift: Nightshift, folder: Path) -> None:
    (folder / "nightshift.toml").write_text("#\n" * 99 + "typo = 1\n")
    assert nightshift("plan").err.startswith("nightshift: nightshift.toml:100: typo: ")


def test_nothing_is_configured_to_be_measured(nightshift: Nightshift, folder: Path) -> None:
    (folder / "nightshift.toml").write_text("")
    ran = nightshift("plan")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "has no [[line]] or no [[workload]]" in ran.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ["frobnicate"],
            ("There is no command 'frobnicate'. `nightshift --help` shows the options."),
        ),
        (["ttable"], "There is no command 'ttable'; did you mean table? `nightshift --help` shows"),
        (["table", "--lines", "x"], "No such option: --lines"),
        (["table", "--decimals", "x"], "Invalid value for '--decimals'"),
        (["plan", "--format", "xml"], "Invalid value for '--format'"),
        (["import", "csv"], "Missing argument 'file'"),
        (["import", "xls"], "No such command 'xls'"),
        (["plan", "superfluous"], "unexpected extra argument(s) (superfluous)"),
    ],
)
def test_a_wrong_command_line_is_one_line(
    nightshift: Nightshift, args: list[str], said: str
) -> None:
    ran = nightshift(*args)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("nightshift: ")
    assert said in ran.err
    assert "--help` shows the options." in ran.err


@pytest.mark.parametrize("verb", ["nightly", "run"])
def test_a_missing_sysbench_is_said_before_anything_is_downloaded(
    nightshift: Nightshift, folder: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    tools = folder / "bin"
    tools.mkdir()
    for tool in ("setpriv", "taskset"):
        found = shutil.which(tool)
        assert found is not None
        (tools / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    ran = nightshift(verb)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("nightshift: sysbench is not installed; ")
    assert not (folder / "cache").exists()


def test_before_the_first_discovery(nightshift: Nightshift, folder: Path) -> None:
    (folder / "results/discovered.json").unlink()
    ran = nightshift("plan")
    assert ran.code == 2
    assert ran.err.endswith("run `nightshift discover`\n")


@pytest.mark.parametrize(("verb", "hint"), [("report", "detect"), ("notify", "detect")])
def test_a_stage_whose_input_is_missing_names_the_stage_before(
    nightshift: Nightshift, verb: str, hint: str
) -> None:
    ran = nightshift(verb)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    # A verb that writes a log names it at the end.
    assert ran.err.partition("; the log is ")[0].rstrip().endswith(f"run `nightshift {hint}`")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """A verb that raises what is put into the list."""
    raised: list[BaseException] = []

    def fail() -> None:
        raise raised[0]

    monkeypatch.setattr(schema, "json_schema", fail)
    return raised


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), typer.Abort()])
def test_ctrl_c_says_that_nothing_is_lost(
    nightshift: Nightshift, failing: list[BaseException], interruption: BaseException
) -> None:
    failing.append(interruption)
    ran = nightshift("schema")
    assert ran == (
        130,
        "",
        "nightshift: interrupted; all results are kept: run the same command again to continue\n",
    )


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_one_line(
    nightshift: Nightshift, failing: list[BaseException], code: int
) -> None:
    failing.append(OSError(code, "full", "/somewhere/file"))
    ran = nightshift("schema")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert ran.err.startswith("nightshift: the disk is full at /somewhere/file; free some space")


def test_a_users_error_is_one_line_however_long(
    nightshift: Nightshift, failing: list[BaseException]
) -> None:
    failing.append(UserError("[red]what[/red] :100: " + "word " * 100))
    ran = nightshift("schema")
    assert ran == (2, "", "nightshift: [red]what[/red] :100: " + "word " * 100 + "\n")


def test_a_bug_is_a_traceback(
    failing: list[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline.cli import main

    failing.append(ZeroDivisionError())
    monkeypatch.setattr(sys, "argv", ["nightshift", "schema"])
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(ZeroDivisionError):
            main()
    finally:
        signal.signal(signal.SIGTERM, before)


_WAITING = """
import sys, time
from pipeline.cli import main, schema

def wait():
    print("waiting", flush=True)
    time.sleep(600)

schema.json_schema = wait
sys.argv = ["nightshift", "schema"]
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_real_signal_ends_it_with_130(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WAITING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        os.kill(process.pid, number)
        _, err = process.communicate()
    assert process.returncode == 130
    assert err.startswith(
        "nightshift: interrupted; all results are kept: run the same command again to continue"
    )
    assert err.count("\n") == 1


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "from pipeline.cli import main; main()", "schema"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode == 1
