"""Steps with real child processes; the child says when it measures, so nothing waits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest

from pipeline.machine.pinning import available
from pipeline.measure.step import Executed, execute
from pipeline.model import FieldKind, SampledField
from pipeline.probes.base import Probe


class Counting:
    """A probe that counts how often it was read."""

    name = "counting"
    help = "for tests"
    fields: tuple[SampledField, ...] = (SampledField("reads", FieldKind.COUNTER, "count"),)

    def __init__(self, on_read: Callable[[], None] = lambda: None) -> None:
        self.reads = 0
        self._on_read = on_read

    def read(self) -> dict[str, float]:
        self.reads += 1
        self._on_read()
        return {"reads": float(self.reads)}


def python(
    code: str,
    *args: str,
    probes: Sequence[Probe] = (),
    processors: Sequence[int] = (),
    measure: float = 0.0,
    limit: float = 60.0,
    patience: float = 60.0,
) -> Executed:
    return execute(
        [sys.executable, "-c", code, *args],
        processors,
        lambda _: probes,
        lambda line: line.startswith("go"),
        measure=measure,
        limit=limit,
        patience=patience,
    )


def test_output_and_errors_are_kept_in_their_order() -> None:
    done = python(
        "import sys\nfor n in range(3):\n"
        " print('out', n, flush=True); print('err', n, file=sys.stderr, flush=True)"
    )
    assert done.text == "out 0\nerr 0\nout 1\nerr 1\nout 2\nerr 2\n"
    assert (done.exit_code, done.failure, done.hung) == (0, "", False)
    assert done.seconds > 0


def test_bytes_that_are_no_text_do_no_harm() -> None:
    done = python("import sys; sys.stdout.buffer.write(b'd\\xe9\\n')")
    assert done.text == "d\ufffd\n"


def test_a_failure_is_the_exit_code_and_the_fatal_line() -> None:
    done = python("print('a'); print('FATAL: no such table'); print('z'); raise SystemExit(3)")
    assert done.exit_code == 3
    assert done.failure == "exit code 3: FATAL: no such table"


def test_without_a_fatal_line_the_last_one_is_the_reason() -> None:
    assert python("print('a'); print('  z  '); exit(1)").failure == "exit code 1: z"


def test_a_failure_without_a_word() -> None:
    assert python("exit(4)").failure == "exit code 4: no output"


def test_a_command_that_was_killed_has_failed() -> None:
    done = python("import os; print('so far', flush=True); os.kill(os.getpid(), 9)")
    assert done.failure == "ended by SIGKILL: so far"


def test_sampling_begins_with_the_line_that_says_so(tmp_path: Path) -> None:
    """The child goes on only when the second sample is taken: the first was within the step."""
    sampled = tmp_path / "sampled"
    said = tmp_path / "said"

    def on_read() -> None:
        assert said.exists(), "sampled before the marker"
        if probe.reads == 2:
            sampled.touch()

    probe = Counting(on_read)

    done = python(
        "import sys, time, pathlib\n"
        "said, sampled = map(pathlib.Path, sys.argv[1:])\n"
        "print('warming', flush=True)\nsaid.touch()\nprint('go', flush=True)\n"
        "while not sampled.exists(): time.sleep(0.001)\n"
        "print('done')",
        str(said),
        str(sampled),
        probes=[probe],
        measure=60.0,
    )
    assert done.failure == ""
    assert done.samples[0].values == {"reads": 1.0}


class Lasting(Counting):
    """A probe that has something running beside the step."""

    def __init__(self) -> None:
        super().__init__()
        self.reported: list[str] = []

    def __enter__(self) -> None:
        self.reported.append("entered")

    def __exit__(self, *error: object) -> None:
        self.reported.append(f"left after {self.reads} readings")


@pytest.mark.parametrize("code", [0, 3])
def test_what_a_probe_runs_beside_a_step_ends_with_it(code: int, tmp_path: Path) -> None:
    probe, sampled = Lasting(), tmp_path / "sampled"
    python(
        "import sys, time, pathlib\nprint('go', flush=True)\n"
        "while not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.001)\n"
        "sys.exit(int(sys.argv[2]))",
        str(sampled),
        str(code),
        probes=[Counting(sampled.touch), probe],
    )
    assert probe.reported == ["entered", "left after 1 readings"]


def test_nothing_is_sampled_without_the_marker() -> None:
    probe = Counting()
    assert python("print('warming')", probes=[probe], measure=5.0).samples == ()
    assert probe.reads == 0


def test_a_command_that_ends_early_ends_the_sampling() -> None:
    """Eleven days of sampling were asked for; that this returns is what is tested."""
    assert python("print('go')", probes=[Counting()], measure=1e6).failure == ""


def test_a_command_that_hangs_is_killed() -> None:
    done = python("import time; time.sleep(600)", limit=0.0, patience=0.5)
    assert done.hung
    assert done.exit_code == -signal.SIGKILL
    assert done.failure.startswith("was killed because it did not end within ")
    assert done.failure.endswith(" s")


def test_a_command_runs_on_its_processors() -> None:
    last = available()[-1]
    done = python("import os; print(sorted(os.sched_getaffinity(0)))", processors=[last])
    assert done.text == f"[{last}]\n"


def test_a_command_reads_no_input() -> None:
    assert python("import sys; print(repr(sys.stdin.read()))").text == "''\n"


def test_an_interruption_takes_the_command_along(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    def interrupt(line: str) -> bool:
        pid_file.write_text(line)
        raise KeyboardInterrupt

    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    with pytest.raises(KeyboardInterrupt):
        execute([sys.executable, "-c", code], (), lambda _: (), interrupt, measure=0, limit=60)
    assert not psutil.pid_exists(int(pid_file.read_text()))


_HARNESS = """
import sys
from pipeline.measure.step import execute

def say(line):
    print(line, end="", flush=True)
    return False

code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
execute([sys.executable, "-c", code], (), lambda _: (), say, measure=0, limit=600)
"""


def test_a_killed_harness_leaves_no_process() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HARNESS],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as harness:
        assert harness.stdout is not None
        child = psutil.Process(int(harness.stdout.readline()))
        assert child.is_running()
        os.kill(harness.pid, signal.SIGKILL)
        harness.wait()
        # A deadline, not a measurement: the kernel has sent the signal, the child has to die.
        deadline = time.monotonic() + 60
        while is_alive(child):
            assert time.monotonic() < deadline, "the load generator outlived the harness"
            time.sleep(0.005)


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
