"""Every workload family on machines of several sizes: what it runs at once, and where."""

from __future__ import annotations

import os
import subprocess
import time

import psutil
import pytest

from pipeline.machine.fingerprint import described
from pipeline.machine.pinning import ConcurrentWork, available, show_pinning
from pipeline.machine.tasks import Task, separate, tasks_below
from pipeline.machine.topology import single_cores
from pipeline.measure.placement import TaskSeparation, placement, show_placements, work_of
from pipeline.model import Cell, Mode, Pinning, Revision, Scale, ServerConfig, Workload
from pipeline.targets import find_target
from pipeline.targets.postgres.processes import serves
from pipeline.text.errors import UserError
from pipeline.workloads import find_family
from tests.measure.samples import MACHINE
from tests.measure.test_plan import line, plan, workload


def cell(
    family: str,
    target: str,
    config: str,
    clients: int = 1,
    major: str = "18",
    cores: int = 8,
    steps: tuple[str, ...] = ("all",),
    placed_for: int | None = None,
) -> Cell:
    revision = Revision(target=target, version=f"{major}.1", major=major, order=(1,), locator="")
    machine = described("tested", cores, 32)
    scale = Scale(tables=1, rows=1000, clients=clients, measure=1, warmup=0)
    load = find_family(family).workload("load", steps, scale, {})
    return Cell(
        revision=revision,
        build_options="official",
        config=find_target(target).config(config, revision, machine),
        machine_class="tested",
        workload=load.model_copy(
            update={"placed_for": clients if placed_for is None else placed_for}
        ),
    )


@pytest.mark.parametrize(
    ("family", "target", "config", "major", "clients", "work"),
    [
        # The checkpointer, two writers, the launcher, four vacuum workers.
        ("sysbench", "postgres", "x10a", "17", 1, ConcurrentWork(1, 8)),
        ("sysbench", "postgres", "x10c", "18", 16, ConcurrentWork(16, 24)),
        ("sysbench", "mysql", "z12a", "8.4", 4, ConcurrentWork(4, 13)),
        ("sysbench", "mariadb", "z12b", "11.4", 4, ConcurrentWork(4, 13)),
        ("sysbench", "sqlite", "wal", "3", 4, ConcurrentWork(4, 0, embedded=True)),
        # One connection that queries or inserts, one more that inserts, one that deletes.
        ("insert_benchmark", "postgres", "x10a", "17", 1, ConcurrentWork(3, 8)),
        ("insert_benchmark", "mysql", "z12a", "8.4", 4, ConcurrentWork(12, 13)),
        ("insert_benchmark", "sqlite", "wal", "3", 1, ConcurrentWork(3, 0, embedded=True)),
        ("tproc-c", "mariadb", "z12b", "11.4", 10, ConcurrentWork(10, 13)),
        # A thread that reads, and one that writes; flushes and compactions.
        ("db_bench", "rocksdb", "byrx", "9.9", 1, ConcurrentWork(2, 4, embedded=True)),
    ],
)
def test_what_a_workload_runs_at_once(
    family: str, target: str, config: str, major: str, clients: int, work: ConcurrentWork
) -> None:
    assert work_of(cell(family, target, config, clients, major)) == work


@pytest.mark.parametrize("cores", [8, 16, 24, 48, 96])
@pytest.mark.parametrize(
    ("family", "target", "config", "major"),
    [
        ("sysbench", "postgres", "x10a", "17"),
        ("sysbench", "mysql", "z12a", "8.4"),
        ("sysbench", "sqlite", "wal", "3"),
        ("insert_benchmark", "mariadb", "z12b", "11.4"),
        ("tproc-c", "postgres", "x10a", "18"),
        ("db_bench", "rocksdb", "byrx", "9.9"),
    ],
)
def test_one_client_of_every_family_is_alone_on_its_cores(
    family: str, target: str, config: str, major: str, cores: int
) -> None:
    chosen = cell(family, target, config, major=major, cores=cores)
    pinning = placement(chosen, single_cores(cores))
    work = work_of(chosen)
    assert len(pinning.server) == work.connections
    assert bool(pinning.background) == bool(work.background)
    assert set(pinning.background).isdisjoint({*pinning.server, *pinning.client})
    assert set(pinning.harness).isdisjoint({*pinning.server, *pinning.background})


def test_some_steps_are_placed_as_all_are() -> None:
    for family, target, config, major, step in (
        ("insert_benchmark", "postgres", "x10a", "17", "l.i0"),
        ("db_bench", "rocksdb", "byrx", "9.9", "fillseq"),
    ):
        whole = cell(family, target, config, major=major)
        part = cell(family, target, config, major=major, steps=(step,))
        assert work_of(part) == work_of(whole)


@pytest.mark.parametrize("cores", [2, 4, 8, 48])
def test_a_scale_up_has_one_placement(cores: int) -> None:
    numbers = (1, 2, 8, 48)
    text = line(more='revisions = ["17.11"]') + workload(f"clients = {list(numbers)}")
    cells = plan(text).cells
    assert [each.workload.scale.clients for each in cells] == list(numbers)
    (pinning,) = {placement(each, single_cores(cores)) for each in cells}
    assert pinning.server != pinning.client
    alone = plan(line(more='revisions = ["17.11"]') + workload("clients = [1]")).cells[0]
    assert alone.key not in {each.key for each in cells}


