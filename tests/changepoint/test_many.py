"""Many series at once: the same as one by one, in this process and in others, and no leftovers."""

from __future__ import annotations

import enum
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest

import changepoint
from changepoint import detect, detect_many, many, worker
from changepoint.options import DEFAULTS
from changepoint.series import Floats

pytestmark = pytest.mark.filterwarnings("error")

NOTHING = detect([])
ROOT = Path(changepoint.__file__).parents[1]


def drawn(count: int, seed: int = 1) -> list[Floats]:
    """Series of many lengths, a third of them with a step."""
    random = np.random.default_rng(seed)
    series = []
    for i in range(count):
        values = random.normal(100.0, 2.0, random.integers(0, 60))
        if i % 3 == 0:
            values[len(values) // 2 :] *= 1.1
        series.append(values)
    return series


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are started even for little work."""
    monkeypatch.setattr(many, "STARTING", 0.0)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is started."""

    def refused(*_: Any) -> Any:
        raise AssertionError("a process was asked for")

    monkeypatch.setattr(many, "answers", refused)


Children = Callable[[], set[psutil.Process]]


def every_child() -> set[psutil.Process]:
    return set(psutil.Process().children())


@pytest.fixture
def children() -> Children:
    """Tell the processes that were started since: servers of other tests are children, too."""
    before = every_child()
    return lambda: every_child() - before


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize(
    "options", [{"method": "default"}, {"method": "hunter", "min_effect": 0.01}]
)
def test_processes_find_what_one_by_one_does(options: Any, children: Children) -> None:
    series = drawn(150)
    expected = [detect(values, **options) for values in series]
    assert sum(bool(detection.changes) for detection in expected) > 20
    assert detect_many(series, workers=3, **options) == expected
    assert not children()


@pytest.mark.parametrize(
    ("count", "pace", "workers", "slices"),
    [
        (128, 1 / 64, 2, []),  # 2 s of work, of which a second core takes 1
        (999, 1 / 64, 1, []),
        (999, 1 / 64, 2, [16] * 62 + [4]),  # a quarter of a second each
        (100, 1 / 8, 4, [2] * 48 + [1]),
        (20, 1.0, 4, [1] * 18),
        (10_000, 1 / 1024, 8, [256] * 39 + [13]),
        (10_000, 1 / 1024, 64, [39] * 256 + [13]),  # four for each at least
    ],
)
def test_when_processes_start_and_what_they_get(
    monkeypatch: pytest.MonkeyPatch, count: int, pace: float, workers: int, slices: list[int]
) -> None:
    clock = [0.0]
    asked: list[int] = []

    def timed(items: Any, _: Any) -> worker.Answer:
        clock[0] += pace * len(items)
        return [NOTHING] * len(items), None

    def noted(parts: Any, options: Any, crew: int) -> Iterator[worker.Answer]:
        assert crew == min(workers, len(parts))
        asked.extend(len(part) for part in parts)
        return (timed(part, options) for part in parts)

    monkeypatch.setattr(many, "search", timed)
    monkeypatch.setattr(many, "answers", noted)
    monkeypatch.setattr(many, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    assert detect_many([[]] * count, workers=workers) == [NOTHING] * count
    assert asked == slices


@pytest.mark.usefixtures("alone")
def test_one_worker_is_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "STARTING", 0.0)
    assert len(detect_many(drawn(30), method="default", workers=1)) == 30
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert len(detect_many(drawn(30), method="default", workers=2)) == 30


@pytest.mark.usefixtures("apart")
def test_names_and_positions(children: Children) -> None:
    series = {("qps", i): [None, *values] for i, values in enumerate(drawn(30))}
    labels: dict[tuple[str, int], Any] = {
        name: [f"{i // 2:03d}" for i in range(len(values))]
        for name, values in series.items()
        if name[1] % 2
    }
    got = detect_many(series, positions=labels, workers=2, method="default")
    assert list(got) == list(series)
    for name, values in series.items():
        assert got[name] == detect(values, positions=labels.get(name), method="default")
    assert not children()


@pytest.mark.usefixtures("alone")
def test_forms_of_a_collection() -> None:
    table = np.arange(12.0).reshape(3, 4)
    assert detect_many(table) == [detect(row) for row in table]
    assert detect_many([]) == []
    assert detect_many({}) == {}
    assert detect_many([[], [1.0, None]], positions=[None, (4, 4)]) == [
        detect([]),
        detect([1.0, None], positions=(4, 4)),
    ]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.usefixtures("apart")
def test_the_first_malformed_series_is_named(workers: int, children: Children) -> None:
    series: list[Any] = [values.tolist() for values in drawn(90)]
    series[70] = [1.0, "x"]
    series[41] = [1.0, 2.0, float("inf")]
    with pytest.raises(ValueError, match=r"^series 41: each value must be .* value 2 is inf$"):
        detect_many(series, workers=workers, method="default")
    named = {f"s{i}": values for i, values in enumerate(series) if i != 41}
    with pytest.raises(
        ValueError,
        match=r"^series 's70': values must be numbers",
    ):
        detect_many(named, workers=workers, method="default")
    labels: list[Any] = [None] * 40 + [[1, 2]]
    with pytest.raises(ValueError, match=r"^series 40: .* need 29 positions"):
        detect_many(series[:41], positions=labels, workers=workers, method="default")
    assert not children()


@pytest.mark.parametrize(
    ("collection", "options", "message"),
    [
        ([[1.0]], {"method": "magic"}, "method 'magic' does"),
        ([[1.0]], {"workers": 0}, "workers"),
        ([[1.0]], {"positions": []}, "1 series need 1 lists of positions, not 0"),
        ([[1.0]], {"positions": {"a": [1]}}, "positions must be a mapping if"),
        ({"a": [1.0]}, {"positions": [[1]]}, "positions must be a mapping if"),
        ({"a": [1.0]}, {"positions": {"b": [1]}}, "which is not among the series"),
        ([[1.0], [1.0]], {"positions": [1, 2]}, "series 0: positions must be a list"),
        ([1.0, 2.0], {}, "series 0: values must be one-dimensional"),
    ],
)
def test_refusals_are_one_sentence(collection: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        detect_many(collection, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.usefixtures("apart")
def test_progress_counts_up_to_all(workers: int) -> None:
    seen: list[tuple[int, int]] = []
    detect_many(
        drawn(60), workers=workers, method="default", progress=lambda *now: seen.append(now)
    )
    assert {total for _, total in seen} == {60}
    done = [count for count, _ in seen]
    assert done == sorted(set(done))
    assert done[-1] == 60
    assert len(done) > 3


@pytest.mark.usefixtures("apart")
def test_an_error_of_the_callers_ends_the_processes(children: Children) -> None:
    def stop(done: int, _: int) -> None:
        if done > 10:
            assert len(children()) == 2
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        detect_many(drawn(300), workers=2, method="default", progress=stop)
    assert not children()


@pytest.mark.usefixtures("apart")
def test_a_process_that_dies_is_an_error(children: Children) -> None:
    def kill(done: int, _: int) -> None:
        if done > 10:
            for child in children():
                child.kill()

    # So many that they are not all searched before this process has its turn to kill.
    with pytest.raises(RuntimeError, match=r"exit code -9, .* workers=1"):
        detect_many(drawn(300) * 200, workers=2, method="default", progress=kill)
    assert not children()


class Label(str):
    """A class that another process does not know."""

    __module__ = "__main__"


class Local(enum.IntEnum):
    """One that it could not import either."""

    ONE = 1

    def __reduce_ex__(self, _: Any) -> Any:
        raise TypeError("not to be sent")


@pytest.mark.parametrize("label", [Label("a"), Local.ONE])
def test_what_cannot_be_sent_is_searched_here(label: Any) -> None:
    part = [([1.0, 2.0], [label, label])] * 3
    got = list(worker.answers([part] * 2, DEFAULTS, 1))
    assert got == [([detect(*part[0][:1], positions=part[0][1])] * 3, None)] * 2


def test_a_detection_is_sent_whole() -> None:
    detection = detect([1.0] * 20 + [2.0] * 20, positions=list("a" * 20 + "b" * 20))
    detections = [detection, detect([1.0, 2.0] * 20 + [9.0] * 20, method="default")]
    assert detections[1].changes
    assert pickle.loads(worker._dumps((detections, None))) == (detections, None)  # noqa: S301 - our own


SCRIPT = """
import os, sys
import numpy as np
from changepoint import detect_many, many
many.STARTING = 0.0
series = np.random.default_rng(2).normal(100, 2, ({count}, 100))
print("searching", flush=True)
got = detect_many(series, workers=2, method="default", progress={progress})
print(len(got), sum(map(len, (d.segments for d in got))), flush=True)
"""


def script(folder: Path, count: int, progress: str = "None") -> subprocess.Popen[str]:
    path = folder / "script.py"
    path.write_text(SCRIPT.format(count=count, progress=progress))
    # A module that a process must not import by mistake.
    (folder / "pickle.py").write_text("raise SystemExit('the wrong pickle')")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-P", str(path)],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_script_without_a_guard(tmp_path: Path) -> None:
    with script(tmp_path, 200) as process:
        output, errors = process.communicate(timeout=120)
    assert errors == ""
    assert output == "searching\n200 200\n"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_stopped_from_outside(tmp_path: Path, sent: signal.Signals) -> None:
    """Ctrl-C, and a caller that cannot clean up: either way the processes end."""
    reported = "lambda done, total: done > 4 and print('going', flush=True)"
    with script(tmp_path, 60_000, reported) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "searching\n"
        assert process.stdout.readline() == "going\n"
        offspring: list[psutil.Process] = []
        while len(offspring) < 2 and process.poll() is None:
            offspring = psutil.Process(process.pid).children(recursive=True)
            time.sleep(0.05)
        assert len(offspring) == 2
        process.send_signal(sent)
        process.stdout.read()
        errors = process.stderr.read()
        process.wait(timeout=60)
    assert psutil.wait_procs(offspring, timeout=60)[1] == []
    if sent == signal.SIGINT:
        assert errors.rstrip().endswith("KeyboardInterrupt")
        assert errors.count("Traceback") == 1
    else:
        assert errors == ""
