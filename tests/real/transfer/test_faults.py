"""Killed anywhere, cut anywhere, two at once: in the end everything is there once, and whole."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.measure.progress import Silent
from pipeline.storage.bundle import list_bundles, read_bundle, write_bundle
from pipeline.text.errors import UserError
from pipeline.transfer.assignment import Assignment
from pipeline.transfer.collected import FILE as MEMORY
from pipeline.transfer.gather import INCOMING, gather
from pipeline.transfer.places import open_place
from pipeline.transfer.places.base import Access
from pipeline.transfer.results import Collected, collect
from tests.real.transfer.anything import asking
from tests.real.transfer.conftest import Ground
from tests.real.transfer.proxy import Proxy
from tests.real.transfer.test_gather import AT, Hub, files_in, sent
from tests.storage.bundles import make_run

COLLECT = """
import json, sys
from tests.real.transfer.test_faults import collect_alone
collect_alone(*map(json.loads, sys.argv[1:]))
"""


class Doomed(Silent):
    """Kills its process when so many things have happened: blocks came, or a folder was taken."""

    def __init__(self, moment: int) -> None:
        self._left = moment

    def advance(self, amount: float, left: float | None = None) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def collect_alone(address: str, access: dict[str, Any], results: str, moment: int) -> None:
    """Collect, in a process that is killed at a moment; at none if that is 0."""
    folder, doomed = Path(results), Doomed(moment)

    def take(box: Path, asked: Assignment) -> Collected:
        doomed.advance(0)
        found = collect(box, folder, asked)
        doomed.advance(0)
        return found

    with open_place(address, Access(**access)) as place:
        found = gather(place, folder, take, lambda *_: asking(), doomed, lambda: AT)
    sys.stdout.write(json.dumps([path.name for each in found.taken for path in each.bundles]))


def started(ground: Ground, hub: Hub, moment: int = 0) -> subprocess.Popen[bytes]:
    """Begin to collect in another process."""
    access = {**vars(ground.access), "environment": dict(ground.access.environment)}
    reported = (ground.address("bench"), access, str(hub.results), moment)
    return subprocess.Popen(
        [sys.executable, "-c", COLLECT, *map(json.dumps, reported)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )


@pytest.fixture
def bench(home: Path) -> Path:
    """Results of a bench with bundles that take a while: noise does not pack."""
    bundles = home / "bench" / "bundles"
    drawn = random.Random(1)
    for minor in range(10, 18):
        manifest, files = make_run(minor)
        write_bundle(bundles, manifest, {**files, "noise": drawn.randbytes(500_000)})
    return home / "bench"


@pytest.fixture
def hub(home: Path) -> Hub:
    return Hub(home / "hub")


def whole(hub: Hub, bench: Path) -> None:
    """Hold that everything is there, once, and nothing else."""
    assert hub.has == files_in(bench, "bundles")
    for path in list_bundles(hub.results / "bundles"):
        read_bundle(path)
    lines = [json.loads(line) for line in (hub.results / MEMORY).read_text().splitlines()]
    assert len({line["name"] for line in lines}) == len(hub.has)
    assert list((hub.results / INCOMING).rglob("*.tar.zst")) == []


def test_two_collects_at_once(ground: Ground, bench: Path, hub: Hub) -> None:
    sent(ground, bench)
    with started(ground, hub) as one, started(ground, hub) as other:
        reported = [json.loads(process.communicate(timeout=300)[0]) for process in (one, other)]
    assert sorted(reported[0] + reported[1]) == [
        path.name for path in list_bundles(bench / "bundles")
    ]
    whole(hub, bench)


def test_killed_again_and_again(ground: Ground, bench: Path, hub: Hub) -> None:
    sent(ground, bench)
    # While files come, before what came is taken, and before what was taken is remembered.
    for moment in (5, 4, 2):
        with started(ground, hub, moment) as process:
            process.communicate(timeout=300)
        assert process.returncode == -signal.SIGKILL
        present = hub.has
        for name, data in files_in(bench, "bundles").items():
            assert present.get(name, data) == data, "nothing is half there"
    found = hub.collect(ground)
    assert found.wrong == []
    whole(hub, bench)


def through(ground: Ground, proxy: Proxy) -> Ground:
    """Reach the same places through a proxy."""
    if ground.kind == "s3":
        access = replace(ground.access, endpoint=f"http://127.0.0.1:{proxy.port}")
        return replace(ground, access=access)
    return replace(ground, port=proxy.port)


@pytest.mark.parametrize("kind", ["ssh_ground", "s3_ground"])
def test_a_line_that_breaks_again_and_again(
    request: pytest.FixtureRequest, bench: Path, hub: Hub, kind: str
) -> None:
    ground: Ground = request.getfixturevalue(kind)
    sent(ground, bench)
    size = sum(map(len, files_in(bench, "bundles").values()))
    broken, passed = 0, 0
    for _ in range(40):
        proxy = Proxy(ground.port, left=size // 3)
        with proxy.serving():
            try:
                wrong = hub.collect(through(ground, proxy)).wrong
            except UserError as error:
                wrong = [str(error)]
        passed += proxy.passed
        if not wrong:
            break
        broken += 1
        assert all("\n" not in line and line.startswith(("ssh://", "s3://")) for line in wrong)
    assert broken >= 2, "one line never brings all of it"
    whole(hub, bench)
    assert passed < 2.5 * size, "what came is not fetched again"


@pytest.mark.parametrize("kind", ["ssh_ground", "s3_ground"])
def test_a_pack_that_breaks_off_is_never_half_there(
    request: pytest.FixtureRequest, bench: Path, hub: Hub, kind: str
) -> None:
    ground: Ground = request.getfixturevalue(kind)
    # Answers to what is sent are short: what breaks is somewhere between the first and the last.
    for left in (4_000, 4_500, 5_000):
        proxy = Proxy(ground.port, left)
        with proxy.serving(), pytest.raises(UserError) as error:
            sent(through(ground, proxy), bench)
        assert "\n" not in str(error.value)
        with suppress(UserError):  # Nothing may be there yet.
            hub.collect(ground)
        for name, data in files_in(bench, "bundles").items():
            assert hub.has.get(name, data) == data
    sent(ground, bench)
    assert hub.collect(ground).wrong == []
    whole(hub, bench)
