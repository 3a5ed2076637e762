-- Queries: each function prepares what it needs and returns a function that asks once.

local client = require("client")
local queue = require("queue")
local rows = require("rows")
local schema = require("schema")
local tally = require("tally")

local queries = {}

local LENGTH = 10

-- Ten rows of each secondary index from a random value of its first column on; the index alone
-- answers.
local function ranges(owner)
   local uniform, ways = sysbench.rand.uniform, {}
   for i, columns in ipairs(schema.INDEXES) do
      local list = table.concat(columns, ", ")
      local text = ("SELECT %s FROM %s WHERE %s >= ? ORDER BY %s LIMIT %d"):format(
         list, owner.table, columns[1], list, LENGTH
      )
      local statement, largest = owner.connection:prepare(text, client.ints(1)), rows.LARGEST[columns[1]]
      ways[i] = function()
         statement.ints[1][0] = uniform(0, largest)
         statement:execute()
      end
   end
   return ways
end

-- Asks one of them, each equally often.
function queries.range(owner)
   local uniform, ways = sysbench.rand.uniform, ranges(owner)
   return function()
      ways[uniform(1, #ways)]()
   end
end

-- Asks each of them once.
function queries.every_range(owner)
   local ways = ranges(owner)
   return function()
      for _, ask in ipairs(ways) do
         ask()
      end
   end
end

-- One row by its primary key, any of those that are in the queue now: both of its ends move with
-- what the client's other threads have done. Where a session left ids out there is no row.
function queries.point(owner)
   local uniform, ever = sysbench.rand.uniform, tally.ever
   local statement = owner.connection:prepare(
      ("SELECT cashregisterid, customerid, productid, price, data FROM %s WHERE transactionid = ?"):format(owner.table),
      client.ints(1)
   )
   local least, largest = queue.bounds(owner.connection, owner.table)
   local inserts, deletes = owner.threads.inserts, owner.threads.deletes
   -- They may have begun to warm up.
   least, largest = least - ever(deletes, "deletes"), largest - ever(inserts, "inserts")
   return function()
      statement.ints[1][0] = uniform(least + ever(deletes, "deletes"), largest + ever(inserts, "inserts"))
      statement:execute()
   end
end

return queries
