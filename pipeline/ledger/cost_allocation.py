"""Divide the cost of rented servers among their runs, by night and by regression.

A server is billed by whole hours, and its runs share the full amount by their duration. The cost of
a server without runs is reported, but belongs to no run.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import Engine, select

from pipeline.experiments.record import EXPLAINING
from pipeline.ledger.ledger import verdict_on
from pipeline.model import Frozen, Origin
from pipeline.regressions.states import KnownRegression
from pipeline.storage.bundle import EXPERIMENTS, DamagedBundleError, list_bundles, read_manifest
from pipeline.storage.journal import EventKind
from pipeline.storage.schema import machine, run
from pipeline.storage.server_log import Life
from pipeline.text.units import Money

CONFIRMED = EventKind.CONFIRMED.value


class HostedRun(Frozen):
    """A run on a rented server, with its start and end."""

    run_id: str
    hostname: str
    started: datetime
    ended: datetime
    experiment: str = ""

    @property
    def minutes(self) -> float:
        """How long the run took, in minutes."""
        return (self.ended - self.started) / timedelta(minutes=1)


class RunBill(Frozen):
    """What one run cost: its share of the cost of its server."""

    run_id: str
    night: str
    server: str
    experiment: str
    minutes: float
    cost: float


class NightBill(Frozen):
    """What the servers of a night cost, with the part that no run used."""

    night: str
    servers: int
    hours: int
    cost: float
    runs: int
    minutes: float
    unused: float


class RegressionBill(Frozen):
    """What it cost to confirm, bisect and explain a regression."""

    fingerprint: str
    line: str
    last_good: str
    first_bad: str
    confirm: float
    bisect: float
    explain: float

    @property
    def cost(self) -> float:
        """The total cost of the regression's experiments."""
        return self.confirm + self.bisect + self.explain


class Bills(Frozen):
    """What all rented servers cost, by run, night and regression."""

    currency: str
    nights: tuple[NightBill, ...]
    runs: tuple[RunBill, ...]
    regressions: tuple[RegressionBill, ...]

    @property
    def cost(self) -> float:
        """The total cost of all servers."""
        return math.fsum(each.cost for each in self.nights)

    def money(self, amount: float) -> Money:
        """Return an amount of money with its currency."""
        return Money(amount, self.currency)


def make_bills(
    servers: Sequence[Life],
    measured: Sequence[HostedRun],
    known: Iterable[KnownRegression],
    now: datetime,
) -> Bills:
    """Divide the cost of servers among their runs; a server that still exists costs until now.

    Servers billed in another currency than the last one are left out, because amounts in two
    currencies cannot be added.
    """
    currency = servers[-1].rent.per_hour.currency if servers else ""
    rented = [each for each in servers if each.rent.per_hour.currency == currency]
    on: dict[int, list[HostedRun]] = defaultdict(list)
    for each in measured:
        if (life := _server_of(each, rented)) is not None:
            on[life.rent.number].append(each)
    runs = tuple(bill for life in rented for bill in _parted(life, on[life.rent.number], now))
    return Bills(
        currency=currency,
        nights=tuple(_nights(rented, on, now)),
        runs=runs,
        regressions=tuple(_regressions(known, runs)),
    )


def measured_runs(results: Path, store: Engine) -> list[HostedRun]:
    """Return all runs of nights and experiments, with their hosts and times."""
    wanted = (
        select(run.c.run_id, machine.c.fingerprint, run.c.started_at, run.c.ended_at)
        .join(machine, run.c.machine_id == machine.c.id)
        .where(run.c.origin == Origin.MEASURED.value)
    )
    with store.connect() as connection:
        found = [
            HostedRun(run_id=run_id, hostname=print_["hostname"], started=started, ended=ended)
            for run_id, print_, started, ended in connection.execute(wanted)
        ]
    # Experiments that were set aside lie a level deeper.
    for bundles in sorted((results / EXPERIMENTS).glob("**/bundles")):
        for path in list_bundles(bundles):
            try:
                head = read_manifest(path)
            except DamagedBundleError:
                continue
            found.append(
                HostedRun(
                    run_id=head.run_id,
                    hostname=head.machine.hostname,
                    started=head.started_at,
                    ended=head.ended_at,
                    experiment=bundles.parent.name,
                )
            )
    return found


def _server_of(each: HostedRun, rented: Iterable[Life]) -> Life | None:
    """Return the rented server that a run was on; None for a run on another machine.

    The start of the run decides among servers of one name, because names recur from night to night.
    """
    host = each.hostname.partition(".")[0]
    for life in rented:
        began = life.rent.made <= each.started
        if life.rent.name == host and began and (life.ended is None or each.started < life.ended):
            return life
    return None


def _parted(life: Life, runs: Sequence[HostedRun], now: datetime) -> Iterable[RunBill]:
    cost, minutes = life.cost(now).amount, math.fsum(each.minutes for each in runs)
    for each in sorted(runs, key=lambda one: one.started):
        share = each.minutes / minutes if minutes else 1 / len(runs)
        yield RunBill(
            run_id=each.run_id,
            night=life.rent.night,
            server=life.rent.name,
            experiment=each.experiment,
            minutes=each.minutes,
            cost=cost * share,
        )


def _nights(
    rented: Iterable[Life], on: Mapping[int, Sequence[HostedRun]], now: datetime
) -> Iterable[NightBill]:
    by_night: dict[str, list[Life]] = defaultdict(list)
    for life in rented:
        by_night[life.rent.night].append(life)
    for night, its in by_night.items():
        runs = [each for life in its for each in on.get(life.rent.number, ())]
        idle = [life for life in its if not on.get(life.rent.number)]
        yield NightBill(
            night=night,
            servers=len(its),
            hours=sum(life.rent.hours(life.ended or now) for life in its),
            cost=math.fsum(life.cost(now).amount for life in its),
            runs=len(runs),
            minutes=math.fsum(each.minutes for each in runs),
            unused=math.fsum(life.cost(now).amount for life in idle),
        )


def _regressions(
    known: Iterable[KnownRegression], runs: Iterable[RunBill]
) -> Iterable[RegressionBill]:
    """Return what each confirmed regression cost; shared runs are divided equally."""
    of: dict[str, float] = defaultdict(float)
    for each in runs:
        of[each.experiment] += each.cost
    rows = list(known)
    about: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for event in row.events:
            about[event.experiment].add(row.regression.fingerprint)
    for row in rows:
        if row.regression.recovers or verdict_on(row.events) != CONFIRMED:
            continue
        found = row.regression
        bisects = {each.experiment for each in row.events if each.event is EventKind.BISECTED}
        named = {each.experiment for each in row.events} - {""}
        parts = {name: of[name] / len(about[name]) for name in named if name in of}
        yield RegressionBill(
            fingerprint=found.fingerprint,
            line=found.line,
            last_good=found.last_good,
            first_bad=found.first_bad,
            confirm=math.fsum(cost for name, cost in parts.items() if name not in bisects),
            bisect=math.fsum(cost for name, cost in parts.items() if name in bisects),
            explain=of.get(f"{EXPLAINING}{found.fingerprint}", 0.0),
        )
