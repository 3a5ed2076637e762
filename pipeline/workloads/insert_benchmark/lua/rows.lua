-- What a row looks like, and transactions that insert some.

local client = require("client")

local rows = {}

-- Columns have values from 0 to these.
rows.LARGEST = { cashregisterid = 999, customerid = 99999, productid = 9999, price = 499 }

-- In the order of the columns.
local NUMBERS = { "cashregisterid", "customerid", "productid", "price" }

local SHORTEST, LONGEST = 10, 20

-- sysbench ends a text with a zero.
local DATA_SIZE = LONGEST + 1

-- Texts of each length, of which the first half is random letters: '@' is one.
local TEMPLATES = {}
for length = SHORTEST, LONGEST do
   local random = math.floor(length / 2)
   TEMPLATES[length] = ("@"):rep(random) .. ("a"):rep(length - random)
end

local function prepare(connection, name, count)
   local tuple = "(CURRENT_TIMESTAMP, " .. client.placeholders(#NUMBERS + 1) .. ")"
   local kinds = {}
   for _ = 1, count do
      for _ = 1, #NUMBERS do
         table.insert(kinds, "int")
      end
      table.insert(kinds, DATA_SIZE)
   end
   return connection:prepare(
      ("INSERT INTO %s (dateandtime, %s, data) VALUES %s"):format(
         name, table.concat(NUMBERS, ", "), (tuple .. ", "):rep(count - 1) .. tuple
      ), kinds
   )
end

-- A function that inserts so many rows, in one statement that is a transaction, and returns how
-- many that were.
function rows.inserter(connection, name)
   local uniform, statements = sysbench.rand.uniform, {}
   return function(count)
      local statement = statements[count] or prepare(connection, name, count)
      statements[count] = statement
      local ints, at = statement.ints, 1
      for row = 1, count do
         for column = 1, #NUMBERS do
            ints[at][0] = uniform(0, rows.LARGEST[NUMBERS[column]])
            at = at + 1
         end
         statement:randomise(row, TEMPLATES[uniform(SHORTEST, LONGEST)])
      end
      statement:execute()
      local inserted = connection:affected()
      if inserted ~= count then
         error(("of %d rows, %d were inserted into %s"):format(count, inserted, name), 0)
      end
      return inserted
   end
end

return rows
