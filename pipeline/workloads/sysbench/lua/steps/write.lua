-- Writes.

local client = require("client")
local parts = require("steps.parts")
local queries = require("steps.queries")
local random = require("random")
local rows = require("rows")

-- One statement updates --range random rows.
local function update_list(owner)
   local count = owner.range
   local kinds = client.ints(count)
   table.insert(kinds, 1, rows.C_LENGTH)
   local pick = owner:any_of(owner:per_table(
      "UPDATE sbtest%d SET c = ? WHERE id IN (" .. client.placeholders(count) .. ")", kinds
   ))
   local id = owner:uniform_id()
   return function()
      local statement = pick()
      local ints = statement.ints
      statement:randomise(1, rows.C)
      for i = 1, count do
         ints[i][0] = id()
      end
      statement:execute()
   end
end

-- Everything that a transaction writes.
local function writes(owner)
   local index_update = parts.index_update(owner)
   local nonindex_update = parts.nonindex_update(owner, owner:uniform_id())
   local delete_insert = parts.delete_insert(owner)
   return function()
      index_update()
      nonindex_update()
      delete_insert()
   end
end

local function write_only(owner)
   local begin, commit = parts.transaction(owner, true)
   local write = writes(owner)
   return function()
      begin()
      write()
      commit()
   end
end

local function read_write(owner)
   local begin, commit = parts.transaction(owner, true)
   local read, write = queries.reads(owner, queries.ALL), writes(owner)
   return function()
      begin()
      read()
      write()
      commit()
   end
end

-- Some rows are updated far more often than others: rank r of all rows with
-- probability proportional to r^-exponent. Ranks are scattered over the table.
local function update_zipf(owner)
   local rank = random.zipf(owner.table_size, owner.zipf_exponent)
   local id_of = random.scatter(owner.table_size)
   return parts.nonindex_update(owner, function()
      return id_of(rank())
   end)
end

local function delete(owner)
   local pick = owner:any_of(owner:per_table("DELETE FROM sbtest%d WHERE id = ?", client.ints(1)))
   local id = owner:uniform_id()
   return function()
      local statement = pick()
      statement.ints[1][0] = id()
      statement:execute()
   end
end

local function insert(owner)
   local pick = owner:any_of(owner:per_table(
      "INSERT INTO sbtest%d (k, c, pad) VALUES (?, ?, ?)", { "int", rows.C_LENGTH, rows.PAD_LENGTH }
   ))
   local id = owner:uniform_id()
   return function()
      local statement = pick()
      statement.ints[1][0] = id()
      statement:randomise(1, rows.C)
      statement:randomise(2, rows.PAD)
      statement:execute()
   end
end

return {
   ["update-inlist"] = update_list,
   ["update-index"] = parts.index_update,
   ["update-nonindex"] = function(owner)
      return parts.nonindex_update(owner, owner:uniform_id())
   end,
   ["update-one"] = function(owner)
      return parts.nonindex_update(owner, function()
         return 1
      end)
   end,
   ["update-zipf"] = update_zipf,
   ["write-only"] = write_only,
   ["read-write"] = read_write,
   ["delete"] = delete,
   ["insert"] = insert,
}
