-- Range queries without aggregation: single statements.

local parts = require("steps.parts")

-- SELECT `columns` where `key` lies between a random number and --range above it.
local function scan_range(columns, key)
   local text = "SELECT " .. columns .. " FROM sbtest%d WHERE " .. key .. " BETWEEN ? AND ?"
   return function(owner)
      return parts.between(owner, text, owner.range)
   end
end

-- Reads a whole table and returns no row. Each thread keeps to one table: the scan
-- is to be of rows, not of whichever tables fit in cache.
local function full_scan(owner)
   local statements = owner:per_table("SELECT * FROM sbtest%d WHERE LENGTH(c) < 0", {})
   local mine = statements[owner.thread % owner.tables + 1]
   return function()
      mine:execute()
   end
end

return {
   ["range-covered-pk"] = scan_range("id", "id"),
   ["range-covered-si"] = scan_range("k", "k"),
   ["range-notcovered-pk"] = scan_range("id, c", "id"),
   ["range-notcovered-si"] = scan_range("k, c", "k"),
   ["scan"] = full_scan,
}
