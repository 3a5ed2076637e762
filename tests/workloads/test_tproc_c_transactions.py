"""The transactions of tproc-c on real servers, row by row."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.workloads.databases import Row
from tests.workloads.tproc_c_shop import ITEMS, Shop


def test_a_new_order_writes_its_rows(shop: Shop) -> None:
    shop.do(
        "UPDATE stock SET s_quantity = 13 WHERE s_w_id = 1 AND s_i_id = 3",
        "UPDATE stock SET s_quantity = 12 WHERE s_w_id = 2 AND s_i_id = 4",
    )
    next_id = shop.value("SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = 2")
    stock = "SELECT s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_dist_02 FROM stock WHERE"
    ((_, ytd, ordered, remote, info),) = shop.rows(f"{stock} s_w_id = 2 AND s_i_id = 4")
    said = shop.call("tproc_new_order", 1, 2, 5, 2, "00000300000103" + "00000400000207")
    assert said["order_id"] == next_id
    key = "w_id = 1 AND {0}_d_id = 2 AND {0}_o_id = " + str(next_id)
    assert shop.rows(
        "SELECT o_c_id, o_carrier_id, o_ol_cnt, o_all_local FROM orders"
        f" WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = {next_id}"
    ) == [(5, None, 2, 0)]
    assert shop.value(f"SELECT count(*) FROM new_order WHERE no_{key.format('no')}") == 1
    prices: dict[int, Decimal] = dict(
        shop.rows("SELECT i_id, i_price FROM item WHERE i_id IN (3, 4)")
    )
    assert shop.rows(
        "SELECT ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d"
        f" FROM order_line WHERE ol_{key.format('ol')} ORDER BY ol_number"
    ) == [(1, 3, 1, 3, 3 * prices[3], None), (2, 4, 2, 7, 7 * prices[4], None)]
    # 13 is enough for 3 and ten more; 12 is not for 7, and 91 are bought.
    assert shop.value("SELECT s_quantity FROM stock WHERE s_w_id = 1 AND s_i_id = 3") == 10
    assert shop.rows(f"{stock} s_w_id = 2 AND s_i_id = 4") == [
        (12 - 7 + 91, ytd + 7, ordered + 1, remote + 1, info)
    ]
    assert (
        shop.value(
            f"SELECT ol_dist_info FROM order_line WHERE ol_{key.format('ol')} AND ol_number = 2"
        )
        == info
    )
    ((tax, discount),) = shop.rows(
        "SELECT w_tax + d_tax, c_discount FROM warehouse JOIN district ON d_w_id = w_id"
        " JOIN customer ON c_w_id = d_w_id AND c_d_id = d_id"
        " WHERE w_id = 1 AND d_id = 2 AND c_id = 5"
    )
    total = (3 * prices[3] + 7 * prices[4]) * (1 - discount) * (1 + tax)
    assert abs(said["total"] - total) <= Decimal("0.01")


def test_an_order_of_an_unused_item_leaves_nothing(shop: Shop) -> None:
    queries = (
        "SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = 1",
        "SELECT count(*) FROM orders",
        "SELECT count(*) FROM new_order",
        "SELECT count(*) FROM order_line",
        "SELECT s_quantity FROM stock WHERE s_w_id = 1 AND s_i_id = 3",
    )
    before = [shop.rows(query) for query in queries]
    # A procedure undoes its work, of a function the caller does.
    shop.do(*([] if shop.speaks_mysql else ["BEGIN"]))
    said = shop.call("tproc_new_order", 1, 1, 1, 2, f"00000300000103{ITEMS + 1:06d}00000101")
    shop.do(*([] if shop.speaks_mysql else ["ROLLBACK"]))
    assert said["order_id"] is None
    assert [shop.rows(query) for query in queries] == before


def customer(shop: Shop, number: int) -> Row:
    (row,) = shop.rows(
        "SELECT c_balance, c_ytd_payment, c_payment_cnt, c_data FROM customer"
        f" WHERE c_w_id = 2 AND c_d_id = 4 AND c_id = {number}"
    )
    return row


@pytest.mark.parametrize("credit", ["GC", "BC"])
def test_a_payment_moves_money(shop: Shop, credit: str) -> None:
    shop.do(
        f"UPDATE customer SET c_credit = '{credit}' WHERE c_w_id = 2 AND c_d_id = 4 AND c_id = 9"
    )
    balance, paid, count, data = customer(shop, 9)
    place = "FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = 1 AND d_id = 3"
    sums = f"SELECT w_ytd, d_ytd {place}"
    ((of_warehouse, of_district),) = shop.rows(sums)
    said = shop.call("tproc_payment", 1, 3, 2, 4, 9, "", 123456)
    amount = Decimal("1234.56")
    assert (said["customer_id"], said["balance"]) == (9, balance - amount)
    noted = f"9 4 2 3 1 1234.56 {data}"[:500] if credit == "BC" else data
    assert customer(shop, 9) == (balance - amount, paid + amount, count + 1, noted)
    assert shop.rows(sums) == [(of_warehouse + amount, of_district + amount)]
    history = "h_c_w_id = 2 AND h_c_d_id = 4 AND h_c_id = 9 AND h_w_id = 1 AND h_d_id = 3"
    names = shop.rows(f"SELECT w_name, d_name {place}")
    found = shop.rows(f"SELECT h_amount, h_data FROM history WHERE {history}")
    assert (amount, "    ".join(names[0])) in found


def test_of_customers_with_one_name_the_middle_one_is_meant(shop: Shop) -> None:
    district = "c_w_id = 2 AND c_d_id = 5"
    shop.do(f"UPDATE customer SET c_last = 'SAME' WHERE {district} AND c_id IN (11, 12, 13, 14)")
    named = shop.rows(
        f"SELECT c_id FROM customer WHERE {district} AND c_last = 'SAME' ORDER BY c_first"
    )
    # The second of four: n / 2, rounded up.
    assert shop.call("tproc_payment", 2, 5, 2, 5, 0, "SAME", 100)["customer_id"] == named[1][0]
    assert shop.call("tproc_order_status", 2, 5, 0, "SAME")["customer_id"] == named[1][0]
    shop.do(f"UPDATE customer SET c_last = 'OTHER' WHERE {district} AND c_id = {named[3][0]}")
    assert shop.call("tproc_order_status", 2, 5, 0, "SAME")["customer_id"] == named[1][0]


def test_order_status_returns_the_last_order(shop: Shop) -> None:
    made = shop.call("tproc_new_order", 2, 6, 7, 2, "00000100000203" + "00000500000204")
    said = shop.call("tproc_order_status", 2, 6, 7, "")
    assert (said["customer_id"], said["order_id"]) == (7, made["order_id"])
    amounts = [
        str(amount)
        for (amount,) in shop.rows(
            "SELECT ol_amount FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 6"
            f" AND ol_o_id = {made['order_id']} ORDER BY ol_number"
        )
    ]
    assert said["order_lines"].split()[-8:] == [
        "1",
        "2",
        "3",
        amounts[0],
        "5",
        "2",
        "4",
        amounts[1],
    ]


def test_a_delivery_takes_the_oldest_order_of_each_district(shop: Shop) -> None:
    shop.do("DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 10")
    fixed = (
        "INSERT INTO new_order SELECT o_w_id, o_d_id, o_id FROM orders"
        " WHERE o_w_id = 2 AND o_d_id = 10 AND o_carrier_id IS NULL"
    )
    oldest = shop.rows(
        "SELECT no_d_id, min(no_o_id) FROM new_order WHERE no_w_id = 2 GROUP BY no_d_id ORDER BY 1"
    )
    before = balances(shop, oldest)
    assert shop.call("tproc_delivery", 2, 8)["delivered"] == 9
    shop.do(fixed)
    after = balances(shop, oldest)
    for (district, order), (balance, deliveries), now in zip(oldest, before, after, strict=True):
        where = f"w_id = 2 AND {{0}}_d_id = {district} AND {{0}}_"
        assert (
            shop.value(f"SELECT o_carrier_id FROM orders WHERE o_{where.format('o')}id = {order}")
            == 8
        )
        lines = f"FROM order_line WHERE ol_{where.format('ol')}o_id = {order}"
        assert shop.value(f"SELECT count(*) {lines} AND ol_delivery_d IS NULL") == 0
        assert now == (balance + shop.value(f"SELECT sum(ol_amount) {lines}"), deliveries + 1)
        gone = f"FROM new_order WHERE no_w_id = 2 AND no_d_id = {district} AND no_o_id = {order}"
        assert shop.value(f"SELECT count(*) {gone}") == 0


def balances(shop: Shop, orders: list[Row]) -> list[Row]:
    """The balance and deliveries of the customers of some orders."""
    return [
        shop.rows(
            "SELECT c_balance, c_delivery_cnt FROM customer JOIN orders"
            " ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id"
            f" WHERE o_w_id = 2 AND o_d_id = {district} AND o_id = {order}"
        )[0]
        for district, order in orders
    ]


def test_the_stock_level_counts_items_of_the_last_20_orders(shop: Shop) -> None:
    expected = shop.value(
        "SELECT count(*) FROM (SELECT DISTINCT ol_i_id FROM district"
        " JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20"
        " JOIN stock ON s_w_id = 1 AND s_i_id = ol_i_id"
        " WHERE d_w_id = 1 AND d_id = 7 AND s_quantity < 50) low"
    )
    assert shop.call("tproc_stock_level", 1, 7, 50)["low_stock"] == expected > 0
