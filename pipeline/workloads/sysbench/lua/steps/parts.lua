-- The parts that transactions are put together from. Each function prepares what it
-- needs and returns a function that executes one part.

local client = require("client")
local rows = require("rows")

local parts = {}

-- A transaction of SQLite that begins by reading is refused its first write, however long
-- it would wait, when another has written meanwhile; one that says that it will write waits
-- for its turn.
local BEGIN_WRITING = { pgsql = "BEGIN", mysql = "BEGIN", sqlite = "BEGIN IMMEDIATE" }

-- BEGIN and COMMIT, prepared; of a transaction that writes, or one that only reads.
function parts.transaction(owner, writes)
   local connection = owner.connection
   local begin = connection:prepare(writes and BEGIN_WRITING[connection.dialect] or "BEGIN", {})
   local commit = connection:prepare("COMMIT", {})
   return function()
      begin:execute()
   end, function()
      commit:execute()
   end
end

-- SELECT c of one row, `count` times, each of a random id in one random table.
function parts.point_selects(owner, count)
   local pick = owner:any_of(owner:per_table("SELECT c FROM sbtest%d WHERE id = ?", client.ints(1)))
   local id = owner:uniform_id()
   return function()
      local statement = pick()
      local parameter = statement.ints[1]
      for _ = 1, count do
         parameter[0] = id()
         statement:execute()
      end
   end
end

-- `text` has two placeholders, the bounds of a BETWEEN: a random id (or k) and the
-- one `length` above it.
function parts.between(owner, text, length)
   local pick = owner:any_of(owner:per_table(text, client.ints(2)))
   local id = owner:uniform_id()
   return function()
      local statement = pick()
      local from = id()
      statement.ints[1][0] = from
      statement.ints[2][0] = from + length
      statement:execute()
   end
end

-- UPDATE of the indexed column of one row.
function parts.index_update(owner)
   local pick = owner:any_of(owner:per_table("UPDATE sbtest%d SET k = k + 1 WHERE id = ?", client.ints(1)))
   local id = owner:uniform_id()
   return function()
      local statement = pick()
      statement.ints[1][0] = id()
      statement:execute()
   end
end

-- UPDATE of a column without index, of the one row that `id` returns.
function parts.nonindex_update(owner, id)
   local pick = owner:any_of(owner:per_table("UPDATE sbtest%d SET c = ? WHERE id = ?", { rows.C_LENGTH, "int" }))
   return function()
      local statement = pick()
      statement:randomise(1, rows.C)
      statement.ints[1][0] = id()
      statement:execute()
   end
end

-- DELETE of one row and INSERT of another with the same id into the same table.
function parts.delete_insert(owner)
   local deletes = owner:per_table("DELETE FROM sbtest%d WHERE id = ?", client.ints(1))
   local inserts = owner:per_table(
      "INSERT INTO sbtest%d (id, k, c, pad) VALUES (?, ?, ?, ?)",
      { "int", "int", rows.C_LENGTH, rows.PAD_LENGTH }
   )
   local pairs_of_table = {}
   for number = 1, owner.tables do
      pairs_of_table[number] = { delete = deletes[number], insert = inserts[number] }
   end
   local pick = owner:any_of(pairs_of_table)
   local id = owner:uniform_id()
   return function()
      local pair = pick()
      local delete, insert = pair.delete, pair.insert
      local chosen = id()
      delete.ints[1][0] = chosen
      insert.ints[1][0] = chosen
      insert.ints[2][0] = id()
      insert:randomise(1, rows.C)
      insert:randomise(2, rows.PAD)
      delete:execute()
      insert:execute()
   end
end

return parts
