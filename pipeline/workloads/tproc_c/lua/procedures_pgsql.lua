-- The transactions of TPC-C in PL/pgSQL. A call of a function is a transaction by itself.

local DEFINITIONS = {
   -- Clause 2.4.2.2. `in_lines` has 14 digits for each line: item 6, warehouse 6, quantity 2.
   -- An item that does not exist gives no order_id; the caller then rolls back (2.4.2.3), because
   -- a function can undo its work only by an error, or by a subtransaction in all calls.
   [[
CREATE OR REPLACE FUNCTION tproc_new_order(
  in_w INTEGER, in_d INTEGER, in_c INTEGER, in_count INTEGER, in_lines TEXT,
  OUT order_id INTEGER, OUT total NUMERIC, OUT order_lines TEXT) AS $$
DECLARE
  tax_w NUMERIC; tax_d NUMERIC; discount NUMERIC; last_name TEXT; credit TEXT; new_id INTEGER;
  item_id INTEGER; supply INTEGER; quantity INTEGER; all_local INTEGER := 1;
  price NUMERIC; item_name TEXT; item_data TEXT; left_over INTEGER; info TEXT; stock_data TEXT; amount NUMERIC;
BEGIN
  SELECT w_tax INTO tax_w FROM warehouse WHERE w_id = in_w;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = in_w AND d_id = in_d
    RETURNING d_tax, d_next_o_id - 1 INTO tax_d, new_id;
  SELECT c_discount, c_last, c_credit INTO discount, last_name, credit
    FROM customer WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = in_c;
  FOR number IN 1 .. in_count LOOP
    IF substr(in_lines, 14 * number - 7, 6)::INTEGER <> in_w THEN
      all_local := 0;
    END IF;
  END LOOP;
  INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (in_w, in_d, new_id, in_c, CURRENT_TIMESTAMP, in_count, all_local);
  INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (in_w, in_d, new_id);
  total := 0;
  order_lines := '';
  FOR number IN 1 .. in_count LOOP
    item_id := substr(in_lines, 14 * number - 13, 6);
    supply := substr(in_lines, 14 * number - 7, 6);
    quantity := substr(in_lines, 14 * number - 1, 2);
    SELECT i_price, i_name, i_data INTO price, item_name, item_data FROM item WHERE i_id = item_id;
    IF NOT FOUND THEN
      RETURN;
    END IF;
    UPDATE stock SET
        s_quantity = CASE WHEN s_quantity >= quantity + 10 THEN s_quantity - quantity
                          ELSE s_quantity - quantity + 91 END,
        s_ytd = s_ytd + quantity,
        s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + CASE WHEN supply <> in_w THEN 1 ELSE 0 END
      WHERE s_w_id = supply AND s_i_id = item_id
      RETURNING s_quantity, s_data, CASE in_d
        WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
        WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
        WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
      INTO left_over, stock_data, info;
    amount := quantity * price;
    INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
        ol_amount, ol_dist_info)
      VALUES (in_w, in_d, new_id, number, item_id, supply, quantity, amount, info);
    total := total + amount;
    order_lines := concat_ws(' ', order_lines, item_name, left_over,
      CASE WHEN strpos(item_data, 'ORIGINAL') > 0 AND strpos(stock_data, 'ORIGINAL') > 0 THEN 'B' ELSE 'G' END,
      price, amount);
  END LOOP;
  total := total * (1 - discount) * (1 + tax_w + tax_d);
  order_lines := concat_ws(' ', last_name, credit, order_lines);
  order_id := new_id;
END $$ LANGUAGE plpgsql]],

   -- Clause 2.5.2.2: the customer of in_c_w and in_c_d pays to the warehouse and district in_w, in_d.
   [[
CREATE OR REPLACE FUNCTION tproc_payment(
  in_w INTEGER, in_d INTEGER, in_c_w INTEGER, in_c_d INTEGER, in_c INTEGER, in_last TEXT, in_cents INTEGER,
  OUT customer_id INTEGER, OUT balance NUMERIC, OUT details TEXT) AS $$
DECLARE
  amount NUMERIC := in_cents / 100.0; name_w TEXT; name_d TEXT; credit TEXT;
BEGIN
  UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = in_w
    RETURNING w_name, concat_ws(' ', w_street_1, w_street_2, w_city, w_state, w_zip) INTO name_w, details;
  UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = in_w AND d_id = in_d
    RETURNING d_name, concat_ws(' ', details, d_street_1, d_street_2, d_city, d_state, d_zip) INTO name_d, details;
  customer_id := in_c;
  IF in_c = 0 THEN
    SELECT c_id INTO customer_id FROM customer WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_last = in_last
      ORDER BY c_first
      OFFSET (SELECT (count(*) + 1) / 2 - 1 FROM customer
               WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_last = in_last)
      LIMIT 1;
  END IF;
  UPDATE customer SET
      c_balance = c_balance - amount,
      c_ytd_payment = c_ytd_payment + amount,
      c_payment_cnt = c_payment_cnt + 1,
      c_data = CASE WHEN c_credit = 'BC' THEN
          left(concat_ws(' ', customer_id, in_c_d, in_c_w, in_d, in_w, amount::NUMERIC(6,2), c_data), 500)
        ELSE c_data END
    WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = customer_id
    RETURNING c_balance, concat_ws(' ', details, c_first, c_middle, c_last, c_street_1, c_street_2, c_city,
      c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount,
      CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END) INTO balance, details;
  INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (customer_id, in_c_d, in_c_w, in_d, in_w, CURRENT_TIMESTAMP, amount, name_w || '    ' || name_d);
END $$ LANGUAGE plpgsql]],

   -- Clause 2.6.2.2.
   [[
CREATE OR REPLACE FUNCTION tproc_order_status(
  in_w INTEGER, in_d INTEGER, in_c INTEGER, in_last TEXT,
  OUT customer_id INTEGER, OUT balance NUMERIC, OUT order_id INTEGER, OUT order_lines TEXT) AS $$
DECLARE
  entered TIMESTAMP; carrier INTEGER; customer_name TEXT;
BEGIN
  customer_id := in_c;
  IF in_c = 0 THEN
    SELECT c_id INTO customer_id FROM customer WHERE c_w_id = in_w AND c_d_id = in_d AND c_last = in_last
      ORDER BY c_first
      OFFSET (SELECT (count(*) + 1) / 2 - 1 FROM customer
               WHERE c_w_id = in_w AND c_d_id = in_d AND c_last = in_last)
      LIMIT 1;
  END IF;
  SELECT c_balance, concat_ws(' ', c_first, c_middle, c_last) INTO balance, customer_name
    FROM customer WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = customer_id;
  SELECT o_id, o_entry_d, o_carrier_id INTO order_id, entered, carrier
    FROM orders WHERE o_w_id = in_w AND o_d_id = in_d AND o_c_id = customer_id ORDER BY o_id DESC LIMIT 1;
  SELECT concat_ws(' ', customer_name, entered, carrier, string_agg(
      concat_ws(' ', ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d), ' ' ORDER BY ol_number))
    INTO order_lines
    FROM order_line WHERE ol_w_id = in_w AND ol_d_id = in_d AND ol_o_id = order_id;
END $$ LANGUAGE plpgsql]],

   -- Clause 2.7.4.2, of all districts in one transaction. An oldest order that another delivery took
   -- meanwhile is not there to delete, and the next one is looked for.
   [[
CREATE OR REPLACE FUNCTION tproc_delivery(in_w INTEGER, in_carrier INTEGER, OUT delivered INTEGER) AS $$
DECLARE
  oldest INTEGER; customer_id INTEGER; amount NUMERIC;
BEGIN
  delivered := 0;
  FOR district_id IN 1 .. 10 LOOP
    LOOP
      SELECT no_o_id INTO oldest FROM new_order WHERE no_w_id = in_w AND no_d_id = district_id
        ORDER BY no_o_id LIMIT 1;
      EXIT WHEN NOT FOUND;
      DELETE FROM new_order WHERE no_w_id = in_w AND no_d_id = district_id AND no_o_id = oldest;
      EXIT WHEN FOUND;
    END LOOP;
    CONTINUE WHEN oldest IS NULL;
    UPDATE orders SET o_carrier_id = in_carrier WHERE o_w_id = in_w AND o_d_id = district_id AND o_id = oldest
      RETURNING o_c_id INTO customer_id;
    UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP
      WHERE ol_w_id = in_w AND ol_d_id = district_id AND ol_o_id = oldest;
    SELECT sum(ol_amount) INTO amount FROM order_line
      WHERE ol_w_id = in_w AND ol_d_id = district_id AND ol_o_id = oldest;
    UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
      WHERE c_w_id = in_w AND c_d_id = district_id AND c_id = customer_id;
    delivered := delivered + 1;
  END LOOP;
END $$ LANGUAGE plpgsql]],

   -- Clause 2.8.2.2.
   [[
CREATE OR REPLACE FUNCTION tproc_stock_level(
  in_w INTEGER, in_d INTEGER, in_threshold INTEGER, OUT low_stock INTEGER) AS $$
DECLARE
  next_id INTEGER;
BEGIN
  SELECT d_next_o_id INTO next_id FROM district WHERE d_w_id = in_w AND d_id = in_d;
  SELECT count(DISTINCT s_i_id) INTO low_stock
    FROM order_line JOIN stock ON s_w_id = in_w AND s_i_id = ol_i_id
   WHERE ol_w_id = in_w AND ol_d_id = in_d AND ol_o_id < next_id AND ol_o_id >= next_id - 20
     AND s_quantity < in_threshold;
END $$ LANGUAGE plpgsql]],
}

return { DEFINITIONS = DEFINITIONS }
