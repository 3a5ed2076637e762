-- The transactions of TPC-C as procedures of MySQL and MariaDB. Each begins and ends its own
-- transaction. A lock that was not had in time undoes a statement only, so every error rolls back
-- what was begun, and is passed on.
--
-- What decides a write is read with FOR UPDATE: the snapshot of the transaction may be older.

-- ER_LOCK_DEADLOCK and others.
local ON_ERROR = [[
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
    ROLLBACK;
    RESIGNAL;
  END;]]

-- The customer in the middle of all with a last name, by first name. %s are the warehouse, the
-- district; twice.
local BY_NAME = [[
  SET customer_id = in_c;
  IF in_c = 0 THEN
    SELECT floor((count(*) + 1) / 2) - 1 INTO middle FROM customer
      WHERE c_w_id = %s AND c_d_id = %s AND c_last = in_last;
    SELECT c_id INTO customer_id FROM customer WHERE c_w_id = %s AND c_d_id = %s AND c_last = in_last
      ORDER BY c_first LIMIT middle, 1;
  END IF;]]

local function by_name(warehouse, district)
   return BY_NAME:format(warehouse, district, warehouse, district)
end

local DEFINITIONS = {
   -- Clause 2.4.2.2. `in_lines` has 14 digits for each line: item 6, warehouse 6, quantity 2. An
   -- item that does not exist rolls back (2.4.2.3) and gives no order_id.
   [[
CREATE PROCEDURE tproc_new_order(
  IN in_w INT, IN in_d INT, IN in_c INT, IN in_count INT, IN in_lines VARCHAR(210),
  OUT order_id INT, OUT total DECIMAL(12,2), OUT order_lines TEXT)
this: BEGIN
  DECLARE tax_w, tax_d, discount DECIMAL(4,4);
  DECLARE last_name VARCHAR(16);
  DECLARE credit CHAR(2);
  DECLARE new_id, item_id, supply, quantity, left_over INT;
  DECLARE all_local, number INT DEFAULT 1;
  DECLARE price, amount DECIMAL(6,2);
  DECLARE item_name, info VARCHAR(24);
  DECLARE item_data, stock_data VARCHAR(50);
]] .. ON_ERROR .. [[

  SET order_id = NULL, total = 0, order_lines = '';
  START TRANSACTION;
  SELECT w_tax INTO tax_w FROM warehouse WHERE w_id = in_w;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = in_w AND d_id = in_d;
  SELECT d_tax, d_next_o_id - 1 INTO tax_d, new_id FROM district WHERE d_w_id = in_w AND d_id = in_d;
  SELECT c_discount, c_last, c_credit INTO discount, last_name, credit
    FROM customer WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = in_c;
  WHILE number <= in_count DO
    IF SUBSTRING(in_lines, 14 * number - 7, 6) + 0 <> in_w THEN
      SET all_local = 0;
    END IF;
    SET number = number + 1;
  END WHILE;
  INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (in_w, in_d, new_id, in_c, NOW(), in_count, all_local);
  INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (in_w, in_d, new_id);
  SET number = 1;
  WHILE number <= in_count DO
    SET item_id = SUBSTRING(in_lines, 14 * number - 13, 6);
    SET supply = SUBSTRING(in_lines, 14 * number - 7, 6);
    SET quantity = SUBSTRING(in_lines, 14 * number - 1, 2);
    SET price = NULL;
    SELECT i_price, i_name, i_data INTO price, item_name, item_data FROM item WHERE i_id = item_id;
    IF price IS NULL THEN
      ROLLBACK;
      LEAVE this;
    END IF;
    UPDATE stock SET
        s_quantity = IF(s_quantity >= quantity + 10, s_quantity - quantity, s_quantity - quantity + 91),
        s_ytd = s_ytd + quantity,
        s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + IF(supply <> in_w, 1, 0)
      WHERE s_w_id = supply AND s_i_id = item_id;
    SELECT s_quantity, s_data, CASE in_d
        WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
        WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
        WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
      INTO left_over, stock_data, info FROM stock WHERE s_w_id = supply AND s_i_id = item_id;
    SET amount = quantity * price;
    INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
        ol_amount, ol_dist_info)
      VALUES (in_w, in_d, new_id, number, item_id, supply, quantity, amount, info);
    SET total = total + amount;
    SET order_lines = CONCAT_WS(' ', order_lines, item_name, left_over,
      IF(LOCATE('ORIGINAL', item_data) > 0 AND LOCATE('ORIGINAL', stock_data) > 0, 'B', 'G'), price, amount);
    SET number = number + 1;
  END WHILE;
  COMMIT;
  SET total = total * (1 - discount) * (1 + tax_w + tax_d);
  SET order_lines = CONCAT_WS(' ', last_name, credit, order_lines);
  SET order_id = new_id;
END]],

   -- Clause 2.5.2.2: the customer of in_c_w and in_c_d pays to the warehouse and district in_w, in_d.
   [[
CREATE PROCEDURE tproc_payment(
  IN in_w INT, IN in_d INT, IN in_c_w INT, IN in_c_d INT, IN in_c INT, IN in_last VARCHAR(16), IN in_cents INT,
  OUT customer_id INT, OUT balance DECIMAL(14,2), OUT details TEXT)
BEGIN
  DECLARE amount DECIMAL(6,2) DEFAULT in_cents / 100;
  DECLARE middle INT;
  DECLARE name_w, name_d VARCHAR(10);
]] .. ON_ERROR .. [[

  START TRANSACTION;
  UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = in_w;
  SELECT w_name, CONCAT_WS(' ', w_street_1, w_street_2, w_city, w_state, w_zip) INTO name_w, details
    FROM warehouse WHERE w_id = in_w;
  UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = in_w AND d_id = in_d;
  SELECT d_name, CONCAT_WS(' ', details, d_street_1, d_street_2, d_city, d_state, d_zip) INTO name_d, details
    FROM district WHERE d_w_id = in_w AND d_id = in_d;
]] .. by_name("in_c_w", "in_c_d") .. [[

  UPDATE customer SET
      c_balance = c_balance - amount,
      c_ytd_payment = c_ytd_payment + amount,
      c_payment_cnt = c_payment_cnt + 1,
      c_data = IF(c_credit = 'BC',
        LEFT(CONCAT_WS(' ', customer_id, in_c_d, in_c_w, in_d, in_w, amount, c_data), 500), c_data)
    WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = customer_id;
  SELECT c_balance, CONCAT_WS(' ', details, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state,
      c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, IF(c_credit = 'BC', LEFT(c_data, 200), NULL))
    INTO balance, details FROM customer WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = customer_id;
  INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (customer_id, in_c_d, in_c_w, in_d, in_w, NOW(), amount, CONCAT(name_w, '    ', name_d));
  COMMIT;
END]],

   -- Clause 2.6.2.2. 15 lines stay below the default of group_concat_max_len, 1024.
   [[
CREATE PROCEDURE tproc_order_status(
  IN in_w INT, IN in_d INT, IN in_c INT, IN in_last VARCHAR(16),
  OUT customer_id INT, OUT balance DECIMAL(14,2), OUT order_id INT, OUT order_lines TEXT)
BEGIN
  DECLARE middle, carrier INT;
  DECLARE entered DATETIME;
  DECLARE customer_name VARCHAR(40);
]] .. ON_ERROR .. [[

  SET order_id = NULL;
  START TRANSACTION;
]] .. by_name("in_w", "in_d") .. [[

  SELECT c_balance, CONCAT_WS(' ', c_first, c_middle, c_last) INTO balance, customer_name
    FROM customer WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = customer_id;
  SELECT o_id, o_entry_d, o_carrier_id INTO order_id, entered, carrier
    FROM orders WHERE o_w_id = in_w AND o_d_id = in_d AND o_c_id = customer_id ORDER BY o_id DESC LIMIT 1;
  SELECT CONCAT_WS(' ', customer_name, entered, carrier, GROUP_CONCAT(
      CONCAT_WS(' ', ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d)
      ORDER BY ol_number SEPARATOR ' '))
    INTO order_lines
    FROM order_line WHERE ol_w_id = in_w AND ol_d_id = in_d AND ol_o_id = order_id;
  COMMIT;
END]],

   -- Clause 2.7.4.2, of all districts in one transaction.
   [[
CREATE PROCEDURE tproc_delivery(IN in_w INT, IN in_carrier INT, OUT delivered INT)
BEGIN
  DECLARE oldest, customer_id INT;
  DECLARE district_id INT DEFAULT 1;
  DECLARE amount DECIMAL(14,2);
]] .. ON_ERROR .. [[

  SET delivered = 0;
  START TRANSACTION;
  WHILE district_id <= 10 DO
    SET oldest = NULL;
    SELECT no_o_id INTO oldest FROM new_order WHERE no_w_id = in_w AND no_d_id = district_id
      ORDER BY no_o_id LIMIT 1 FOR UPDATE;
    IF oldest IS NOT NULL THEN
      DELETE FROM new_order WHERE no_w_id = in_w AND no_d_id = district_id AND no_o_id = oldest;
      UPDATE orders SET o_carrier_id = in_carrier WHERE o_w_id = in_w AND o_d_id = district_id AND o_id = oldest;
      SELECT o_c_id INTO customer_id FROM orders
        WHERE o_w_id = in_w AND o_d_id = district_id AND o_id = oldest FOR UPDATE;
      UPDATE order_line SET ol_delivery_d = NOW()
        WHERE ol_w_id = in_w AND ol_d_id = district_id AND ol_o_id = oldest;
      SELECT SUM(ol_amount) INTO amount FROM order_line
        WHERE ol_w_id = in_w AND ol_d_id = district_id AND ol_o_id = oldest FOR UPDATE;
      UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = in_w AND c_d_id = district_id AND c_id = customer_id;
      SET delivered = delivered + 1;
    END IF;
    SET district_id = district_id + 1;
  END WHILE;
  COMMIT;
END]],

   -- Clause 2.8.2.2.
   [[
CREATE PROCEDURE tproc_stock_level(IN in_w INT, IN in_d INT, IN in_threshold INT, OUT low_stock INT)
BEGIN
  DECLARE next_id INT;
]] .. ON_ERROR .. [[

  START TRANSACTION;
  SELECT d_next_o_id INTO next_id FROM district WHERE d_w_id = in_w AND d_id = in_d;
  SELECT COUNT(DISTINCT s_i_id) INTO low_stock
    FROM order_line JOIN stock ON s_w_id = in_w AND s_i_id = ol_i_id
   WHERE ol_w_id = in_w AND ol_d_id = in_d AND ol_o_id < next_id AND ol_o_id >= next_id - 20
     AND s_quantity < in_threshold;
  COMMIT;
END]],
}

-- The server has no CREATE OR REPLACE for them.
local REPLACED = {}
for _, definition in ipairs(DEFINITIONS) do
   local name = definition:match("^CREATE PROCEDURE ([%w_]+)")
   REPLACED[#REPLACED + 1] = "DROP PROCEDURE IF EXISTS " .. name
   REPLACED[#REPLACED + 1] = definition
end

return { DEFINITIONS = REPLACED }
