-- The table as a queue: where it begins and ends, and transactions that delete its oldest rows.

local queue = {}

local TAIL = {
   pgsql = "IN (SELECT transactionid FROM %s WHERE transactionid >= %.0f ORDER BY transactionid LIMIT %d)",
   -- It takes no LIMIT within IN.
   mysql = ">= %.0f ORDER BY transactionid LIMIT %d",
}
TAIL.sqlite = TAIL.pgsql

-- Transactions after which the guess is made true.
local REFRESH = 100

-- The least and the largest transactionid of a table. Raises an error when it is empty.
function queue.bounds(connection, name)
   local least, largest = connection:numbers(
      ("SELECT (SELECT min(transactionid) FROM %s), (SELECT max(transactionid) FROM %s)"):format(name, name)
   )
   if not least then
      error(("there is no row in %s"):format(name), 0)
   end
   return least, largest
end

-- A function that deletes the so many oldest rows, in one statement that is a transaction, and
-- returns how many that were. Only one connection deletes from a table. Each statement is planned
-- by itself, so that what planning costs where rows were deleted is part of the work.
--
-- Rows before the queue's beginning may still be in the way, until the DBMS has cleaned up after
-- their deletion. So the search begins at a guess at the least transactionid. It is never above
-- it: ids grow, so k deletions move the least one by k at least. Where ids were left out it falls
-- behind, and now and then it is asked for.
function queue.deleter(connection, name)
   local guess, deletes = queue.bounds(connection, name), 0
   local tail, refresh = TAIL[connection.dialect], "SELECT min(transactionid) FROM %s WHERE transactionid >= %.0f"
   local mysql = connection.dialect == "mysql"
   return function(count)
      if deletes == REFRESH then
         guess, deletes = connection:numbers(refresh:format(name, guess)) or guess, 0
      end
      local oldest = mysql and tail:format(guess, count) or tail:format(name, guess, count)
      connection:query(("DELETE FROM %s WHERE transactionid %s"):format(name, oldest))
      local deleted = connection:affected()
      if deleted == 0 then
         error(("there is no row left in %s"):format(name), 0)
      end
      guess, deletes = guess + deleted, deletes + 1
      return deleted
   end
end

return queue
