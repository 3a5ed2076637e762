-- A virtual user: one transaction of the mix after the other, without keying or think time.

local procedures = require("procedures")
local schema = require("schema")
local values = require("values")

local transactions = {}

local uniform = sysbench.rand.uniform

-- New orders that roll back are a kind of their own: they are in the mix but are no new orders.
transactions.NEW_ORDER, transactions.ROLLED_BACK = "new-order", "rolled-back"
transactions.KINDS = {
   transactions.NEW_ORDER, transactions.ROLLED_BACK, "payment", "order-status", "delivery", "stock-level",
}

-- Of a hundred transactions, up to which one each kind is (clause 5.2.3).
local UP_TO = { { 45, "order" }, { 88, "payment" }, { 92, "order-status" }, { 96, "delivery" }, { 100, "stock-level" } }

local function drawn()
   local draw = uniform(1, 100)
   for _, share in ipairs(UP_TO) do
      if draw <= share[1] then
         return share[2]
      end
   end
end

-- Another warehouse than `home`, if there is one.
local function remote(home, warehouses)
   if warehouses == 1 then
      return home
   end
   local other = uniform(1, warehouses - 1)
   return other < home and other or other + 1
end

-- The lines of an order (clause 2.4.1.5), as 14 digits each: item, warehouse, quantity. They are
-- sorted by item, so that two orders never wait for each other's stock. An item that does not
-- exist has the largest number, so it comes last.
local function order_lines(home, opt, unused)
   local lines = {}
   for i = 1, uniform(5, 15) do
      local supply = uniform(1, 100) == 1 and remote(home, opt.warehouses) or home
      lines[i] = ("%06d%06d%02d"):format(values.item(opt.items), supply, uniform(1, 10))
   end
   if unused then
      lines[#lines] = ("%06d%06d%02d"):format(opt.items + 1, home, uniform(1, 10))
   end
   table.sort(lines)
   return #lines, table.concat(lines)
end

-- Six times in ten a customer is known by the last name (clauses 2.5.1.2 and 2.6.1.2).
local function customer(opt)
   if uniform(1, 100) <= 60 then
      return 0, values.last_name(values.name_number(values.NAME_RUN, opt.customers))
   end
   return values.customer(opt.customers), ""
end

local function district()
   return uniform(1, schema.DISTRICTS)
end

-- Where a function cannot roll back by itself, the caller does it for an order with an item that
-- does not exist.
local function rolled_back(connection, call)
   if connection.dialect ~= "pgsql" then
      return call
   end
   return function(...)
      connection:query("BEGIN")
      call(...)
      connection:query("ROLLBACK")
   end
end

-- For every kind a function of the home warehouse, that draws the parameters of a transaction
-- and returns the kind that it is, the call, and what to call it with.
local function kinds(connection, opt)
   local new_order = procedures.prepare(connection, "tproc_new_order")
   local undone = rolled_back(connection, new_order)
   local payment = procedures.prepare(connection, "tproc_payment")
   local order_status = procedures.prepare(connection, "tproc_order_status")
   local delivery = procedures.prepare(connection, "tproc_delivery")
   local stock_level = procedures.prepare(connection, "tproc_stock_level")
   return {
      ["order"] = function(home)
         local unused = uniform(1, 100) == 1
         local count, lines = order_lines(home, opt, unused)
         return unused and transactions.ROLLED_BACK or transactions.NEW_ORDER, unused and undone or new_order,
            home, district(), values.customer(opt.customers), count, lines
      end,
      ["payment"] = function(home)
         local pays_to = district()
         local c_w, c_d = home, pays_to
         if uniform(1, 100) > 85 then
            c_w, c_d = remote(home, opt.warehouses), district()
         end
         local id, name = customer(opt)
         return "payment", payment, home, pays_to, c_w, c_d, id, name, uniform(100, 500000)
      end,
      ["order-status"] = function(home)
         return "order-status", order_status, home, district(), customer(opt)
      end,
      ["delivery"] = function(home)
         return "delivery", delivery, home, uniform(1, 10)
      end,
      ["stock-level"] = function(home)
         return "stock-level", stock_level, home, district(), uniform(10, 20)
      end,
   }
end

-- Calls until the server does not ask for a repetition (deadlock, serialisation failure), and
-- returns the kind, and how often it asked. The same transaction is repeated, not another
-- one drawn: the mix stays what it is.
local function complete(kind, call, ...)
   local repeated = 0
   while true do
      local ok, reason = pcall(call, ...)
      if ok then
         return kind, repeated
      end
      if type(reason) ~= "table" or reason.errcode ~= sysbench.error.RESTART_EVENT then
         error(reason, 0)
      end
      repeated = repeated + 1
   end
end

-- A function that does one transaction, of any warehouse, and returns its kind and how often it
-- was repeated.
function transactions.virtual_user(connection, opt)
   local by_kind = kinds(connection, opt)
   return function()
      return complete(by_kind[drawn()](uniform(1, opt.warehouses)))
   end
end

return transactions
