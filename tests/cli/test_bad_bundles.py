"""One bad bundle never stops a verb: it goes to the quarantine with one line, the rest goes on."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pipeline.storage.bundle import list_bundles
from pipeline.storage.runs import runs
from pipeline.use_cases.measuring import MeasuringContext
from tests.cli.conftest import LONGER, NOT_AGAIN, Nightshift
from tests.cli.measured import write_runs

Spoil = Callable[[Path], object]


def rewritten(change: Callable[[bytes], bytes]) -> Spoil:
    """Return what changes the text of a manifest; every checksum is right afterwards."""

    def spoil(path: Path) -> None:
        plain = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
        packed = io.BytesIO()
        with (
            tarfile.open(fileobj=io.BytesIO(plain)) as before,
            tarfile.open(fileobj=packed, mode="w") as after,
        ):
            for info in before:
                handle = before.extractfile(info)
                data = handle.read() if handle else b""
                if info.name == "manifest.json":
                    data = change(data)
                info.size = len(data)
                after.addfile(info, io.BytesIO(data))
        packer = zstandard.ZstdCompressor(write_checksum=True)
        path.write_bytes(packer.compress(packed.getvalue()))

    return spoil


def with_field(**fields: Any) -> Spoil:
    return rewritten(lambda text: json.dumps({**json.loads(text), **fields}).encode())


def with_text(field: str, value: str) -> Spoil:
    """Set a field to a text that JSON itself may not write, as 1e400."""
    mark = "only here"
    return rewritten(
        lambda text: (
            json.dumps({**json.loads(text), field: mark})
            .replace(json.dumps(mark), value)
            .encode("utf-8", "surrogateescape")
        )
    )


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


SPOILT: dict[str, Spoil] = {
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "empty": lambda path: path.write_bytes(b""),
    "not zstd": lambda path: path.write_bytes(bytes(range(256)) * 9),
    "a newer schema": with_field(schema_version=1000, something="new"),
    "a negative schema": with_field(schema_version=-5),
    "an endless schema": with_text("schema_version", "1e400"),
    "not a number": with_text("schema_version", "NaN"),
    "a huge repetition": with_field(repetition=2**70),
    "ended before it started": with_field(ended_at="1999-01-01T00:00:00Z"),
    "times without a zone": with_field(ended_at="2999-01-01T00:00:00"),
    "beyond the calendar": with_field(started_at="0001-01-01T00:00:00+14:00"),
    "no time of this world": with_field(ended_at=1e300),
    "nested too deeply": with_text("notes", "[" * 100_000 + "]" * 100_000),
    "not UTF-8": with_text("notes", '"\udcff"'),
    "half a character": with_text("notes", '"\\ud800"'),
    "a number of many digits": with_text("repetition", "9" * 10_000),
    "another run's name": with_field(run_id="../../../etc/passwd"),
    "a folder": a_folder,
    "a loop of links": a_loop,
}


@pytest.fixture(params=SPOILT)
def spoilt(request: pytest.FixtureRequest, folder: Path) -> Path:
    """The path of a bad bundle among good ones."""
    (folder / "nightshift.toml").write_text(LONGER + NOT_AGAIN)
    write_runs()
    path = min(list_bundles(folder / "results/bundles"))
    SPOILT[request.param](path)
    return path


def others_are_taken(folder: Path, bad: Path) -> None:
    names = {each.run_id for each in runs(MeasuringContext(folder / "nightshift.toml").store)}
    left = {path.name.removesuffix(".tar.zst") for path in list_bundles(folder / "results/bundles")}
    assert left - names <= {bad.name.removesuffix(".tar.zst")}
    assert len(names) >= 26


def one_line_each(text: str, bad: Path) -> None:
    lines = [line for line in text.splitlines() if bad.name in line]
    assert len(lines) == 1, text
    assert "quarantine" in lines[0]
    assert "Traceback" not in text


@pytest.mark.parametrize("verb", ["ingest", "rebuild"])
def test_the_others_are_taken(
    nightshift: Nightshift, folder: Path, spoilt: Path, verb: str
) -> None:
    ran = nightshift(verb)
    assert ran.code == 2
    one_line_each(ran.err, spoilt)
    others_are_taken(folder, spoilt)
    assert os.path.lexists(folder / "results/quarantine" / spoilt.name)
    again = nightshift(verb)
    assert (again.code, again.err) == (0, "")


def test_the_night_goes_on(
    nightshift: Nightshift, folder: Path, night: list[tuple[str, int]], spoilt: Path
) -> None:
    ran = nightshift("nightly")
    assert ran.code == 0
    one_line_each(ran.err, spoilt)
    others_are_taken(folder, spoilt)
    # What a newer nightshift measured is not measured over.
    assert len(night) == (0 if "upgrade" in ran.err else 1)
    assert "quarantine" not in nightshift("nightly").err


@pytest.mark.usefixtures("written")
def test_collect_goes_on(nightshift: Nightshift, folder: Path, spoilt: Path) -> None:
    (folder / "results").rename(folder / "bench")
    (folder / "results").mkdir()
    (folder / "bench/discovered.json").rename(folder / "results/discovered.json")
    ran = nightshift("collect", "bench")
    assert "Traceback" not in ran.err
    assert len([line for line in ran.err.splitlines() if spoilt.name in line]) <= 1
    others_are_taken(folder, spoilt)
    if not spoilt.is_symlink():
        assert os.path.lexists(folder / "bench/bundles" / spoilt.name), "it is another's"
