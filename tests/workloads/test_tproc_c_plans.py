"""The plans of the statements in the procedures of tproc-c, on every DBMS that it runs on."""

from __future__ import annotations

import subprocess

from pipeline.explain.plans import plan_changes
from pipeline.workloads.base.plans import read_plans
from pipeline.workloads.tproc_c.family import TABLES, TprocC
from tests.workloads.sysbench_runner import LONGEST_SECONDS
from tests.workloads.tproc_c_shop import Shop, workload


def explained(shop: Shop, seed: int = 7) -> dict[str, str]:
    """The plan of each statement, asked with the keys of a seed."""
    done = subprocess.run(
        TprocC().explain(workload(), shop.connection, seed),
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ((step, plans),) = read_plans(done.stdout).items()
    assert step == "tproc-c"
    return plans


def contents(shop: Shop) -> list[object]:
    return [shop.value(f"SELECT count(*) FROM {table}") for table in TABLES] + [
        shop.value("SELECT sum(d_next_o_id) FROM district"),
        shop.value("SELECT sum(w_ytd) FROM warehouse"),
    ]


def test_every_statement_of_the_procedures_has_a_plan(shop: Shop) -> None:
    before = contents(shop)
    plans = explained(shop)
    assert all(plans.values())
    # Reads and writes of every table, none of it with the name of a variable.
    for table in TABLES:
        assert any(table in statement for statement in plans), table
    words = {text.split()[0] for text in plans}
    assert words == {"SELECT", "INSERT", "UPDATE", "DELETE"}
    assert not any(name in text for text in plans for name in (" in_", "district_id", " INTO tax"))
    (stock_level,) = (text for text in plans if "DISTINCT s_i_id" in text)
    assert "FROM order_line JOIN stock" in stock_level
    # A customer by name is found by the index for that, an order of a customer too.
    for index in ("customer_name", "orders_customer"):
        assert any(index in plan for plan in plans.values()), index
    # Nothing was executed.
    assert contents(shop) == before


def test_other_keys_have_the_same_plans(shop: Shop) -> None:
    assert explained(shop, seed=7) == explained(shop, seed=8)


def test_an_index_that_is_gone_is_a_changed_plan(shop: Shop) -> None:
    before = explained(shop)
    shop.do("DROP INDEX orders_customer" + (" ON orders" if shop.speaks_mysql else ""))
    try:
        after = explained(shop)
    finally:
        shop.do("CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)")
    (change,) = plan_changes(before, after)
    assert change.statement.startswith("SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE")
    assert "orders_customer" in change.before
    assert "orders_customer" not in change.after
