-- Point queries: single statements that find rows by exact keys.

local client = require("client")
local parts = require("steps.parts")

-- SELECT `columns` of the rows whose `key` is one of --range random numbers.
local function random_list(columns, key)
   return function(owner)
      local count = owner.range
      local pick = owner:any_of(owner:per_table(
         "SELECT " .. columns .. " FROM sbtest%d WHERE " .. key .. " IN (" .. client.placeholders(count) .. ")",
         client.ints(count)
      ))
      local id = owner:uniform_id()
      return function()
         local statement = pick()
         local ints = statement.ints
         for i = 1, count do
            ints[i][0] = id()
         end
         statement:execute()
      end
   end
end

-- Always the same --range adjacent ids, from the middle of the table on.
local function hot_list(owner)
   local statements = owner:per_table(
      "SELECT c FROM sbtest%d WHERE id IN (" .. client.placeholders(owner.range) .. ")",
      client.ints(owner.range)
   )
   local before = math.floor(owner.table_size / 2)
   for _, statement in ipairs(statements) do
      for i = 1, owner.range do
         statement.ints[i][0] = before + i
      end
   end
   local pick = owner:any_of(statements)
   return function()
      pick():execute()
   end
end

return {
   ["point-query"] = function(owner)
      return parts.point_selects(owner, 1)
   end,
   ["hot-points"] = hot_list,
   ["random-points"] = random_list("c", "id"),
   ["points-covered-pk"] = random_list("id", "id"),
   ["points-covered-si"] = random_list("k", "k"),
   ["points-notcovered-pk"] = random_list("id, c", "id"),
   ["points-notcovered-si"] = random_list("k, c", "k"),
}
