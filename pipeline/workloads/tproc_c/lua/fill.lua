-- The initial population (clause 4.3.3.1).

local random = require("random")
local schema = require("schema")
local values = require("values")

local fill = {}

local NEW_ORDERS = 0.3 -- the part of a district's orders that is not delivered: 900 of 3000

local uniform = sysbench.rand.uniform
local letters = values.letters

-- How many of so many orders of a district are loaded as delivered.
function fill.delivered(orders)
   return orders - math.floor(orders * NEW_ORDERS)
end

local function insert(connection, table_name, columns, count, row)
   connection:query("BEGIN")
   connection:bulk_insert(("INSERT INTO %s (%s) VALUES"):format(table_name, columns), count, row)
   connection:query("COMMIT")
end

-- street_1, street_2, city, state, zip
local function address()
   return ("'%s', '%s', '%s', '%s', '%s'"):format(
      letters(10, 20), letters(10, 20), letters(10, 20), letters(2):upper(), values.zip()
   )
end

function fill.items(connection, count)
   random.seed(random.LOAD, 0, "tproc-c")
   insert(connection, "item", "i_id, i_im_id, i_name, i_price, i_data", count, function(id)
      return ("(%d, %d, '%s', %.2f, '%s')"):format(
         id, uniform(1, 10000), letters(14, 24), uniform(100, 10000) / 100, values.data()
      )
   end)
end

local function stock(connection, warehouse, items)
   local columns = "s_w_id, s_i_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,"
      .. " s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, s_data"
   insert(connection, "stock", columns, items, function(item)
      local districts = {}
      for district = 1, schema.DISTRICTS do
         districts[district] = letters(24)
      end
      return ("(%d, %d, %d, '%s', 0, 0, 0, '%s')"):format(
         warehouse, item, uniform(10, 100), table.concat(districts, "', '"), values.data()
      )
   end)
end

local function customers(connection, warehouse, district, count)
   local columns = "c_w_id, c_d_id, c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state,"
      .. " c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment,"
      .. " c_payment_cnt, c_delivery_cnt, c_data"
   insert(connection, "customer", columns, count, function(id)
      local name = id <= values.last_names(count) and id - 1 or values.name_number(values.NAME_LOAD, count)
      return ("(%d, %d, %d, '%s', 'OE', '%s', %s, '%s', CURRENT_TIMESTAMP, '%s', 50000, %.4f, -10, 10, 1, 0, '%s')")
         :format(
            warehouse, district, id, letters(8, 16), values.last_name(name), address(), values.digits(16),
            uniform(1, 10) == 1 and "BC" or "GC", uniform(0, 5000) / 10000, letters(300, 500)
         )
   end)
   columns = "h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data"
   insert(connection, "history", columns, count, function(id)
      return ("(%d, %d, %d, %d, %d, CURRENT_TIMESTAMP, 10, '%s')"):format(
         id, district, warehouse, district, warehouse, letters(12, 24)
      )
   end)
end

-- One order of every customer.
local function orders(connection, warehouse, district, count, items)
   local of, delivered = values.permutation(count), fill.delivered(count)
   local lines, all_lines = {}, 0
   for id = 1, count do
      lines[id] = uniform(5, 15)
      all_lines = all_lines + lines[id]
   end
   local columns = "o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local"
   insert(connection, "orders", columns, count, function(id)
      local carrier = id <= delivered and uniform(1, 10) or "NULL"
      return ("(%d, %d, %d, %d, CURRENT_TIMESTAMP, %s, %d, 1)"):format(
         warehouse, district, id, of[id], carrier, lines[id]
      )
   end)
   insert(connection, "new_order", "no_w_id, no_d_id, no_o_id", count - delivered, function(i)
      return ("(%d, %d, %d)"):format(warehouse, district, delivered + i)
   end)
   local id, number = 1, 0
   columns = "ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,"
      .. " ol_amount, ol_dist_info"
   insert(connection, "order_line", columns, all_lines, function()
      number = number + 1
      if number > lines[id] then
         id, number = id + 1, 1
      end
      local done = id <= delivered
      return ("(%d, %d, %d, %d, %d, %d, %s, 5, %.2f, '%s')"):format(
         warehouse, district, id, number, uniform(1, items), warehouse, done and "CURRENT_TIMESTAMP" or "NULL",
         done and 0 or uniform(1, 999999) / 100, letters(24)
      )
   end)
end

-- A warehouse with its stock, districts, customers and their orders. Every customer has paid 10,
-- from which the sums of districts and warehouse follow.
function fill.warehouse(connection, warehouse, customer_count, items)
   random.seed(random.LOAD, warehouse, "tproc-c")
   local columns = "w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd"
   insert(connection, "warehouse", columns, 1, function()
      return ("(%d, '%s', %s, %.4f, %d)"):format(
         warehouse, letters(6, 10), address(), uniform(0, 2000) / 10000, 10 * customer_count * schema.DISTRICTS
      )
   end)
   stock(connection, warehouse, items)
   columns = "d_w_id, d_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, d_ytd, d_next_o_id"
   insert(connection, "district", columns, schema.DISTRICTS, function(district)
      return ("(%d, %d, '%s', %s, %.4f, %d, %d)"):format(
         warehouse, district, letters(6, 10), address(), uniform(0, 2000) / 10000, 10 * customer_count,
         customer_count + 1
      )
   end)
   for district = 1, schema.DISTRICTS do
      customers(connection, warehouse, district, customer_count)
      orders(connection, warehouse, district, customer_count, items)
   end
end

return fill
