"""What servers cost is parted over what was measured on them, and nothing of it is lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.ledger.cost_allocation import HostedRun, make_bills, measured_runs
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.states import KnownRegression
from pipeline.storage.bundle import bundle_path, list_bundles
from pipeline.storage.database import open_store
from pipeline.storage.ingest import ingest
from pipeline.storage.journal import Event, EventKind
from pipeline.storage.server_log import Life, Rent
from pipeline.text.units import Money
from tests.regressions.samples import shift
from tests.storage.bundles import put_run

AT = datetime(2026, 3, 1, 22, tzinfo=UTC)
NOW = AT + timedelta(hours=100)


def hours(number: float) -> timedelta:
    return timedelta(hours=number)


def server(
    name: str, number: int = 1, night: str = "77", made: float = 0.0, ended: float | None = 2.5
) -> Life:
    """A server that costs 0.1 EUR an hour."""
    rent = Rent(
        number=number,
        name=name,
        type="ccx13",
        location="fsn1",
        machine_class="ccx13",
        night=night,
        made=AT + hours(made),
        expires=AT + hours(made + 4),
        per_hour=Money(0.1, "EUR"),
    )
    return Life(rent=rent, ended=None if ended is None else AT + hours(made + ended))


def measured(
    run_id: str, host: str, began: float, took: float = 0.5, experiment: str = ""
) -> HostedRun:
    started = AT + hours(began)
    return HostedRun(
        run_id=run_id,
        hostname=host,
        started=started,
        ended=started + hours(took),
        experiment=experiment,
    )


def test_the_runs_of_a_server_share_its_bill_by_their_time() -> None:
    runs = [measured("a", "one", 0.1, 0.25), measured("b", "one.example", 1, 0.75)]
    bills = make_bills([server("one"), server("two", 2)], runs, [], NOW)
    assert [(each.run_id, each.server, each.night) for each in bills.runs] == [
        ("a", "one", "77"),
        ("b", "one", "77"),
    ]
    # Three started hours, of which the second run has three quarters.
    assert [each.cost for each in bills.runs] == pytest.approx([0.075, 0.225])
    (night,) = bills.nights
    assert (night.servers, night.hours, night.runs, night.minutes) == (2, 6, 2, 60)
    assert (night.cost, night.unused) == pytest.approx((0.6, 0.3))
    assert bills.cost == pytest.approx(0.6)


def test_a_reused_name_is_distinguished_by_its_time() -> None:
    again = [server("one", 1, made=0, ended=1), server("one", 2, made=5, ended=1)]
    runs = [measured("a", "one", 5.1), measured("before", "one", 3), measured("else", "other", 0.5)]
    bills = make_bills(again, runs, [], NOW)
    (bill,) = bills.runs
    assert bill.run_id == "a" and bill.cost == pytest.approx(0.1)
    (night,) = bills.nights
    assert night.unused == pytest.approx(0.1)


def test_a_server_that_is_there_costs_until_now() -> None:
    bills = make_bills([server("one", ended=None)], [measured("a", "one", 1)], [], AT + hours(1.6))
    assert bills.cost == pytest.approx(0.2) == bills.runs[0].cost


def test_nothing_is_rented() -> None:
    bills = make_bills([], [measured("a", "one", 1)], [], NOW)
    assert (bills.cost, bills.nights, bills.runs) == (0, (), ())


def test_currencies_are_not_added() -> None:
    old = server("old", 1)
    old = old.model_copy(update={"rent": old.rent.model_copy(update={"per_hour": Money(9, "USD")})})
    bills = make_bills([old, server("new", 2)], [], [], NOW)
    assert (bills.currency, bills.cost) == ("EUR", pytest.approx(0.3))


def row(position: int, *events: tuple[EventKind, str], **changes: object) -> KnownRegression:
    (found,) = group_shifts([shift(position)])
    found = found.model_copy(update={"fingerprint": f"f{position}", **changes})
    reported = [
        Event(at=AT, event=kind, fingerprint=found.fingerprint, experiment=experiment)
        for kind, experiment in events
    ]
    return KnownRegression(found, events=reported)


E = EventKind


def test_a_confirmed_regression_costs_what_was_measured_for_it() -> None:
    known = [
        row(5, (E.FOUND, ""), (E.CONFIRMED, "confirm-a"), (E.BISECTED, "bisect-a")),
        row(6, (E.FOUND, ""), (E.REJECTED, "confirm-b")),
        row(7, (E.FOUND, ""), (E.CONFIRMED, "confirm-a")),
        row(8, (E.CONFIRMED, "confirm-c"), recovers="f5"),
        row(9, (E.FOUND, "")),
    ]
    runs = [
        measured("night", "one", 0.0, 0.5),
        measured("1", "one", 0.5, 0.5, "confirm-a"),
        measured("2", "one", 1.0, 0.5, "bisect-a"),
        measured("3", "one", 1.5, 0.25, "explain-f5"),
        measured("4", "one", 1.75, 0.25, "confirm-b"),
    ]
    bills = make_bills([server("one", ended=2.0)], runs, known, NOW)
    first, second = bills.regressions
    assert (first.fingerprint, second.fingerprint) == ("f5", "f7")
    # Two hours of 0.1 EUR over two hours of runs; one experiment is about both.
    assert (first.confirm, first.bisect, first.explain) == pytest.approx((0.025, 0.05, 0.025))
    assert (second.confirm, second.bisect, second.explain) == pytest.approx((0.025, 0, 0))
    assert first.cost == pytest.approx(0.1)


def test_the_runs_are_those_of_the_store_and_of_all_experiments(tmp_path: Path) -> None:
    store = open_store("sqlite://")
    put_run(tmp_path / "bundles", 1)
    ingest(store, list_bundles(tmp_path / "bundles"))
    folder = tmp_path / "experiments" / "confirm-a" / "bundles"
    inside = put_run(folder, 2)
    put_run(tmp_path / "experiments" / "aside" / "confirm-b" / "bundles", 3)
    found = measured_runs(tmp_path, store)
    assert [each.experiment for each in found] == ["", "confirm-b", "confirm-a"]
    assert all(each.hostname and each.minutes > 0 for each in found)
    assert inside.exists()
    inside.write_bytes(b"torn")
    assert [each.experiment for each in measured_runs(tmp_path, store)] == ["", "confirm-b"]
    assert bundle_path(folder, found[2].run_id) == inside


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.floats(0.01, 5), st.floats(0.01, 2)), max_size=9)
)
def test_no_cent_is_lost_and_none_is_counted_twice(
    wanted: list[tuple[str, float, float]],
) -> None:
    servers = [server("a", 1, ended=3), server("b", 2, night="78", ended=None)]
    runs = [measured(str(n), host, at, took) for n, (host, at, took) in enumerate(wanted)]
    bills = make_bills(servers, runs, [], NOW)
    parted = sum(each.cost for each in bills.runs) + sum(each.unused for each in bills.nights)
    assert parted == pytest.approx(bills.cost)
    assert bills.cost == pytest.approx(sum(each.cost(NOW).amount for each in servers))
