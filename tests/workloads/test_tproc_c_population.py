"""The rows that tproc-c loads. In a file of its own: other tests change them."""

from __future__ import annotations

from pipeline.workloads.tproc_c.family import TABLES
from tests.workloads.tproc_c_shop import CUSTOMERS, DELIVERED, ITEMS, WAREHOUSES, Shop


def test_the_population_is_that_of_tpc_c(shop: Shop) -> None:
    districts = 10 * WAREHOUSES
    counts = {table: shop.value(f"SELECT count(*) FROM {table}") for table in TABLES}
    lines = counts.pop("order_line")
    assert counts == {
        "warehouse": WAREHOUSES,
        "district": districts,
        "customer": districts * CUSTOMERS,
        "history": districts * CUSTOMERS,
        "orders": districts * CUSTOMERS,
        "new_order": districts * (CUSTOMERS - DELIVERED),
        "item": ITEMS,
        "stock": WAREHOUSES * ITEMS,
    }
    assert lines == shop.value("SELECT sum(o_ol_cnt) FROM orders")
    assert shop.rows("SELECT min(o_ol_cnt), max(o_ol_cnt) FROM orders") == [(5, 15)]
    # Every customer of a district has one order, and another last name.
    assert (
        shop.value(
            "SELECT count(*) FROM (SELECT DISTINCT o_w_id, o_d_id, o_c_id FROM orders) each_one"
        )
        == counts["orders"]
    )
    assert (
        shop.value(
            "SELECT count(*) FROM (SELECT DISTINCT c_w_id, c_d_id, c_last FROM customer) each_one"
        )
        == counts["customer"]
    )
    assert shop.rows(
        "SELECT c_last FROM customer WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 40"
    ) == [("BARPRIEING",)]
