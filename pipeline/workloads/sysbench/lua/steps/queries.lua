-- The queries of read-only and read-write transactions.

local parts = require("steps.parts")

local queries = {}

local POINT_SELECTS = 10

local TEXTS = {
   simple = "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ?",
   sum = "SELECT SUM(k) FROM sbtest%d WHERE id BETWEEN ? AND ?",
   order = "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c",
   distinct = "SELECT DISTINCT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c",
   count = "SELECT COUNT(c) FROM sbtest%d WHERE id BETWEEN ? AND ?",
}

-- The range queries of a transaction, in their order.
queries.ALL = { "simple", "sum", "order", "distinct" }

-- The named query over --range rows from a random id on.
function queries.range(owner, name)
   return parts.between(owner, TEXTS[name], owner.range - 1)
end

-- Ten point queries, then each of the named range queries once.
function queries.reads(owner, names)
   local points = parts.point_selects(owner, POINT_SELECTS)
   local ranges = {}
   for i, name in ipairs(names) do
      ranges[i] = queries.range(owner, name)
   end
   return function()
      points()
      for i = 1, #ranges do
         ranges[i]()
      end
   end
end

return queries
