"""What was there before is given back, byte for byte, whatever happened meanwhile."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.machine.tune.record import TuneRecord
from pipeline.machine.tune.settings import TuneSettings
from pipeline.machine.tune.tuner import KnobResult, TuneOutcome, Tuner
from pipeline.text.errors import UserError
from tests.fakes.kernel import FILES, TIMERS, Machine
from tests.machine.tune.killed import ALL, OTHER

CPU = "/sys/devices/system/cpu"
BOOT = "/proc/sys/kernel/random/boot_id"
SWAPPINESS = "/proc/sys/vm/swappiness"
TUNED = len(FILES) + len(TIMERS)
"""The files of the machine."""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine").make()


@pytest.fixture
def record(tmp_path: Path) -> TuneRecord:
    return TuneRecord(tmp_path / "run/tuned.json")


@pytest.fixture
def tuner(machine: Machine, record: TuneRecord) -> Tuner:
    return Tuner(machine.host, record)


def of(outcomes: list[TuneOutcome], did: KnobResult) -> set[str]:
    return {each.setting for each in outcomes if each.did is did}


def test_everything_is_set_and_restored_byte_for_byte(machine: Machine, tuner: Tuner) -> None:
    before = machine.content()
    assert len(before) == TUNED
    tuned = tuner.set(ALL, by_hand=True)
    assert of(tuned, KnobResult.REFUSED) | of(tuned, KnobResult.LACKING) == set()
    read = machine.host.tree.read
    assert read(f"{CPU}/cpufreq/policy2/scaling_governor") == "performance"
    assert read(f"{CPU}/intel_pstate/no_turbo") == "1"
    assert read(f"{CPU}/smt/control") == "off"
    assert read(f"{CPU}/cpu0/cpuidle/state2/disable") == "1"
    assert read(f"{CPU}/cpu0/cpuidle/state0/disable") == "0"
    assert read("/sys/kernel/mm/transparent_hugepage/enabled") == "always [madvise] never"
    assert read("/sys/block/nvme0n1/queue/scheduler") == "[none] mq-deadline kyber"
    assert read("/sys/block/sda/queue/scheduler") == "none [mq-deadline]"
    assert read("/sys/block/loop0/queue/scheduler") == "none [mq-deadline]"
    assert read(SWAPPINESS) == "1"
    assert read("/proc/swaps").count("\n") == 0
    assert (machine.root / "apt-daily.timer").read_text() == "inactive"
    assert of(tuner.restore(), KnobResult.REFUSED) == set()
    assert machine.content() == before
    assert not tuner.record.path.exists()
    assert tuner.restore() == []


def test_swap_has_its_devices_and_priorities_again(machine: Machine, tuner: Tuner) -> None:
    tuner.set(TuneSettings(swap="off"), by_hand=True)
    tuner.restore()
    acted = [argv for argv in machine.ran if argv[0].startswith("swap")]
    assert acted == [
        ("swapoff", "/dev/sdb2"),
        ("swapoff", "/dev/sda2"),
        ("swapoff", "/swap file"),
        ("swapon", "--priority", "5", "/swap file"),
        ("swapon", "/dev/sda2"),
        ("swapon", "/dev/sdb2"),
    ]


def test_set_again_the_first_values_are_given_back(machine: Machine, tuner: Tuner) -> None:
    before = machine.content()
    tuner.set(ALL, by_hand=True)
    tuner.set(OTHER, by_hand=True)
    again = tuner.set(OTHER, by_hand=True)
    assert {each.did for each in again} == {KnobResult.SO_ALREADY}
    assert machine.host.tree.read(SWAPPINESS) == "10"
    tuner.restore()
    assert machine.content() == before


def test_a_dry_run_reports_the_same_and_changes_nothing(machine: Machine, tuner: Tuner) -> None:
    before = machine.content()
    foreseen = tuner.foreseen(ALL)
    assert machine.content() == before
    assert not tuner.record.path.exists()
    assert tuner.set(ALL, by_hand=True) == foreseen


class Killed(BaseException):
    """What no handler of errors catches, as a kill."""


def kill_at(number: int) -> Callable[[str], None]:
    """Return what raises at its n-th call, counted from 0."""
    left = [number]

    def count(_: str) -> None:
        left[0] -= 1
        if left[0] == -1:
            raise Killed

    return count


def nothing(_: str) -> None:
    """Let a change be."""


def attempt(act: Callable[[], object]) -> bool:
    """Say whether something was done without being killed."""
    try:
        act()
    except Killed:
        return False
    return True


CHANGES = len([each for each in FILES if each.endswith("/disable") and "state0" not in each]) + 17
"""How many changes setting everything makes."""


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("restoring", [False, True], ids=["set", "restore"])
def test_killed_at_every_change_all_is_restored(
    tmp_path: Path, late: bool, restoring: bool
) -> None:
    for number in range(CHANGES + 1):
        machine = Machine(tmp_path / str(number)).make()
        record = TuneRecord(tmp_path / f"{number}-run/tuned.json")
        tuner = Tuner(machine.host, record)
        before = machine.content()
        if restoring:
            tuner.set(ALL, by_hand=True)
        hooks = (nothing, kill_at(number)) if late else (kill_at(number), nothing)
        machine.before, machine.after = hooks
        act = tuner.restore if restoring else partial(tuner.set, ALL, by_hand=True)
        assert attempt(act) == (number == CHANGES), "every change is met, and no more"
        machine.before = machine.after = nothing
        Tuner(machine.host, record).restore()
        assert machine.content() == before, f"killed at change {number}"
        assert not record.path.exists()


@pytest.mark.parametrize("step", ["mkstemp", "fsync", "replace"])
def test_killed_while_it_writes_what_was_there_all_is_restored(
    machine: Machine, tuner: Tuner, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    before = machine.content()

    def kill(*_: object, **__: object) -> None:
        raise Killed

    whose = {"mkstemp": "tempfile.mkstemp", "fsync": "os.fsync", "replace": "pathlib.Path.replace"}
    with monkeypatch.context() as patched:
        patched.setattr(whose[step], kill)
        assert not attempt(lambda: tuner.set(ALL, by_hand=True))
    assert machine.content() == before, "nothing is changed that is not written down"
    tuner.set(ALL, by_hand=True)
    tuner.restore()
    assert machine.content() == before


@settings(max_examples=60, deadline=None)
@given(
    acts=st.lists(
        st.tuples(
            st.sampled_from(["all", "other", "restore"]),
            st.one_of(st.none(), st.integers(0, CHANGES)),
            st.booleans(),
        ),
        max_size=6,
    )
)
def test_whatever_was_killed_where_restore_gives_all_back(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int | None, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("history")
    machine = Machine(folder / "machine").make()
    tuner = Tuner(machine.host, TuneRecord(folder / "run/tuned.json"))
    before = machine.content()
    for what, number, late in acts:
        kill = nothing if number is None else kill_at(number)
        machine.before, machine.after = (nothing, kill) if late else (kill, nothing)
        wanted = {"all": ALL, "other": OTHER}.get(what)
        if wanted is None:
            attempt(tuner.restore)
        else:
            attempt(partial(tuner.set, wanted, by_hand=True))
    machine.before = machine.after = nothing
    tuner.restore()
    assert machine.content() == before


def test_a_killed_process_leaves_what_restores_all(
    machine: Machine, tuner: Tuner, tmp_path: Path
) -> None:
    """What another process reads from the disk, and not only what this one remembers."""
    before, met = machine.content(), 0
    # Within the first setting, the other one, the restoring, and the second round of them.
    for number in (0, 1, CHANGES // 2, CHANGES, CHANGES + 3, 2 * CHANGES - 1, 3 * CHANGES):
        ended = subprocess.run(
            [
                *(sys.executable, "-m", "tests.machine.tune.killed"),
                *(str(machine.root), str(tuner.record.path), str(number)),
            ],
            cwd=Path(__file__).parents[3],
            check=False,
        )
        assert ended.returncode == -signal.SIGKILL
        met += machine.content() != before
        tuner.restore()
        assert machine.content() == before, f"killed before change {number}"
    assert met >= 5, "no kill met a machine that was tuned"


def test_what_somebody_changed_since_is_reported_and_left(machine: Machine, tuner: Tuner) -> None:
    tuner.set(ALL, by_hand=True)
    machine.host.tree.write(SWAPPINESS, "33")
    left = [each for each in tuner.restore() if each.did is KnobResult.LEFT]
    assert [(each.knob, each.value) for each in left] == [(SWAPPINESS, "33")]
    assert "it was changed after nightshift set it; its original value is 60" in left[0].why
    assert machine.host.tree.read(SWAPPINESS) == "33"
    assert machine.host.tree.read(f"{CPU}/smt/control") == "on"
    assert tuner.restore() == [], "it is theirs now"


def test_after_another_start_of_the_machine_the_record_says_nothing(
    machine: Machine, tuner: Tuner
) -> None:
    tuner.set(TuneSettings(swappiness=1), by_hand=True)
    started = {BOOT: "another\n", SWAPPINESS: "50\n"}
    machine.make({**FILES, **started})
    before = machine.content()
    assert tuner.restore() == []
    assert not tuner.record.path.exists()
    assert machine.content() == before
    tuner.set(TuneSettings(swappiness=1), by_hand=True)
    tuner.restore()
    assert machine.content() == before


def test_what_refuses_is_reported_and_the_others_are_done(machine: Machine, tuner: Tuner) -> None:
    before = machine.content()

    def refuse(what: str) -> None:
        if what == SWAPPINESS:
            raise PermissionError(1, "Operation not permitted")

    machine.before = refuse
    tuned = tuner.set(ALL, by_hand=True)
    (refused,) = [each for each in tuned if each.did is KnobResult.REFUSED]
    assert (refused.knob, refused.why) == (SWAPPINESS, "Operation not permitted")
    assert machine.host.tree.read(f"{CPU}/smt/control") == "off"
    tuner.restore()
    assert machine.content() == before


def test_what_cannot_be_restored_now_is_restored_later(machine: Machine, tuner: Tuner) -> None:
    before = machine.content()
    tuner.set(ALL, by_hand=True)

    def refuse(what: str) -> None:
        if what.startswith("swapon"):
            raise OSError("swapon failed: Device or resource busy")

    machine.before = refuse
    first = tuner.restore()
    assert [each.why for each in first if each.did is KnobResult.REFUSED] == [
        "swapon failed: Device or resource busy"
    ] * 3
    assert of(first, KnobResult.RESTORED) >= {"governor", "swappiness", "stop_timers"}
    machine.before = nothing
    assert of(tuner.restore(), KnobResult.RESTORED) == {"swap"}
    assert machine.content() == before


def test_a_kernel_that_makes_something_else_of_a_value_is_reported(
    machine: Machine, tuner: Tuner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.host.tree, "write", lambda *_: None)
    (reported,) = [
        each for each in tuner.set(TuneSettings(), by_hand=True) if each.setting == "thp"
    ]
    assert (reported.did, reported.why) == (
        KnobResult.REFUSED,
        "the kernel changed madvise to always",
    )


def test_a_virtual_machine_lacks_what_it_lacks(tmp_path: Path, record: TuneRecord) -> None:
    machine = Machine(tmp_path / "vm").make({BOOT: "x\n", "/proc/swaps": FILES["/proc/swaps"]})
    tuned = Tuner(machine.host, record).set(ALL, by_hand=True)
    assert of(tuned, KnobResult.LACKING) == {
        "aslr",
        "dirty_background_ratio",
        "dirty_ratio",
        "governor",
        "idle_latency_us",
        "swappiness",
        "thp",
        "turbo",
    }
    assert of(tuned, KnobResult.SET) == {"swap", "stop_timers"}
    assert of(tuned, KnobResult.SO_ALREADY) == {"stop_timers"}
    assert all(each.why for each in tuned if each.did is KnobResult.LACKING)


@pytest.mark.parametrize("text", ["", "{", '{"boot": 1}', '{"boot": "x", "more": 1}'])
def test_a_record_that_cannot_be_understood_is_one_line(
    machine: Machine, tuner: Tuner, text: str
) -> None:
    tuner.record.path.parent.mkdir()
    tuner.record.path.write_text(text)
    before = machine.content()
    for act in (tuner.restore, lambda: tuner.set(ALL, by_hand=True)):
        with pytest.raises(UserError, match=r"tuned\.json is damaged") as caught:
            act()
        assert "\n" not in str(caught.value)
    assert machine.content() == before


def test_two_do_not_tune_at_once(machine: Machine, tuner: Tuner, record: TuneRecord) -> None:
    with record.locked(), pytest.raises(UserError, match="is tuning this machine"):
        tuner.set(ALL, by_hand=True)


def test_where_the_record_cannot_be_kept_nothing_is_changed(
    machine: Machine, tmp_path: Path
) -> None:
    before = machine.content()
    (tmp_path / "file").write_text("")
    tuner = Tuner(machine.host, TuneRecord(tmp_path / "file/tuned.json"))
    with pytest.raises(UserError, match="use sudo") as caught:
        tuner.set(ALL, by_hand=True)
    assert "\n" not in str(caught.value)
    assert machine.content() == before
