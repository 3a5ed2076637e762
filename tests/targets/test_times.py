"""When a release was made: what archives say, and what packers write instead."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.model import Build
from pipeline.targets.base.archives import zip_time
from pipeline.targets.base.times import newest_time, time_of
from pipeline.targets.sqlite import SQLite
from pipeline.targets.sqlite.library import checked_in
from tests.conftest import Release


def put(path: Path, at: datetime) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


CONSTANTS = [
    pytest.param(datetime(1970, 1, 1, tzinfo=UTC), id="none"),
    pytest.param(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), id="an old cargo"),
    pytest.param(datetime(1973, 11, 29, 21, 33, 9, tzinfo=UTC), id="an older cargo"),
    pytest.param(datetime(1980, 1, 1, tzinfo=UTC), id="zip"),
    pytest.param(datetime(1985, 10, 26, 8, 15, tzinfo=UTC), id="npm"),
    pytest.param(datetime(2006, 7, 24, 1, 21, 28, tzinfo=UTC), id="cargo"),
]


@pytest.mark.parametrize("at", CONSTANTS)
def test_a_constant_is_no_time(tmp_path: Path, at: datetime) -> None:
    put(tmp_path / "a/b.c", at)
    assert time_of(tmp_path / "a/b.c") is None
    assert newest_time(tmp_path) is None


def test_source_code_is_as_old_as_its_newest_file(tmp_path: Path) -> None:
    put(tmp_path / "configure", datetime(2022, 12, 28, 14, 26, 33, tzinfo=UTC))
    put(tmp_path / "src/a.c", datetime(2023, 1, 2, 3, 4, 5, tzinfo=UTC))
    put(tmp_path / "src/b.c", datetime(2006, 7, 24, 1, 21, 28, tzinfo=UTC))
    assert newest_time(tmp_path) == datetime(2023, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_the_time_in_a_zip_is_taken_for_utc() -> None:
    info = zipfile.ZipInfo("bin/mariadbd", (2023, 9, 16, 15, 29, 28))
    at = datetime.fromtimestamp(zip_time(info), UTC)
    assert at == datetime(2023, 9, 16, 15, 29, 28, tzinfo=UTC)


def test_a_source_id_holds_the_time_of_its_check_in() -> None:
    said = "3.46.0 2024-05-23 13:25:27 96c92aba00c8375bc32fafcdf12429c58bd8aabfcadab6683e35bbb9c"
    assert checked_in(said) == datetime(2024, 5, 23, 13, 25, 27, tzinfo=UTC)
    assert checked_in("3.46.0") is None


def test_sqlite_says_when_it_was_checked_in(sqlite_builds: Callable[[str], Build]) -> None:
    identity = SQLite().identify(sqlite_builds("3.46.0").home)
    assert identity.made == datetime(2024, 5, 23, 13, 25, 27, tzinfo=UTC)


def test_a_release_of_postgres_was_made_after_its_major(releases: Callable[[str], Release]) -> None:
    made = releases("17").build.provenance.made
    # https://www.postgresql.org/about/news/postgresql-17-released-2936/
    assert made is not None
    assert datetime(2024, 9, 26, tzinfo=UTC) < made < datetime.now(UTC)
    assert made.second or made.minute, "a time, and not only a day"
