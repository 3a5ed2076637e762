-- Range queries with aggregation: read-only transactions, and count by itself.

local parts = require("steps.parts")
local queries = require("steps.queries")

-- BEGIN, ten point queries, the given range queries, COMMIT.
local function read_only(names)
   return function(owner)
      local begin, commit = parts.transaction(owner, false)
      local reads = queries.reads(owner, names)
      return function()
         begin()
         reads()
         commit()
      end
   end
end

return {
   ["read-only"] = read_only(queries.ALL),
   ["read-only-simple"] = read_only({ "simple" }),
   ["read-only-sum"] = read_only({ "sum" }),
   ["read-only-order"] = read_only({ "order" }),
   ["read-only-distinct"] = read_only({ "distinct" }),
   ["read-only-count"] = function(owner)
      return queries.range(owner, "count")
   end,
}