def test_what_was_placed_by_an_older_nightshift_is_another_cell() -> None:
    new = plan(line(more='revisions = ["17.11"]') + workload()).cells[0]
    old = new.model_copy(update={"workload": new.workload.model_copy(update={"placed_for": 0})})
    assert new.key != old.key
    # As bundles of the older nightshift have it.
    described_before = new.workload.model_dump(mode="json", exclude={"placed_for", "pin"})
    assert Workload.model_validate(described_before).hash == old.workload.hash
    assert placement(old, single_cores(8)) == Pinning()


def test_without_pinning_nothing_is_placed() -> None:
    text = line(more='revisions = ["17.11"]') + workload() + "[machine]\npin = false\n"
    chosen = plan(text).cells[0]
    assert chosen.workload.placed_for == 0
    assert placement(chosen, single_cores(8)) == Pinning()


def test_a_workload_can_name_its_processors() -> None:
    text = line(more='revisions = ["17.11"]') + workload('pin = "1:0"')
    chosen = plan(text).cells[0]
    assert placement(chosen, single_cores(2)) == Pinning(server=(1,), client=(0,), harness=(0,))
    other = plan(line(more='revisions = ["17.11"]') + workload('pin = "0:1"')).cells[0]
    assert chosen.key != other.key


def test_processors_that_do_not_exist_are_refused_with_their_line() -> None:
    with pytest.raises(UserError) as caught:
        plan(line(more='revisions = ["17.11"]') + workload('pin = "0-7:8-9"'))
    said = str(caught.value)
    assert said.startswith("nightshift.toml:8: workload.pin: ")
    assert "do not exist (2-9); the machine has 0-1" in said
    assert "\n" not in said


def test_processors_that_this_process_may_not_use_are_refused() -> None:
    text = line(more='revisions = ["17.11"]') + workload('pin = "0:1"')
    with pytest.raises(UserError, match=r"workload cached: .*\(1\); the machine has 0"):
        placement(plan(text).cells[0], single_cores(1))


def test_a_counted_workload_needs_one_processor() -> None:
    chosen = cell("sysbench", "postgres", "x10a", major="17", placed_for=0)
    counted = chosen.model_copy(
        update={"workload": chosen.workload.model_copy(update={"mode": Mode.COUNT})}
    )
    assert placement(counted, single_cores(4)) == Pinning(server=(3,), client=(3,), harness=(0,))


def test_placements_are_shown_once() -> None:
    text = line(more='revisions = ["17.11", "17.10"]') + workload("clients = [1, 2]")
    assert show_placements(plan(text).cells, single_cores(MACHINE.cores)) == [
        "cached on postgres: server 1, client 0"
    ]


CONFIG = ServerConfig(family="x", name="x", text="io_workers = 3\nio_workers = 16 # more\n")


def test_background_work_follows_the_configuration() -> None:
    postgres = find_target("postgres")
    assert postgres.background(CONFIG, "17") == 4 + 3
    assert postgres.background(CONFIG, "18") == 4 + 3 + 16
    assert postgres.background(CONFIG, "") == 4 + 3 + 16
    sync = CONFIG.model_copy(update={"text": f"{CONFIG.text}io_method = 'sync'\n"})
    assert postgres.background(sync, "18") == 4 + 3
    loose = CONFIG.model_copy(update={"text": "loose_innodb-page-cleaners = 8"})
    assert find_target("mysql").background(loose, "8.0") == 5 + 8 + 4


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("postgres: bench bench [local] SELECT", True),
        ("postgres: main: bench bench [local] idle", True),
        ("postgres: parallel worker for PID 7", True),
        ("postgres: checkpointer", False),
        ("postgres: io worker 3", False),
        ("postgres: autovacuum worker bench", False),
        ("/opt/bin/postgres -D /data", False),
    ],
)
def test_processes_of_postgres_are_told_by_their_titles(title: str, expected: bool) -> None:
    assert serves(Task(7, 7, "postgres", title)) is expected
    # A thread of the kernel in a client's process does not serve it.
    assert not serves(Task(7, 8, "iou-wrk-7", title))


@pytest.mark.skipif(len(available()) < 2, reason="this machine has one processor")
def test_tasks_get_the_processors_of_their_kind() -> None:
    first, *_, last = available()
    with subprocess.Popen(["sh", "-c", "sleep 61 & sleep 62 & wait"]) as shell:
        try:
            while len(tasks_below(shell.pid)) < 3:
                time.sleep(0.01)

            def kind(task: Task) -> bool | None:
                return {"sleep 61": True, "sleep 62": False}.get(task.title)

            pinning = Pinning(server=(last,), client=(last,), background=(first,))
            assert TaskSeparation(shell.pid, kind, pinning).read() == {}
            where = {task.title: os.sched_getaffinity(task.tid) for task in tasks_below(shell.pid)}
            assert where.pop("sleep 61") == {last}
            assert where.pop("sleep 62") == {first}
            assert list(where.values()) == [set(available())]
        finally:
            for child in psutil.Process(shell.pid).children():
                child.kill()
    # It has ended.
    separate(shell.pid, lambda _: True, (last,), (first,))
    assert show_pinning(pinning) == f"server and client {last}, background work {first}"
