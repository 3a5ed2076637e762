"""RocksDB has no server: db_bench runs with a folder and options instead."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.machine.tasks import Task
from pipeline.model import Build, Connection, ServerConfig
from pipeline.targets.base import Activity, Placement, ServerError, StartError
from pipeline.targets.base.processes import prepare
from pipeline.targets.base.programs import ENVIRONMENT, run_program
from pipeline.targets.base.templates import USER
from pipeline.targets.rocksdb import configuration, log
from pipeline.text.errors import UserError

DEBTS = ("flush", "waitforcompaction", "compact0", "waitforcompaction")
"""RocksDB's maintenance, as benchmarks of db_bench: flush the memtables, wait for compaction, and
compact the remaining files of level 0, which every read would search. The published reports call
this flush_mt_l0."""

_PUBLISHED_IDLE = 300.0 / (40_000_000 * 420)
"""Seconds per byte of the database to wait for compaction in an old release. The published runs
wait 300 s for 40 million rows of 420 bytes, and read a hundred keys meanwhile."""
_LONGEST_IDLE = 300
"""Maximum seconds to wait for compaction in an old release, as published."""

_REFUSED = "Direct I/O is not supported"
"""The error message of every release for a file system without O_DIRECT."""

_CLEAN = ("env", "--ignore-environment", *(f"{key}={ENVIRONMENT[key]}" for key in ENVIRONMENT))


class RocksDBEngine:
    """A RocksDB database in its own folder, returned by :func:`start`.

    The load generator is the DBMS. It opens the database in every step, and no process runs between
    steps.
    """

    pid = None

    def __init__(
        self, command: Sequence[str], connection: Connection, placement: Placement
    ) -> None:
        """Use a folder; ``command`` runs db_bench with the options of a configuration."""
        self.connection = connection
        self._command = tuple(command)
        self._placement = placement
        self._data = Path(connection.socket_dir)
        self.activity: Activity | None = log.activity(self._data)

    def settings(self) -> Mapping[str, str]:
        """Return every option that RocksDB wrote to its newest OPTIONS file."""
        newest = max(self._data.glob("OPTIONS-*"), key=lambda path: path.name)
        # The folder differs in each run and is no setting.
        text = newest.read_text(encoding="utf-8").replace(str(self._data), "")
        settings: dict[str, str] = {}
        section = ""
        for line in text.splitlines():
            if header := re.fullmatch(r'\[(\S+?)(?: "(\w+)")?\]', line.strip()):
                section = header[1]
            elif "=" in line and not line.startswith("#"):
                name, _, value = line.strip().partition("=")
                settings[f"{section}.{name}"] = value
        return settings

    def serves(self, task: Task) -> bool:
        """Return whether a thread runs the benchmark; threads of background jobs have names."""
        return not task.name.startswith("rocksdb:")

    def maintain(self, tables: Sequence[str]) -> None:
        """Flush memory to disk, wait for compaction to end, and compact level 0.

        Releases before 6.20 lack the benchmarks for this; instead, their database is kept open for
        some time, so that compaction can finish. maintenance.log has the actions, the levels, and
        the pending bytes of compaction.
        """
        del tables
        if self._can_pay():
            done, shown = ", ".join(DEBTS), self._pay(*DEBTS)
        else:
            seconds = math.ceil(min(self.database_bytes() * _PUBLISHED_IDLE, _LONGEST_IDLE))
            done = f"waited {seconds} s: this release has no command to wait for pending compaction"
            shown = self._pay("seekrandom", arguments=(f"--duration={seconds}", "--num=100"))
        kept = self._placement.folder / "maintenance.log"
        kept.write_text(f"{done}\n\n{left(shown)}\n")

    def _can_pay(self) -> bool:
        """Return whether this release of db_bench has the benchmarks for maintenance.

        The test uses a separate database: an old release crashes when it reports an error during
        flushes, compaction or statistics.
        """
        beside = self._placement.folder / "asked"
        quiet = (f"--db={beside}", "--use_existing_db=0", "--stats_dump_period_sec=0")
        try:
            self.bench(*quiet, f"--benchmarks={DEBTS[0]}")
        except ServerError as error:
            if "unknown benchmark" not in str(error):
                raise
            return False
        return True

    def _pay(self, *debts: str, arguments: Sequence[str] = ()) -> str:
        benchmarks = ",".join(("levelstats", *debts, "levelstats", "stats"))
        return self.bench(f"--benchmarks={benchmarks}", "--use_existing_db=1", *arguments)

    def bench(self, *arguments: str) -> str:
        """Run db_bench to its end on the database. Raises ServerError if it fails."""
        return run_program(
            self._placement.account,
            # The last occurrence of an option wins.
            [*self._command, f"--db={self._data}", *arguments],
            self._placement.folder,
            complaint,
            program=Path("db_bench"),
            limit=self._placement.limit,
        )

    def database_bytes(self) -> int:
        """Return the size of the database in bytes."""
        return sum(path.stat().st_size for path in self._data.iterdir() if path.is_file())

    def stop(self) -> None:
        """Do nothing, because no process of RocksDB outlives a step."""


def start(
    build: Build,
    command: Sequence[str],
    config: ServerConfig,
    template: Path,
    placement: Placement,
) -> RocksDBEngine:
    """Create an empty RocksDB database with the options of ``config``.

    ``command`` runs the build's db_bench. Raises StartError for a release that does not open a
    database with these options.
    """
    folder = placement.folder
    data = prepare(build, template, placement)
    with_options = (*command, *configuration.arguments(config.text))
    connection = Connection(
        driver="rocksdb",
        socket_dir=str(data),
        port=placement.port,
        user=USER,
        database="",
        # Load generators run as our account, in our environment. This one is the DBMS: it runs as
        # the account of servers, in an environment that is equal for all users.
        command=tuple(placement.account.command(*_CLEAN, *placement.instrument, *with_options)),
    )
    engine = RocksDBEngine(with_options, connection, placement)
    try:
        engine.bench("--benchmarks=", "--use_existing_db=0")
    except StartError as error:
        if "--use_direct_reads=true" in with_options and _REFUSED in str(error):
            raise UserError(
                f"the file system of {folder} refuses O_DIRECT, which config {config.family} "
                "needs; set paths.cache in nightshift.toml to a folder on ext4 or xfs, or change "
                "the workload's config to iobuf"
            ) from error
        raise
    return engine


def left(shown: str) -> str:
    """Return the lines of db_bench's output about the sizes of levels and pending compaction.

    ``shown`` is the output of maintenance.
    """
    lines = [line.rstrip() for line in shown.splitlines()]
    kept = re.compile(r"Level Files|-+$| +\d+ +\d+ +\d+$|Estimated pending compaction bytes: ")
    return "\n".join(line for line in lines if kept.match(line))


def complaint(text: str) -> str:
    """Return the last error line that db_bench printed."""
    greeting = re.compile(r"(RocksDB|Date|CPU|CPUCache|Keys|Set seed)\b.*")
    lines = [line.strip() for line in text.splitlines()]
    printed = [line for line in lines if line and not greeting.match(line)]
    marked = [line for line in printed if re.search(r"ERROR|rror:|unknown|not supported", line)]
    return (marked or printed or [""])[-1]
