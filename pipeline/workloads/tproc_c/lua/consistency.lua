-- The consistency conditions of TPC-C (clauses 3.3.2.1 to 3.3.2.12).
--
-- Each is a query of how many rows break it. They read each table once and join the sums, because
-- a subquery for each row would take hours of a large database.

local consistency = {}

local DELIVERED = [[
(SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS amount
   FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
  WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) delivered
ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id]]

-- Number of the clause, what it says, and the query.
local ALWAYS = {
   { "3.3.2.1", "W_YTD is the sum of D_YTD", [[
SELECT count(*) FROM warehouse
  LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS ytd FROM district GROUP BY d_w_id) sums ON d_w_id = w_id
 WHERE w_ytd <> coalesce(ytd, 0)]] },
   { "3.3.2.2", "D_NEXT_O_ID - 1 is the largest O_ID and NO_O_ID", [[
SELECT count(*) FROM district
  LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS newest FROM orders GROUP BY o_w_id, o_d_id) ordered
    ON o_w_id = d_w_id AND o_d_id = d_id
  LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS waiting FROM new_order GROUP BY no_w_id, no_d_id) open_orders
    ON no_w_id = d_w_id AND no_d_id = d_id
 WHERE d_next_o_id - 1 <> coalesce(newest, 0) OR d_next_o_id - 1 <> coalesce(waiting, d_next_o_id - 1)]] },
   { "3.3.2.3", "the rows of NEW-ORDER have no gaps in NO_O_ID", [[
SELECT count(*) FROM (SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id
  HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) gaps]] },
   { "3.3.2.4", "the sum of O_OL_CNT is the number of rows in ORDER-LINE", [[
SELECT count(*) FROM district
  LEFT JOIN (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS said FROM orders GROUP BY o_w_id, o_d_id) ordered
    ON o_w_id = d_w_id AND o_d_id = d_id
  LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS held FROM order_line GROUP BY ol_w_id, ol_d_id) counted
    ON ol_w_id = d_w_id AND ol_d_id = d_id
 WHERE coalesce(said, 0) <> coalesce(held, 0)]] },
   { "3.3.2.5", "orders without O_CARRIER_ID, and no others, are in NEW-ORDER", [[
SELECT count(*) FROM orders
  LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
 WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)]] },
   { "3.3.2.6", "O_OL_CNT is the number of rows of the order in ORDER-LINE", [[
SELECT count(*) FROM orders
  LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS held FROM order_line
              GROUP BY ol_w_id, ol_d_id, ol_o_id) counted
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
 WHERE o_ol_cnt <> coalesce(held, 0)]] },
   { "3.3.2.7", "lines have no OL_DELIVERY_D where, and only where, their order has no O_CARRIER_ID", [[
SELECT count(*) FROM order_line
  JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
 WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)]] },
   { "3.3.2.8", "W_YTD is the sum of H_AMOUNT", [[
SELECT count(*) FROM warehouse
  LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) sums ON h_w_id = w_id
 WHERE w_ytd <> coalesce(paid, 0)]] },
   { "3.3.2.9", "D_YTD is the sum of H_AMOUNT", [[
SELECT count(*) FROM district
  LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) sums
    ON h_w_id = d_w_id AND h_d_id = d_id
 WHERE d_ytd <> coalesce(paid, 0)]] },
   { "3.3.2.10", "C_BALANCE is the sum of delivered OL_AMOUNT less that of H_AMOUNT", [[
SELECT count(*) FROM customer
  LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history
              GROUP BY h_c_w_id, h_c_d_id, h_c_id) sums
    ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
  LEFT JOIN ]] .. DELIVERED .. [[

 WHERE c_balance <> coalesce(amount, 0) - coalesce(paid, 0)]] },
   { "3.3.2.12", "C_BALANCE and C_YTD_PAYMENT together are the sum of delivered OL_AMOUNT", [[
SELECT count(*) FROM customer LEFT JOIN ]] .. DELIVERED .. [[

 WHERE c_balance + c_ytd_payment <> coalesce(amount, 0)]] },
}

-- Deliveries end it; %d is how many orders of a district are loaded as delivered.
local LOADED = { "3.3.2.11", "the orders not in NEW-ORDER are those loaded as delivered", [[
SELECT count(*) FROM district
  LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS held FROM orders GROUP BY o_w_id, o_d_id) ordered
    ON o_w_id = d_w_id AND o_d_id = d_id
  LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS waiting FROM new_order GROUP BY no_w_id, no_d_id) open_orders
    ON no_w_id = d_w_id AND no_d_id = d_id
 WHERE coalesce(held, 0) - coalesce(waiting, 0) <> %d]] }

local function check(connection, condition)
   local clause, said, query = unpack(condition)
   local broken = tonumber((connection.handle:query_row(query)))
   if broken ~= 0 then
      error(("consistency condition %s of TPC-C (%s) does not hold: %d rows break it"):format(
         clause, said, broken), 0)
   end
end

-- Checks all conditions of a database as it was loaded. Raises a sentence that names the first
-- that is broken.
function consistency.check_load(connection, delivered)
   consistency.check(connection)
   local clause, said, query = unpack(LOADED)
   check(connection, { clause, said, query:format(delivered) })
end

-- Checks the conditions that hold at any time, likewise, and returns how many they are.
function consistency.check(connection)
   for _, condition in ipairs(ALWAYS) do
      check(connection, condition)
   end
   return #ALWAYS
end

return consistency
