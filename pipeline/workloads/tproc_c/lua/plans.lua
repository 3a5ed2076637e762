-- The statements inside of the procedures, taken out of their texts: EXPLAIN says nothing of a
-- statement that a procedure executes.
--
-- What the procedure has in variables stands for keys of the loaded database.

local procedures = require("procedures")
local schema = require("schema")
local values = require("values")

local plans = {}

local PLANNED = { SELECT = true, INSERT = true, UPDATE = true, DELETE = true }

-- The variables of all procedures that are in statements, with the values of one call. Columns
-- have other names: each begins with its table's letters.
local function draw(connection, opt)
   local w, d = sysbench.rand.uniform(1, opt.warehouses), sysbench.rand.uniform(1, schema.DISTRICTS)
   local customer = values.customer(opt.customers)
   local name = values.last_name(values.name_number(values.NAME_RUN, opt.customers))
   local next_id = connection:numbers(
      ("SELECT d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d"):format(w, d))
   local oldest = connection:numbers(
      ("SELECT min(no_o_id) FROM new_order WHERE no_w_id = %d AND no_d_id = %d"):format(w, d))
   return {
      in_w = w, in_d = d, in_c = customer, in_c_w = w, in_c_d = d, in_last = name,
      in_count = 10, in_carrier = 1, in_threshold = 15,
      supply = w, district_id = d, customer_id = customer, item_id = values.item(opt.items),
      new_id = next_id, next_id = next_id, order_id = next_id - 1, oldest = oldest or next_id - 1,
      number = 1, all_local = 1, quantity = 5, amount = 100, middle = 0, carrier = 1,
      info = "text", details = "text", name_w = "text", name_d = "text", customer_name = "text", entered = "text",
   }
end

-- The statement in a piece of a procedure that ends at a semicolon, or nil. It begins a line.
local function statement_in(piece)
   for at, word in piece:gmatch("\n%s*()(%u+)%f[^%w_]") do
      if PLANNED[word] then
         return piece:sub(at)
      end
   end
end

-- A statement without the list of variables that its result goes into.
local function without_into(text)
   local from, to = text:find("%f[%w]INTO%s+[%w_]+")
   if text:match("^INSERT") or not from then
      return text
   end
   local more = select(2, text:find("^%s*,%s*[%w_]+", to + 1))
   while more do
      to = more
      more = select(2, text:find("^%s*,%s*[%w_]+", to + 1))
   end
   return text:sub(1, from - 1) .. text:sub(to + 1)
end

-- The statements of the procedures, each with the names of the variables that its placeholders
-- stand for.
local function statements(definitions, variables)
   local found = {}
   for _, definition in ipairs(definitions) do
      for piece in definition:gmatch("[^;]+") do
         local text, names = statement_in(piece), {}
         if text then
            text = without_into(text):gsub("%s+", " "):gsub("%f[%w_][%a_][%w_]*", function(word)
               if variables[word] then
                  names[#names + 1] = word
                  return "?"
               end
            end)
            found[#found + 1] = { text = text, names = names }
         end
      end
   end
   return found
end

-- Executes each statement of the procedures once, on a connection that explains it.
function plans.execute(connection, opt)
   local variables = draw(connection, opt)
   for _, each in ipairs(statements(procedures.definitions(connection), variables)) do
      local kinds, ints, texts = {}, {}, {}
      for i, name in ipairs(each.names) do
         local value = variables[name]
         if type(value) == "number" then
            kinds[i], ints[#ints + 1] = "int", value
         else
            kinds[i], texts[#texts + 1] = #value, value
         end
      end
      local statement = connection:prepare(each.text, kinds)
      for i, value in ipairs(ints) do
         statement.ints[i][0] = value
      end
      for i, value in ipairs(texts) do
         statement:randomise(i, value)
      end
      statement:execute()
   end
end

return plans
