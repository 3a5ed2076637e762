-- The nine tables of TPC-C (clause 1.3), with HammerDB's names, and without foreign keys as it.

local schema = {}

schema.DISTRICTS = 10 -- of a warehouse

-- {time} is the type of a moment.
local TABLES = {
   { "item", [[
  i_id INTEGER NOT NULL,
  i_im_id INTEGER NOT NULL,
  i_name VARCHAR(24) NOT NULL,
  i_price NUMERIC(5,2) NOT NULL,
  i_data VARCHAR(50) NOT NULL,
  PRIMARY KEY (i_id)]] },
   { "warehouse", [[
  w_id INTEGER NOT NULL,
  w_name VARCHAR(10) NOT NULL,
  w_street_1 VARCHAR(20) NOT NULL,
  w_street_2 VARCHAR(20) NOT NULL,
  w_city VARCHAR(20) NOT NULL,
  w_state CHAR(2) NOT NULL,
  w_zip CHAR(9) NOT NULL,
  w_tax NUMERIC(4,4) NOT NULL,
  w_ytd NUMERIC(14,2) NOT NULL,
  PRIMARY KEY (w_id)]] },
   { "district", [[
  d_w_id INTEGER NOT NULL,
  d_id SMALLINT NOT NULL,
  d_name VARCHAR(10) NOT NULL,
  d_street_1 VARCHAR(20) NOT NULL,
  d_street_2 VARCHAR(20) NOT NULL,
  d_city VARCHAR(20) NOT NULL,
  d_state CHAR(2) NOT NULL,
  d_zip CHAR(9) NOT NULL,
  d_tax NUMERIC(4,4) NOT NULL,
  d_ytd NUMERIC(14,2) NOT NULL,
  d_next_o_id INTEGER NOT NULL,
  PRIMARY KEY (d_w_id, d_id)]] },
   { "customer", [[
  c_w_id INTEGER NOT NULL,
  c_d_id SMALLINT NOT NULL,
  c_id INTEGER NOT NULL,
  c_first VARCHAR(16) NOT NULL,
  c_middle CHAR(2) NOT NULL,
  c_last VARCHAR(16) NOT NULL,
  c_street_1 VARCHAR(20) NOT NULL,
  c_street_2 VARCHAR(20) NOT NULL,
  c_city VARCHAR(20) NOT NULL,
  c_state CHAR(2) NOT NULL,
  c_zip CHAR(9) NOT NULL,
  c_phone CHAR(16) NOT NULL,
  c_since {time} NOT NULL,
  c_credit CHAR(2) NOT NULL,
  c_credit_lim NUMERIC(12,2) NOT NULL,
  c_discount NUMERIC(4,4) NOT NULL,
  c_balance NUMERIC(14,2) NOT NULL,
  c_ytd_payment NUMERIC(14,2) NOT NULL,
  c_payment_cnt INTEGER NOT NULL,
  c_delivery_cnt INTEGER NOT NULL,
  c_data VARCHAR(500) NOT NULL,
  PRIMARY KEY (c_w_id, c_d_id, c_id)]] },
   { "history", [[
  h_c_id INTEGER NOT NULL,
  h_c_d_id SMALLINT NOT NULL,
  h_c_w_id INTEGER NOT NULL,
  h_d_id SMALLINT NOT NULL,
  h_w_id INTEGER NOT NULL,
  h_date {time} NOT NULL,
  h_amount NUMERIC(6,2) NOT NULL,
  h_data VARCHAR(24) NOT NULL]] },
   { "stock", [[
  s_w_id INTEGER NOT NULL,
  s_i_id INTEGER NOT NULL,
  s_quantity SMALLINT NOT NULL,
  s_dist_01 CHAR(24) NOT NULL,
  s_dist_02 CHAR(24) NOT NULL,
  s_dist_03 CHAR(24) NOT NULL,
  s_dist_04 CHAR(24) NOT NULL,
  s_dist_05 CHAR(24) NOT NULL,
  s_dist_06 CHAR(24) NOT NULL,
  s_dist_07 CHAR(24) NOT NULL,
  s_dist_08 CHAR(24) NOT NULL,
  s_dist_09 CHAR(24) NOT NULL,
  s_dist_10 CHAR(24) NOT NULL,
  s_ytd INTEGER NOT NULL,
  s_order_cnt INTEGER NOT NULL,
  s_remote_cnt INTEGER NOT NULL,
  s_data VARCHAR(50) NOT NULL,
  PRIMARY KEY (s_w_id, s_i_id)]] },
   { "orders", [[
  o_w_id INTEGER NOT NULL,
  o_d_id SMALLINT NOT NULL,
  o_id INTEGER NOT NULL,
  o_c_id INTEGER NOT NULL,
  o_entry_d {time} NOT NULL,
  o_carrier_id SMALLINT,
  o_ol_cnt SMALLINT NOT NULL,
  o_all_local SMALLINT NOT NULL,
  PRIMARY KEY (o_w_id, o_d_id, o_id)]] },
   { "new_order", [[
  no_w_id INTEGER NOT NULL,
  no_d_id SMALLINT NOT NULL,
  no_o_id INTEGER NOT NULL,
  PRIMARY KEY (no_w_id, no_d_id, no_o_id)]] },
   { "order_line", [[
  ol_w_id INTEGER NOT NULL,
  ol_d_id SMALLINT NOT NULL,
  ol_o_id INTEGER NOT NULL,
  ol_number SMALLINT NOT NULL,
  ol_i_id INTEGER NOT NULL,
  ol_supply_w_id INTEGER NOT NULL,
  ol_delivery_d {time},
  ol_quantity SMALLINT NOT NULL,
  ol_amount NUMERIC(6,2) NOT NULL,
  ol_dist_info CHAR(24) NOT NULL,
  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)]] },
}

-- By which customers are found by name, and the last order of a customer is.
local INDEXES = {
   "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first)",
   "CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
}

local TIME = { pgsql = "TIMESTAMP", mysql = "DATETIME" }

-- Makes empty tables. What was there before is dropped, so that an interrupted load can simply
-- be repeated.
function schema.create(connection)
   local time = TIME[connection.dialect]
   for _, definition in ipairs(TABLES) do
      local name, columns = definition[1], definition[2]
      connection:query("DROP TABLE IF EXISTS " .. name)
      connection:query(("CREATE TABLE %s (\n%s\n)"):format(name, (columns:gsub("{time}", time))))
   end
end

-- Makes the secondary indexes, on full tables.
function schema.index(connection)
   for _, text in ipairs(INDEXES) do
      connection:query(text)
   end
end

return schema
