"""tproc-c run on real servers: its mix, its figures, and what the server refuses."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping

import pytest

from pipeline.model import StepOutput
from pipeline.workloads.base.tally import Tally, read_tallies
from pipeline.workloads.tproc_c.family import STEP, TprocC
from tests.workloads.tproc_c_shop import Shop, workload


def read(done: subprocess.CompletedProcess[str]) -> tuple[StepOutput, Mapping[str, Tally]]:
    assert done.returncode == 0, done.stdout
    return TprocC().parse(STEP, workload(), done.stdout), read_tallies(done.stdout)


def test_the_mix_and_nopm_are_what_the_database_holds(shop: Shop) -> None:
    orders, payments = (
        shop.value(f"SELECT count(*) FROM {table}") for table in ("orders", "history")
    )
    output, kinds = read(shop.run(workload()))
    count = {kind: tally.events for kind, tally in kinds.items()}
    assert shop.value("SELECT count(*) FROM orders") - orders == count["new-order"]
    assert shop.value("SELECT count(*) FROM history") - payments == count["payment"]
    assert output.figures["nopm"] == pytest.approx(count["new-order"] / output.seconds * 60)
    assert output.operations == sum(count.values()) > 200
    assert output.figures["tpm"] == pytest.approx(output.operations / output.seconds * 60)
    shares = {
        "new-order": 0.45 * 0.99,
        "rolled-back": 0.45 * 0.01,
        "payment": 0.43,
        "order-status": 0.04,
        "delivery": 0.04,
        "stock-level": 0.04,
    }
    assert set(count) == set(shares)
    for kind, share in shares.items():
        # Five standard deviations of a binomial: once in two million runs by chance.
        margin = 5 * (share * (1 - share) * output.operations) ** 0.5
        assert abs(count[kind] - share * output.operations) <= margin, count


def test_the_ramp_up_is_not_counted(shop: Shop) -> None:
    payments = shop.value("SELECT count(*) FROM history")
    done = shop.run(workload(measure=1.0, warmup=5.0))
    output, kinds = read(done)
    warm = sum(
        int(line.split("events=")[1].split()[0])
        for line in done.stdout.splitlines()
        if line.startswith("nightshift warmup")
    )
    beyond = shop.value("SELECT count(*) FROM history") - payments - kinds["payment"].events
    assert 0 < beyond < warm
    assert output.seconds < 5


# The server refuses every second payment that it is asked for. {code} is how.
REFUSING = {
    "pgsql": (
        "CREATE SEQUENCE payments",
        "CREATE FUNCTION refuse_payment() RETURNS trigger AS $$ BEGIN"
        " IF nextval('payments') % 2 = 0 THEN"
        " RAISE EXCEPTION 'not now' USING ERRCODE = '{code}'; END IF; RETURN NEW;"
        " END $$ LANGUAGE plpgsql",
        "CREATE TRIGGER refusing BEFORE INSERT ON history FOR EACH ROW"
        " EXECUTE PROCEDURE refuse_payment()",
    ),
    "mysql": (
        "CREATE TRIGGER refusing BEFORE INSERT ON history FOR EACH ROW BEGIN"
        " SET @payments = COALESCE(@payments, 0) + 1; IF @payments % 2 = 0 THEN"
        " SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not now', MYSQL_ERRNO = {code};"
        " END IF; END",
    ),
}
ACCEPTING = {
    "pgsql": (
        "DROP TRIGGER refusing ON history",
        "DROP FUNCTION refuse_payment",
        "DROP SEQUENCE payments",
    ),
    "mysql": ("DROP TRIGGER refusing",),
}


@pytest.fixture
def refusing(shop: Shop, request: pytest.FixtureRequest) -> Iterator[Shop]:
    driver = shop.connection.driver
    shop.do(*(each.replace("{code}", request.param[driver]) for each in REFUSING[driver]))
    yield shop
    shop.do(*ACCEPTING[driver])


@pytest.mark.parametrize("refusing", [{"pgsql": "40001", "mysql": "1213"}], indirect=True)
def test_what_the_server_asks_to_repeat_is_repeated(refusing: Shop) -> None:
    payments = refusing.value("SELECT count(*) FROM history")
    output, kinds = read(refusing.run(workload(measure=1.0)))
    assert output.errors == kinds["payment"].errors > 0
    paid = refusing.value("SELECT count(*) FROM history") - payments
    assert paid == kinds["payment"].events


@pytest.mark.parametrize("refusing", [{"pgsql": "P0001", "mysql": "1644"}], indirect=True)
def test_any_other_error_fails_the_step(refusing: Shop) -> None:
    done = refusing.run(workload(measure=1.0))
    assert done.returncode != 0
    assert "not now" in done.stdout
